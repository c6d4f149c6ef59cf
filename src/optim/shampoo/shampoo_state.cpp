// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"

namespace gradstep {

namespace {

struct Extents {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

Extents extents_of(const Parameter& parameter) {
  if (parameter.shape.empty()) return {};
  const std::int64_t rows = parameter.shape.front();
  return {rows, rows > 0 ? parameter.size / rows : 0};
}

/// Reads "3.1" after a prefix of `name`.
bool read_place(const std::string& name, const char* prefix, std::size_t* block, std::size_t* axis) {
  const std::size_t length = std::strlen(prefix);
  if (name.compare(0, length, prefix) != 0) return false;
  std::size_t* const numbers[] = {block, axis};
  std::size_t at = length;
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t first = at;
    *numbers[k] = 0;
    for (; at < name.size() && name[at] >= '0' && name[at] <= '9' && at - first < 9; ++at) {
      *numbers[k] = *numbers[k] * 10 + static_cast<std::size_t>(name[at] - '0');
    }
    if (at == first || (at - first > 1 && name[first] == '0')) return false;
    if (k == 0) {
      if (at >= name.size() || name[at] != '.') return false;
      ++at;
    }
  }
  return at == name.size();
}

Partition partition_of(const ShampooOptions& options, const Parameter& parameter) {
  return Partition(parameter.shape, options.block_size, options.merge);
}

std::vector<std::size_t> preconditioned_axes(const ShampooOptions& options, const Partition& partition) {
  const std::size_t rank = partition.rank();
  const bool one_sided = options.sides != Sides::all && rank > 1;
  const std::size_t begin = one_sided && options.sides == Sides::output ? rank - 1 : 0;
  const std::size_t end = one_sided && options.sides == Sides::input ? rank - 1 : rank;
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_long = partition.longest_dimension(axis) > options.skip_above;
    if (is_long && !options.skips_axes()) return {};
    if (!is_long && axis >= begin && axis < end) axes.push_back(axis);
  }
  return axes;
}

}  // namespace

bool can_precondition(const ShampooOptions& options, const Parameter& parameter) {
  // Vyas et al. run Adam on vectors: their one basis would be most of the cost of a model for little.
  const std::size_t fewest_dimensions = options.eigenvalue_corrected() ? 2 : 1;
  if (parameter.shape.size() < fewest_dimensions || parameter.size == 0) return false;
  return !preconditioned_axes(options, partition_of(options, parameter)).empty();
}

bool wants_master(const ShampooOptions& options, const Parameter& parameter) {
  return options.master_weights && (parameter.dtype == DType::f16 || parameter.dtype == DType::bf16);
}

void check_parameter(const ShampooOptions& options, const Parameter& parameter) {
  if (parameter.dtype == DType::f64) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "parameter '{}': is f64, shampoo steps f32, f16 and bf16", parameter.name);
  }
  if (parameter.shape.empty() && options.momentum_coding != Coding::none) {
    fail_argument("options.quantize_momentum: parameter '{}' is a scalar, which has no axis to quantise over",
                  parameter.name);
  }
}

Factor make_factor(const ShampooOptions& options, std::size_t block, std::size_t axis, std::int64_t extent) {
  Factor factor;
  factor.block = block;
  factor.axis = axis;
  factor.shape = {extent, extent};
  factor.statistic = StateMatrix(extent, extent, options.matrix_coding);
  factor.preconditioner = StateMatrix(extent, extent, options.matrix_coding);
  return factor;
}

ShampooState make_shampoo_state(const ShampooOptions& options, const Parameter& parameter, bool preconditioned) {
  ShampooState state;
  state.group = parameter.group;
  state.preconditioned = preconditioned;
  const Extents whole = extents_of(parameter);
  const auto tensor = [&](Coding coding) { return StateMatrix(whole.rows, whole.columns, coding); };
  const bool corrected = options.eigenvalue_corrected();
  const bool shared_momentum = options.graft() == Graft::sqrt_n;
  if (wants_master(options, parameter)) state.master = tensor(Coding::none);
  if (!corrected && (preconditioned || shared_momentum)) state.momentum = tensor(options.momentum_coding);
  if (!corrected && !shared_momentum) state.diagonal_momentum = tensor(options.momentum_coding);
  if (corrected || has_statistics(options.graft())) state.diagonal_statistics = tensor(Coding::none);
  if (corrected || options.graft() == Graft::adam) state.diagonal_exp_avg = tensor(Coding::none);
  if (!preconditioned) return state;
  state.partition = partition_of(options, parameter);
  state.axes = preconditioned_axes(options, state.partition);
  for (std::size_t b = 0; b < state.partition.blocks().size(); ++b) {
    for (const std::size_t axis : state.axes) {
      state.factors.push_back(make_factor(options, b, axis, state.partition.blocks()[b].extents[axis]));
    }
  }
  return state;
}

