// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"

namespace gradstep {

namespace {

std::int64_t product(std::span<const std::int64_t> extents) {
  std::int64_t result = 1;
  for (const std::int64_t extent : extents) result *= extent;
  return result;
}

}  // namespace

Shampoo::Shampoo(std::shared_ptr<Context> context, const gradstep_shampoo_options& options, Schema parameters)
    : Optimizer(std::move(context), std::move(parameters), ShampooOptions::fields(), ShampooOptions(options).values),
      options_(options),
      dense_(choose_dense(this->context()->backend().instruction_set())) {
  prepare(schema(), hyper_parameters());
}

std::int64_t Shampoo::state_bytes(const gradstep_shampoo_options& options, const Schema& schema) {
  const ShampooOptions checked(options);
  const HyperParameters hyper_parameters(ShampooOptions::fields(), checked.values, schema.group_count());
  std::int64_t bytes = 0;
  for (const Parameter& parameter : schema) {
    check_parameter(checked, parameter);
    const bool active = can_precondition(checked, parameter) && checked.values[kPrecondition] != 0;
    bytes += shampoo_state_bytes(checked, parameter, active);
  }
  return bytes;
}

bool Shampoo::wants_preconditioner(const Parameter& parameter, const HyperParameters& hyper_parameters) const {
  return can_precondition(options_, parameter) &&
         !hyper_parameters.schedule(parameter.group, kPrecondition).is_absent();
}

void Shampoo::prepare(const Schema& schema, const HyperParameters& hyper_parameters) {
  struct Fresh {
    std::size_t parameter;
    ShampooState state;
  };
  std::vector<Fresh> fresh;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    check_parameter(options_, schema[i]);
    const bool wanted = wants_preconditioner(schema[i], hyper_parameters);
    if (i < parameters_.size() && (!wanted || !parameters_[i].factors.empty())) continue;
    const double epsilon = hyper_parameters.evaluate(schema[i].group, kMatrixEpsilon, step_count());
    fresh.push_back({i, make_shampoo_state(*context(), options_, schema[i], wanted, epsilon)});
  }
  parameters_.reserve(schema.size());

  planned_ = false;
  for (Fresh& f : fresh) {
    if (f.parameter >= parameters_.size()) {
      parameters_.push_back(std::move(f.state));
      continue;
    }
    // Switched on later: the momentum of the grafting rule goes on, the other one begins.
    ShampooState& state = parameters_[f.parameter];
    state.partition = std::move(f.state.partition);
    state.factors = std::move(f.state.factors);
    if (!state.momentum.exists()) state.momentum = std::move(f.state.momentum);
  }
  for (std::size_t i = 0; i < schema.size(); ++i) {
    parameters_[i].preconditioned = wants_preconditioner(schema[i], hyper_parameters);
  }
}

void Shampoo::prepare_slices(const Sharding* next, bool /*keep*/) {
  if (next != nullptr) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "comm: the state of shampoo cannot be sharded in this version");
  }
}

/// Task lists and scratch, for a schema or preconditioning that is new.
void Shampoo::plan() {
  if (planned_) return;
  blocks_.clear();
  matrices_.clear();
  offsets_.clear();
  first_chunk_.clear();
  largest_extent_ = 0;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    offsets_.push_back(elements);
    elements += (schema()[i].size + 15) / 16 * 16;
    const ShampooState& state = parameters_[i];
    if (!state.preconditioned) continue;
    for (std::size_t b = 0; b < state.partition.blocks().size(); ++b) {
      const Block& block = state.partition.blocks()[b];
      double cost = 0;
      for (std::size_t axis = 0; axis < block.extents.size(); ++axis) {
        const auto extent = static_cast<double>(block.extents[axis]);
        cost += static_cast<double>(block.size) * extent;
        matrices_.push_back({i, b, axis, extent * extent * extent});
        largest_extent_ = std::max(largest_extent_, block.extents[axis]);
      }
      blocks_.push_back({i, b, 0, cost});
    }
  }
  for (std::vector<Task>* tasks : {&blocks_, &matrices_}) {
    std::stable_sort(tasks->begin(), tasks->end(), [](const Task& a, const Task& b) { return a.cost > b.cost; });
  }
  const auto chunks = work().chunks();
  first_chunk_.assign(parameters_.size() + 1, chunks.size());
  for (std::size_t c = chunks.size(); c-- > 0;) first_chunk_[static_cast<std::size_t>(chunks[c].item)] = c;
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    if (schema()[i].size == 0) first_chunk_[i] = first_chunk_[i + 1];
  }
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
  if (gradients_.bytes() != bytes) {
    Buffer gradients = context()->allocate(bytes, /*zeroed=*/true);
    preconditioned_ = context()->allocate(bytes, /*zeroed=*/true);
    gradients_ = std::move(gradients);
    copies_ = Buffer();
  }
  scales_.resize(parameters_.size());
  norms_.resize(parameters_.size());
  preconditioned_norms_.resize(parameters_.size());
  values_.resize(parameters_.size());
  squares_.resize(2 * chunks.size());
  planned_ = true;
}

