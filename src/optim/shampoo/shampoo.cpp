// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "kernels/convert.h"

namespace gradstep {

Shampoo::Shampoo(std::shared_ptr<Context> context, const gradstep_shampoo_options& options, Schema parameters)
    : Optimizer(std::move(context), std::move(parameters), ShampooOptions::fields(), ShampooOptions(options).values),
      options_(options),
      dense_(choose_arithmetic(this->context()->backend().instruction_set()).dense),
      grafting_(choose_arithmetic(this->context()->backend().instruction_set()).grafting) {
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

void Shampoo::check_gives_updates() const {
  for (const Parameter& parameter : schema()) {
    if (wants_master(options_, parameter)) {
      fail(GRADSTEP_ERR_UNSUPPORTED,
           "updates: parameter '{}' has master weights, which only a step in place can follow", parameter.name);
    }
  }
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
    if (i < parameters_.size() && owns_blocks()) {
      fail(GRADSTEP_ERR_INVALID_STATE, "precondition: blocks are dealt out to ranks: attach no communicator first");
    }
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
    state.axes = std::move(f.state.axes);
    state.factors = std::move(f.state.factors);
    if (!state.momentum.exists()) state.momentum = std::move(f.state.momentum);
  }
  for (std::size_t i = 0; i < schema.size(); ++i) {
    parameters_[i].preconditioned = wants_preconditioner(schema[i], hyper_parameters);
  }
}

/// Task lists and scratch, for a schema, preconditioning or ranks that are new.
void Shampoo::plan() {
  if (planned_) return;
  complete_all();  // by the plan that they were begun with
  offsets_.clear();
  first_chunk_.clear();
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    offsets_.push_back(elements);
    elements += (schema()[i].size + 15) / 16 * 16;
  }
  plan_blocks();
  plan_matrices();
  plan_rounds();
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
  places_.resize(parameters_.size());
  squares_.resize(2 * chunks.size());
  planned_ = true;
}

/// Blocks by owner; without owners they are all of this rank.
void Shampoo::plan_blocks() {
  blocks_.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ShampooState& state = parameters_[i];
    if (!state.preconditioned) continue;
    for (std::size_t b = 0; b < state.partition.blocks().size(); ++b) {
      blocks_.push_back({i, b, state.cost_of_steps(b), std::max(state.owner(b), 0)});
    }
  }
  std::stable_sort(blocks_.begin(), blocks_.end(), [](const BlockTask& a, const BlockTask& b) {
    return a.owner != b.owner ? a.owner < b.owner : a.cost > b.cost;
  });
  exchange_counts_.assign(static_cast<std::size_t>(ranks()), 0);
  own_blocks_ = {};
  std::int64_t offset = 0;
  for (std::size_t at = 0; at < blocks_.size(); ++at) {
    BlockTask& task = blocks_[at];
    const std::int64_t size = parameters_[task.parameter].partition.blocks()[task.block].size;
    task.offset = offset;
    offset += size;
    exchange_counts_[static_cast<std::size_t>(task.owner)] += size;
    if (!is_mine(task)) continue;
    if (own_blocks_.count++ == 0) own_blocks_.begin = at;
  }
  const auto bytes = owns_blocks() ? static_cast<std::size_t>(offset) * sizeof(float) : 0;
  if (exchange_.bytes() != bytes) exchange_ = context()->allocate(bytes, /*zeroed=*/true);
}

void Shampoo::apply(double grad_multiplier, double clip_value) {
  plan();
  settle();
  load_parameters();
  load_gradients(grad_multiplier, clip_value);
  place_outcomes();
  if (options_.eigenvalue_corrected) {
    apply_in_eigenbases();
  } else {
    const bool statistics_due = step_count() % options_.statistics_steps == 0;
    const bool roots_due = step_count() % options_.root_steps == 0;
    if (roots_due) {
      if (statistics_due) update_statistics();
      refresh_preconditioners();
    }
    // Without roots in between, what a block's gradient is read for is done at once.
    for_each_own_block([&](const BlockTask& task, Workspace& workspace) {
      float* g = load_block(task, workspace);
      if (statistics_due && !roots_due) update_statistics(task, g, workspace);
      precondition_block(task, g, workspace);
    });
    if (owns_blocks()) gather_preconditioned();
    graft();
    finish();
  }
  publish();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (takes_part(i)) parameters_[i].used = true;
  }
}

