// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo_state.h"

#include <algorithm>
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

StateMatrix scaled_identity(const Context& context, std::int64_t n, double value, Coding coding) {
  StateMatrix matrix(context, n, n, coding);
  std::vector<float> scratch(matrix.is_coded() ? static_cast<std::size_t>(n * n) : 0);
  float* numbers = matrix.read(scratch.data());
  for (std::int64_t i = 0; i < n; ++i) numbers[i * n + i] = static_cast<float>(value);
  matrix.write(numbers);
  return matrix;
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

}  // namespace

bool can_precondition(const ShampooOptions& options, const Parameter& parameter) {
  return !parameter.shape.empty() && parameter.size > 0 &&
         std::all_of(parameter.shape.begin(), parameter.shape.end(),
                     [&](std::int64_t dimension) { return dimension <= options.skip_above; });
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

ShampooState make_shampoo_state(const Context& context, const ShampooOptions& options, const Parameter& parameter,
                                bool preconditioned, double matrix_epsilon) {
  ShampooState state;
  const Extents whole = extents_of(parameter);
  const bool shared_momentum = options.graft == Graft::sqrt_n;
  if (preconditioned || shared_momentum) {
    state.momentum = StateMatrix(context, whole.rows, whole.columns, options.momentum_coding);
  }
  if (!shared_momentum) {
    state.diagonal_momentum = StateMatrix(context, whole.rows, whole.columns, options.momentum_coding);
  }
  if (has_statistics(options.graft)) {
    state.diagonal_statistics = StateMatrix(context, whole.rows, whole.columns, Coding::none);
  }
  if (options.graft == Graft::adam) {
    state.diagonal_exp_avg = StateMatrix(context, whole.rows, whole.columns, Coding::none);
  }
  state.preconditioned = preconditioned;
  if (!preconditioned) return state;
  state.partition = Partition(parameter.shape, options.block_size, options.merge);
  for (const Block& block : state.partition.blocks()) {
    for (const std::int64_t extent : block.extents) {
      Factor factor;
      factor.shape = {extent, extent};
      factor.statistic = scaled_identity(context, extent, matrix_epsilon, options.matrix_coding);
      factor.preconditioner = scaled_identity(context, extent, 1, options.matrix_coding);
      state.factors.push_back(std::move(factor));
    }
  }
  return state;
}

std::int64_t shampoo_state_bytes(const ShampooOptions& options, const Parameter& parameter, bool preconditioned) {
  const Extents whole = extents_of(parameter);
  const auto tensor = [&](Coding coding) { return StateMatrix::bytes_of(whole.rows, whole.columns, coding); };
  const bool two_momenta = preconditioned && options.graft != Graft::sqrt_n;
  std::int64_t bytes = (two_momenta ? 2 : 1) * tensor(options.momentum_coding);
  if (has_statistics(options.graft)) bytes += tensor(Coding::none);
  if (options.graft == Graft::adam) bytes += tensor(Coding::none);
  if (!preconditioned) return bytes;
  const Partition partition(parameter.shape, options.block_size, options.merge);
  for (const Block& block : partition.blocks()) {
    for (const std::int64_t extent : block.extents) {
      bytes += 2 * StateMatrix::bytes_of(extent, extent, options.matrix_coding);
    }
  }
  return bytes;
}

ShampooState::Named ShampooState::find(const std::string& name) const {
  const auto whole = [](const StateMatrix& matrix) { return Named{matrix.exists() ? &matrix : nullptr, {}}; };
  if (name == "momentum") return whole(momentum);
  if (name == "diagonal_momentum") return whole(diagonal_momentum);
  if (name == "diagonal_statistics") return whole(diagonal_statistics);
  if (name == "diagonal_exp_avg") return whole(diagonal_exp_avg);
  std::size_t block = 0;
  std::size_t axis = 0;
  const bool is_statistic = read_place(name, "statistics.", &block, &axis);
  if (!is_statistic && !read_place(name, "preconditioners.", &block, &axis)) return {};
  if (!preconditioned || block >= partition.blocks().size() || axis >= partition.rank()) return {};
  const Factor& found = factor(block, axis);
  return {is_statistic ? &found.statistic : &found.preconditioner, found.shape};
}

void ShampooState::append_stored(std::size_t index, const Parameter& parameter,
                                 std::vector<StoredState>& stored) const {
  const auto append = [&](const char* name, const StateMatrix& matrix) {
    if (matrix.exists()) matrix.append_stored(index, name, parameter.shape, stored);
  };
  append("momentum", momentum);
  append("diagonal_momentum", diagonal_momentum);
  append("diagonal_statistics", diagonal_statistics);
  append("diagonal_exp_avg", diagonal_exp_avg);
  if (!preconditioned) return;
  for (std::size_t block = 0; block < partition.blocks().size(); ++block) {
    for (std::size_t axis = 0; axis < partition.rank(); ++axis) {
      const Factor& f = factor(block, axis);
      const std::string place = std::to_string(block) + "." + std::to_string(axis);
      f.statistic.append_stored(index, "statistics." + place, {f.extent(), f.extent()}, stored);
      f.preconditioner.append_stored(index, "preconditioners." + place, {f.extent(), f.extent()}, stored);
    }
  }
}

}  // namespace gradstep