void Shampoo::apply(double grad_multiplier, double clip_value) {
  plan();
  load_parameters();
  load_gradients(grad_multiplier, clip_value);
  const bool roots_due = step_count() % options_.root_steps == 0;
  if (step_count() % options_.statistics_steps == 0) update_statistics();
  if (roots_due && !options_.stale) refresh_preconditioners();
  precondition();
  graft();
  finish();
  publish();
  if (roots_due && options_.stale) refresh_preconditioners();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (takes_part(i)) parameters_[i].used = true;
  }
}

void Shampoo::load_gradients(double grad_multiplier, double clip_value) {
  std::vector<CopyItem> items(parameters_.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].destination = {gradient(i), schema()[i].size, DType::f32, 0, nullptr, nullptr};
    items[i].source = grads()[i];
    items[i].source.size = schema()[i].size;
  }
  context()->backend().copy(work(), items, grad_multiplier, 1);
  if (clip_value == 0) return;
  const auto limit = static_cast<float>(clip_value);
  context()->parallel_for(static_cast<std::int64_t>(work().chunks().size()), [&](std::int64_t c) {
    const Chunk& chunk = work().chunks()[static_cast<std::size_t>(c)];
    float* g = gradient(static_cast<std::size_t>(chunk.item)) + chunk.offset;
    for (std::int32_t k = 0; k < chunk.length; ++k) g[k] = g[k] > limit ? limit : g[k] < -limit ? -limit : g[k];
  });
}

/// Present values in f32: the host's own where they can be read in place.
void Shampoo::load_parameters() {
  std::vector<CopyItem> items(parameters_.size());
  WorkList copied;
  bool any = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Array& param = params()[i];
    const bool in_place = param.contiguous() && param.dtype == DType::f32;
    values_[i] = in_place ? static_cast<const float*>(param.data) : nullptr;
    copied.append(in_place ? 0 : param.size);
    any = any || (!in_place && param.size > 0);
  }
  if (!any) return;
  if (copies_.bytes() == 0) copies_ = context()->allocate(gradients_.bytes(), /*zeroed=*/false);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (values_[i] != nullptr || schema()[i].size == 0) continue;
    float* copy = copies_.as<float>() + offsets_[i];
    values_[i] = copy;
    items[i] = {{copy, schema()[i].size, DType::f32, 0, nullptr, nullptr}, params()[i]};
  }
  context()->backend().copy(copied, items, 1, 1);
}

void Shampoo::update_statistics() {
  context()->parallel_for(static_cast<std::int64_t>(blocks_.size()), [&](std::int64_t at) {
    const Task& task = blocks_[static_cast<std::size_t>(at)];
    if (!takes_part(task.parameter)) return;
    ShampooState& state = parameters_[task.parameter];
    const Block& block = state.partition.blocks()[task.block];
    const double beta2 = values_of(task.parameter)[kBeta2];
    const auto keep = static_cast<float>(beta2);
    const auto add = static_cast<float>(added_weight(beta2));
    const Workspaces::Lent workspace(workspaces_);
    const float* g = gradient(task.parameter);
    if (!state.partition.is_whole()) {
      float* copy = Workspace::resized(workspace->first, block.size);
      state.partition.read_block(g, block, copy);
      g = copy;
    }
    for (std::size_t axis = 0; axis < block.extents.size(); ++axis) {
      const std::int64_t outer = product(std::span(block.extents).first(axis));
      const std::int64_t inner = product(std::span(block.extents).subspan(axis + 1));
      Factor& factor = state.factor(task.block, axis);
      const std::int64_t n = factor.extent();
      float* statistic =
          factor.statistic.read(factor.statistic.is_coded() ? Workspace::resized(workspace->second, n * n) : nullptr);
      dense_.update_statistic(g, outer, n, inner, keep, add, statistic);
      factor.statistic.write(statistic);
    }
  });
}