void Shampoo::load_gradients(double grad_multiplier, double clip_value) {
  std::vector<CopyItem> items(parameters_.size());
  WorkList copied;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Array& grad = grads()[i];
    Places& places = places_[i];
    const bool in_place =
        grad.contiguous() && grad.dtype == DType::f32 && grad_multiplier == 1 && clip_value == 0 && takes_part(i);
    places.gradient = in_place ? static_cast<const float*>(grad.data) : scratch(i);
    places.direction = is_plain(options_.graft) ? places.gradient : scratch(i);
    const std::int64_t size = in_place || !takes_part(i) ? 0 : schema()[i].size;
    copied.append(size);
    if (size == 0) continue;
    items[i].destination = {scratch(i), size, DType::f32, 0, nullptr, nullptr};
    items[i].source = grad;
  }
  context()->backend().copy(copied, items, grad_multiplier, 1);
  if (clip_value == 0) return;
  const auto limit = static_cast<float>(clip_value);
  context()->parallel_for(static_cast<std::int64_t>(copied.chunks().size()), [&](std::int64_t c) {
    const Chunk& chunk = copied.chunks()[static_cast<std::size_t>(c)];
    float* g = scratch(static_cast<std::size_t>(chunk.item)) + chunk.offset;
    for (std::int32_t k = 0; k < chunk.length; ++k) g[k] = g[k] > limit ? limit : g[k] < -limit ? -limit : g[k];
  });
}

void Shampoo::load_parameters() {
  std::vector<CopyItem> items(parameters_.size());
  WorkList copied;
  bool any = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Array& param = params()[i];
    const bool in_place = param.contiguous() && param.dtype == DType::f32;
    places_[i].value = in_place ? static_cast<const float*>(param.data) : nullptr;
    copied.append(in_place ? 0 : param.size);
    any = any || (!in_place && param.size > 0);
  }
  if (!any) return;
  if (copies_.bytes() == 0) copies_ = context()->allocate(gradients_.bytes(), /*zeroed=*/false);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (places_[i].value != nullptr || schema()[i].size == 0) continue;
    float* copy = copies_.as<float>() + offsets_[i];
    places_[i].value = copy;
    items[i] = {{copy, schema()[i].size, DType::f32, 0, nullptr, nullptr}, params()[i]};
  }
  context()->backend().copy(copied, items, 1, 1);
  follow_parameters();
}

/// Where a step's outcome goes, perhaps before it is rounded to what the host has.
void Shampoo::place_outcomes() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Array& wanted = updates().empty() ? params()[i] : updates()[i];
    if (wanted.contiguous() && wanted.dtype == DType::f32) {
      places_[i].outcome = static_cast<float*>(wanted.data);
    } else if (updates().empty() && parameters_[i].master.exists()) {
      places_[i].outcome = parameters_[i].master.read(nullptr);
    } else {
      places_[i].outcome = scratch(i);
    }
  }
}

/// Masters take the place of the narrow parameters that they round to; where the host has written since, they follow.
void Shampoo::follow_parameters() {
  if (!options_.master_weights) return;
  const auto chunks = work().chunks();
  context()->parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(c)];
    const auto i = static_cast<std::size_t>(chunk.item);
    const StateMatrix& master = parameters_[i].master;
    if (!master.exists()) return;
    const bool is_half = schema()[i].dtype == DType::f16;
    const float* present = places_[i].value + chunk.offset;
    float* own = master.read(nullptr) + chunk.offset;
    for (std::int32_t k = 0; k < chunk.length; ++k) {
      const float rounded =
          is_half ? kernels::widen(kernels::to_float16(own[k])) : kernels::widen(kernels::to_bfloat16(own[k]));
      if (kernels::bits_of(rounded) != kernels::bits_of(present[k])) own[k] = present[k];
    }
  });
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].master.exists()) places_[i].value = parameters_[i].master.read(nullptr);
  }
}

