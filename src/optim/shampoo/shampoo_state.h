// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What Shampoo keeps for one parameter.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/schema.h"
#include "optim/shampoo/partition.h"
#include "optim/shampoo/shampoo_options.h"
#include "optim/shampoo/state_matrix.h"

namespace gradstep {

/// One axis of one block.
struct Factor {
  std::array<std::int64_t, 2> shape;
  StateMatrix statistic;
  StateMatrix preconditioner;
  // Metrics.
  double error = 0;
  double max_eigenvalue = 0;
  std::int32_t iterations = 0;
  std::int64_t retries = 0;
  std::int64_t failures = 0;
  std::int64_t refreshed = 0;  ///< the t after which the present preconditioner came

  std::int64_t extent() const { return shape[0]; }
};

struct ShampooState {
  bool preconditioned = false;  ///< factors that were switched off stay, for views of them
  bool used = false;            ///< a gradient has gone into the state
  Partition partition;
  std::vector<Factor> factors;  ///< block * rank + axis
  StateMatrix momentum;
  StateMatrix diagonal_momentum;
  StateMatrix diagonal_statistics;
  StateMatrix diagonal_exp_avg;

  Factor& factor(std::size_t block, std::size_t axis) { return factors[block * partition.rank() + axis]; }
  const Factor& factor(std::size_t block, std::size_t axis) const { return factors[block * partition.rank() + axis]; }

  struct Named {
    const StateMatrix* matrix = nullptr;
    std::span<const std::int64_t> shape;  ///< empty = the parameter's
  };
  /// matrix NULL = this parameter has no such state.
  Named find(const std::string& name) const;
  void append_stored(std::size_t index, const Parameter& parameter, std::vector<StoredState>& stored) const;
};

/// True if the options let a parameter of this shape be preconditioned.
bool can_precondition(const ShampooOptions& options, const Parameter& parameter);

/// Throws UNSUPPORTED or INVALID_ARGUMENT for a parameter that these options cannot serve.
void check_parameter(const ShampooOptions& options, const Parameter& parameter);

/// A new state; `matrix_epsilon` is what statistics start with.
ShampooState make_shampoo_state(const Context& context, const ShampooOptions& options, const Parameter& parameter,
                                bool preconditioned, double matrix_epsilon);

std::int64_t shampoo_state_bytes(const ShampooOptions& options, const Parameter& parameter, bool preconditioned);

}  // namespace gradstep
