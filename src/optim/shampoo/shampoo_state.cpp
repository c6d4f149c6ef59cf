// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo_state.h"

#include <cmath>
#include <utility>

#include "core/error.h"
#include "optim/weight_averages.h"

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

Encoding plain_encoding(const Parameter& parameter) {
  return parameter.dtype == DType::f64 ? Encoding::f64 : Encoding::f32;
}

Encoding encoding_of(Coding coding, Encoding plain) {
  if (coding == Coding::int8) return Encoding::columns_int8;
  return coding == Coding::int16 ? Encoding::columns_int16 : plain;
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

void check_parameter(const ShampooOptions& options, const Parameter& parameter) {
  check_storage(options.storage, parameter);
  const bool is_coded = options.momentum_coding != Coding::none || options.matrix_coding != Coding::none;
  if (is_coded && parameter.dtype == DType::f64) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.{}: parameter '{}' is f64, whose state is f64",
         options.momentum_coding != Coding::none ? "quantize_momentum" : "quantize_statistics", parameter.name);
  }
  if (parameter.shape.empty() && options.momentum_coding != Coding::none) {
    fail_argument("options.quantize_momentum: parameter '{}' is a scalar, which has no axis to quantise over",
                  parameter.name);
  }
}

ShampooState make_shampoo_state(const ShampooOptions& options, const Parameter& parameter, bool preconditioned) {
  ShampooState state;
  state.group = parameter.group;
  state.arithmetic = arithmetic_dtype(parameter.dtype);
  state.preconditioned = preconditioned;
  if (!preconditioned) return state;
  state.partition = partition_of(options, parameter);
  state.axes = preconditioned_axes(options, state.partition);
  for (std::size_t b = 0; b < state.partition.blocks().size(); ++b) {
    for (const std::size_t axis : state.axes) {
      state.factors.push_back({.block = b, .axis = axis, .extent = state.partition.blocks()[b].extents[axis]});
    }
  }
  return state;
}

std::vector<StateWish> shampoo_wishes(const ShampooOptions& options, const Parameter& parameter,
                                      const ShampooState& state, bool has_momentum, double matrix_epsilon) {
  const Extents whole = extents_of(parameter);
  const bool corrected = options.eigenvalue_corrected();
  const bool shared_momentum = options.graft() == Graft::sqrt_n;
  const Encoding plain = plain_encoding(parameter);
  // Statistics, roots and bases stay: rounded to 8 bits, a statistic short of rank turns its root.
  const Encoding kept = options.storage.format == StateFormat::bf16 ? Encoding::bf16 : plain;
  std::vector<StateWish> wishes;
  const auto wish = [&](ShampooSlot slot, const char* name, Encoding encoding) {
    std::vector<std::int64_t> shape =
        parameter.shape.empty() ? std::vector{whole.rows, whole.columns} : parameter.shape.list();
    wishes.push_back({slot, name, TensorForm{whole.rows, whole.columns, encoding}, std::move(shape)});
  };
  if (!corrected && (state.preconditioned || shared_momentum || has_momentum)) {
    wish(kMomentum, "momentum", encoding_of(options.momentum_coding, kept));
  }
  if (!corrected && !shared_momentum) {
    wish(kDiagonalMomentum, "diagonal_momentum", encoding_of(options.momentum_coding, kept));
  }
  if (corrected || has_statistics(options.graft())) wish(kDiagonalStatistics, "diagonal_statistics", kept);
  if (corrected || options.graft() == Graft::adam) wish(kDiagonalExpAvg, "diagonal_exp_avg", kept);
  if (wants_master(options.storage, parameter)) wish(kMaster, kMasterWeights, Encoding::f32);
  wish_average(options.average, parameter, parameter.size, kAverage, wishes);
  if (!state.preconditioned) return wishes;
  std::size_t slot = kFirstMatrix;
  for (const Factor& factor : state.factors) {
    const std::int64_t n = factor.extent;
    TensorForm form{n, n, encoding_of(options.matrix_coding, plain)};
    form.is_diagonal = true;
    form.initial = matrix_epsilon;
    wishes.push_back({slot++, "statistics." + factor.place(), form, {n, n}, /*is_whole=*/true});
    form.initial = 1;
    wishes.push_back({slot++, "preconditioners." + factor.place(), form, {n, n}, /*is_whole=*/true});
  }
  return wishes;
}

std::int64_t shampoo_state_bytes(const ShampooOptions& options, const Parameter& parameter, bool preconditioned) {
  const ShampooState state = make_shampoo_state(options, parameter, preconditioned);
  std::int64_t bytes = bytes_of(shampoo_wishes(options, parameter, state, /*has_momentum=*/false, 0));
  if (!keeps_pending_roots(options)) return bytes;
  for (const Factor& factor : state.factors) {
    bytes += options.rounds() * factor.extent * factor.extent * size_of(state.arithmetic);
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
  for (const Factor& factor : factors_of(block)) extents += static_cast<double>(factor.extent);
  return static_cast<double>(partition.blocks()[block].size) * extents;
}

double ShampooState::cost_of_roots(std::size_t block) const {
  double cost = 0;
  for (const Factor& factor : factors_of(block)) cost += std::pow(static_cast<double>(factor.extent), 3);
  return cost;
}

}  // namespace gradstep
