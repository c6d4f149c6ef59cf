// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What Shampoo keeps for one parameter.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/schema.h"
#include "optim/shampoo/partition.h"
#include "optim/shampoo/shampoo_options.h"
#include "optim/shampoo/state_matrix.h"

namespace gradstep {

/// One axis of one block.
struct Factor {
  std::size_t block = 0;
  std::size_t axis = 0;
  std::array<std::int64_t, 2> shape;
  StateMatrix statistic;
  StateMatrix preconditioner;  ///< eigenvalue-corrected: the eigenvectors in its columns
  std::int64_t offset = -1;    ///< of its matrix in a round's numbers; -1 = another rank's
  std::size_t task = 0;        ///< of a round
  // Metrics.
  double error = 0;
  double max_eigenvalue = 0;
  std::int32_t iterations = 0;
  std::int64_t retries = 0;
  std::int64_t failures = 0;
  std::int64_t refreshed = 0;  ///< the t after which the present preconditioner came

  /// Keeps what a root computed from the statistic of `step` says in the metrics.
  void record(const RootRecord& root, double threshold, std::int64_t step);
  std::int64_t extent() const { return shape[0]; }
  std::string place() const { return std::to_string(block) + "." + std::to_string(axis); }
};

struct ShampooState {
  std::int32_t group = 0;
  bool preconditioned = false;  ///< factors that were switched off stay, for views of them
  bool used = false;            ///< a gradient has gone into the state
  Partition partition;
  std::vector<std::size_t> axes;     ///< those of the merged tensor that are preconditioned
  std::vector<Factor> factors;       ///< by block, then in the order of axes
  std::vector<std::int32_t> owners;  ///< by block: the rank that has its factors; empty = every rank has all
  StateMatrix momentum;
  StateMatrix diagonal_momentum;
  StateMatrix diagonal_statistics;
  StateMatrix diagonal_exp_avg;
  StateMatrix master;  ///< f32 copy of a narrow parameter, if the options ask for it

  std::span<Factor> factors_of(std::size_t block) {
    return std::span(factors).subspan(block * axes.size(), axes.size());
  }
  std::span<const Factor> factors_of(std::size_t block) const {
    return std::span(factors).subspan(block * axes.size(), axes.size());
  }
  std::int32_t owner(std::size_t block) const { return owners.empty() ? -1 : owners[block]; }

  std::size_t block_count() const { return axes.empty() ? 0 : partition.blocks().size(); }
  /// Operations, roughly: of a step and of a refresh of one block.
  double cost_of_steps(std::size_t block) const;
  double cost_of_roots(std::size_t block) const;

  struct Named {
    const StateMatrix* matrix = nullptr;
    std::span<const std::int64_t> shape;  ///< empty = the parameter's
    std::int32_t owner = -1;              ///< >= 0: only this rank has it
  };
  /// matrix NULL = this parameter has no such state.
  Named find(const std::string& name) const;
  void append_stored(std::size_t index, const Parameter& parameter, std::vector<StoredState>& stored) const;
};

/// True if the options let a parameter of this shape be preconditioned.
bool can_precondition(const ShampooOptions& options, const Parameter& parameter);

/// Throws UNSUPPORTED or INVALID_ARGUMENT for a parameter that these options cannot serve.
void check_parameter(const ShampooOptions& options, const Parameter& parameter);

/// True if an f32 copy of the parameter is kept.
bool wants_master(const ShampooOptions& options, const Parameter& parameter);

/// A new factor, without memory.
Factor make_factor(const ShampooOptions& options, std::size_t block, std::size_t axis, std::int64_t extent);

/// A new state, likewise.
ShampooState make_shampoo_state(const ShampooOptions& options, const Parameter& parameter, bool preconditioned);

/// Gives memory to what has none: statistics of matrix_epsilon times I, preconditioners of I.
struct NewFactor {
  Factor* factor;
  double matrix_epsilon;
};
void allocate_factors(const Site& site, Preconditioning& preconditioning, std::span<const NewFactor> factors);

/// True if roots that are under way are part of the state: with a lag of 1 they are all due when a step is over.
constexpr bool keeps_pending_roots(const ShampooOptions& options) { return options.lag > 1; }

std::int64_t shampoo_state_bytes(const ShampooOptions& options, const Parameter& parameter, bool preconditioned);

}  // namespace gradstep