void Shampoo::refresh_preconditioners() {
  context()->parallel_for(static_cast<std::int64_t>(matrices_.size()), [&](std::int64_t at) {
    const Task& task = matrices_[static_cast<std::size_t>(at)];
    if (!takes_part(task.parameter)) return;
    ShampooState& state = parameters_[task.parameter];
    const auto values = values_of(task.parameter);
    RootOptions root;
    root.dense = &dense_;
    root.method = options_.method;
    root.exponent = options_.exponent_override > 0 ? options_.exponent_override
                                                   : 2 * static_cast<std::int32_t>(state.partition.rank());
    root.matrix_epsilon = values[kMatrixEpsilon];
    root.padded = options_.pad_to_largest ? largest_extent_ : 0;
    root.pad_value = options_.matrix_coding == Coding::none ? 1 : 0;
    root.seed_rules = options_.retries == 0;
    const Workspaces::Lent workspace(workspaces_);
    refresh(state.factor(task.block, task.axis), root, values[kFailureThreshold], *workspace);
  });
}

void Shampoo::refresh(Factor& factor, const RootOptions& options, double threshold, Workspace& workspace) const {
  const std::int64_t n = factor.extent();
  const float* statistic =
      factor.statistic.read(factor.statistic.is_coded() ? Workspace::resized(workspace.first, n * n) : nullptr);
  RootOptions trial = options;
  RootResult result;
  bool accepted = false;
  for (std::int32_t i = 0; i <= options_.retries && !accepted; ++i) {
    result = workspace.roots.inverse_root(statistic, n, trial);
    accepted = result.error < threshold;
    if (std::isnan(result.max_eigenvalue)) break;  // no ridge helps
    if (i > 0) ++factor.retries;
    trial.ridge_factor *= 10;
  }
  factor.max_eigenvalue = result.max_eigenvalue;
  factor.iterations = result.iterations;
  if (result.error > 0 && result.error != threshold) factor.error = result.error;
  if (!accepted) {
    ++factor.failures;
    return;
  }
  float* root = Workspace::resized(workspace.second, n * n);
  const double* wide = workspace.roots.root();
  for (std::int64_t k = 0; k < n * n; ++k) root[k] = static_cast<float>(wide[k]);
  factor.preconditioner.write(root);
  factor.refreshed = step_count() + 1;
}

void Shampoo::precondition() {
  context()->parallel_for(static_cast<std::int64_t>(blocks_.size()), [&](std::int64_t at) {
    const Task& task = blocks_[static_cast<std::size_t>(at)];
    if (!takes_part(task.parameter)) return;
    const ShampooState& state = parameters_[task.parameter];
    const Block& block = state.partition.blocks()[task.block];
    const Workspaces::Lent workspace(workspaces_);
    float* from = Workspace::resized(workspace->first, block.size);
    float* to = Workspace::resized(workspace->second, block.size);
    state.partition.read_block(gradient(task.parameter), block, from);
    // Each contraction takes axis 0 and puts it last: after one for every axis the order is the old one.
    for (std::size_t axis = 0; axis < block.extents.size(); ++axis) {
      const Factor& factor = state.factor(task.block, axis);
      const std::int64_t n = factor.extent();
      const float* root = factor.preconditioner.read(
          factor.preconditioner.is_coded() ? Workspace::resized(workspace->third, n * n) : nullptr);
      dense_.contract_first_axis(from, n, block.size / n, root, to);
      std::swap(from, to);
    }
    state.partition.write_block(from, block, preconditioned(task.parameter));
  });
}

}  // namespace gradstep