void Shampoo::update_statistics() {
  const bool is_due = step_count() % options_.statistics_steps == 0;
  for_each_own_block([&](const BlockTask& task, Workspace& workspace) {
    if (is_due || !parameters_[task.parameter].used) update_statistics(task, load_block(task, workspace), workspace);
  });
}

void Shampoo::update_statistics(const BlockTask& task, const float* g, Workspace& workspace) {
  ShampooState& state = parameters_[task.parameter];
  const Block& block = state.partition.blocks()[task.block];
  const double beta2 = values_of(task.parameter)[kBeta2];
  const auto keep = static_cast<float>(beta2);
  const auto add = static_cast<float>(added_weight(beta2));
  for (Factor& factor : state.factors_of(task.block)) {
    const AxisView axis = view_axis(block, factor.axis);
    float* statistic = factor.statistic.read(
        factor.statistic.is_coded() ? Workspace::resized(workspace.second, axis.n * axis.n) : nullptr);
    dense_.update_statistic(g, axis.outer, axis.n, axis.inner, keep, add, statistic);
    factor.statistic.write(statistic);
  }
}

/// A copy of a block's gradient in workspace.first, where the dense algebra wants its operands.
float* Shampoo::load_block(const BlockTask& task, Workspace& workspace) const {
  const Partition& partition = parameters_[task.parameter].partition;
  const Block& block = partition.blocks()[task.block];
  float* copy = Workspace::resized(workspace.first, block.size);
  partition.read_block(places_[task.parameter].gradient, block, copy);
  return copy;
}

/// `from`, the gradient, is scratch for it.
void Shampoo::precondition_block(const BlockTask& task, float* from, Workspace& workspace) {
  const ShampooState& state = parameters_[task.parameter];
  const Block& block = state.partition.blocks()[task.block];
  float* to = Workspace::resized(workspace.second, block.size);
  for (const Factor& factor : state.factors_of(task.block)) {
    const AxisView axis = view_axis(block, factor.axis);
    const float* root = factor.preconditioner.read(
        factor.preconditioner.is_coded() ? Workspace::resized(workspace.third, axis.n * axis.n) : nullptr);
    dense_.contract_axis(from, axis.outer, axis.n, axis.inner, root, /*by_columns=*/false, to);
    std::swap(from, to);
  }
  if (owns_blocks()) {
    std::memcpy(exchange_.as<float>() + task.offset, from, static_cast<std::size_t>(block.size) * sizeof(float));
  } else {
    state.partition.write_block(from, block, preconditioned(task.parameter));
  }
}

/// Every rank gets the blocks that the others have preconditioned.
void Shampoo::gather_preconditioned() {
  Communicator& comm = sharding()->comm();
  std::vector<std::int64_t> bytes = exchange_counts_;
  for (std::int64_t& count : bytes) count *= static_cast<std::int64_t>(sizeof(float));
  const std::int64_t own = own_blocks_.count > 0 ? blocks_[own_blocks_.begin].offset : 0;
  comm.all_gather_v(exchange_.as<float>() + own, exchange_.data(), bytes, comm.deadline());
  context()->parallel_for(static_cast<std::int64_t>(blocks_.size()), [&](std::int64_t at) {
    const BlockTask& task = blocks_[static_cast<std::size_t>(at)];
    if (!takes_part(task.parameter)) return;
    const Partition& partition = parameters_[task.parameter].partition;
    partition.write_block(exchange_.as<float>() + task.offset, partition.blocks()[task.block],
                          preconditioned(task.parameter));
  });
}

/// Tasks of this rank's blocks whose parameters take part in the step, with a workspace each.
void Shampoo::for_each_own_block(FunctionRef<void(const BlockTask&, Workspace&)> body) {
  context()->parallel_for(static_cast<std::int64_t>(own_blocks_.count), [&](std::int64_t at) {
    const BlockTask& task = blocks_[own_blocks_.begin + static_cast<std::size_t>(at)];
    if (!takes_part(task.parameter)) return;
    const Workspaces::Lent workspace(workspaces_);
    body(task, *workspace);
  });
}

}  // namespace gradstep