void allocate_factors(const Site& site, Preconditioning& preconditioning, std::span<const NewFactor> factors) {
  for (const auto matrix : {&Factor::statistic, &Factor::preconditioner}) {
    std::vector<StateMatrix*> matrices;
    for (const NewFactor& f : factors) matrices.push_back(&(f.factor->*matrix));
    allocate_matrices(site, matrices);
  }
  for (const NewFactor& f : factors) {
    preconditioning.write_identity(f.factor->statistic.view(), static_cast<float>(f.matrix_epsilon), site.queue());
    preconditioning.write_identity(f.factor->preconditioner.view(), 1, site.queue());
  }
}

std::int64_t shampoo_state_bytes(const ShampooOptions& options, const Parameter& parameter, bool preconditioned) {
  const Extents whole = extents_of(parameter);
  const auto tensor = [&](Coding coding) { return StateMatrix::bytes_of(whole.rows, whole.columns, coding); };
  const bool two_momenta = preconditioned && options.graft() != Graft::sqrt_n;
  std::int64_t bytes = 2 * tensor(Coding::none);  // of Adam
  if (!options.eigenvalue_corrected()) {
    bytes = (two_momenta ? 2 : 1) * tensor(options.momentum_coding);
    if (has_statistics(options.graft())) bytes += tensor(Coding::none);
    if (options.graft() == Graft::adam) bytes += tensor(Coding::none);
  }
  if (wants_master(options, parameter)) bytes += tensor(Coding::none);
  if (!preconditioned) return bytes;
  const std::int64_t pending = keeps_pending_roots(options) ? options.rounds() : 0;
  const Partition partition = partition_of(options, parameter);
  for (const Block& block : partition.blocks()) {
    for (const std::size_t axis : preconditioned_axes(options, partition)) {
      const std::int64_t extent = block.extents[axis];
      bytes += 2 * StateMatrix::bytes_of(extent, extent, options.matrix_coding);
      bytes += pending * StateMatrix::bytes_of(extent, extent, Coding::none);
    }
  }
  return bytes;
}

void Factor::record(const RootRecord& root, double threshold, std::int64_t step) {
  max_eigenvalue = root.max_eigenvalue;
  iterations = root.iterations;
  retries += root.retries;
  // As in distributed_shampoo.py, where 0 and the threshold itself stand for a root that was not computed.
  if (root.error > 0 && root.error != threshold) error = root.error;
  if (root.accepted) {
    refreshed = step + 1;
  } else {
    ++failures;
  }
}

double ShampooState::cost_of_steps(std::size_t block) const {
  double extents = 0;
  for (const Factor& factor : factors_of(block)) extents += static_cast<double>(factor.extent());
  return static_cast<double>(partition.blocks()[block].size) * extents;
}

double ShampooState::cost_of_roots(std::size_t block) const {
  double cost = 0;
  for (const Factor& factor : factors_of(block)) cost += std::pow(static_cast<double>(factor.extent()), 3);
  return cost;
}

ShampooState::Named ShampooState::find(const std::string& name) const {
  const auto whole = [](const StateMatrix& matrix) { return Named{matrix.exists() ? &matrix : nullptr, {}, -1}; };
  if (name == "momentum") return whole(momentum);
  if (name == "diagonal_momentum") return whole(diagonal_momentum);
  if (name == "diagonal_statistics") return whole(diagonal_statistics);
  if (name == "diagonal_exp_avg") return whole(diagonal_exp_avg);
  if (name == "master_weights") return whole(master);
  std::size_t block = 0;
  std::size_t axis = 0;
  const bool is_statistic = read_place(name, "statistics.", &block, &axis);
  if (!is_statistic && !read_place(name, "preconditioners.", &block, &axis)) return {};
  const auto position = std::find(axes.begin(), axes.end(), axis);
  if (!preconditioned || block >= partition.blocks().size() || position == axes.end()) return {};
  const Factor& found = factors_of(block)[static_cast<std::size_t>(position - axes.begin())];
  return {is_statistic ? &found.statistic : &found.preconditioner, found.shape, owner(block)};
}

void ShampooState::append_stored(std::size_t index, const Parameter& parameter,
                                 std::vector<StoredState>& stored) const {
  const auto append = [&](const char* name, const StateMatrix& matrix) {
    if (matrix.exists()) matrix.append_stored(index, name, parameter.shape, -1, stored);
  };
  append("momentum", momentum);
  append("diagonal_momentum", diagonal_momentum);
  append("diagonal_statistics", diagonal_statistics);
  append("diagonal_exp_avg", diagonal_exp_avg);
  append("master_weights", master);
  if (!preconditioned) return;
  for (const Factor& f : factors) {
    f.statistic.append_stored(index, "statistics." + f.place(), {f.extent(), f.extent()}, owner(f.block), stored);
    f.preconditioner.append_stored(index, "preconditioners." + f.place(), {f.extent(), f.extent()}, owner(f.block),
                                   stored);
  }
}

}  // namespace gradstep
