// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How Shampoo cuts a parameter, and what it keeps for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/held_bytes.h"
#include "core/schema.h"
#include "optim/shampoo/partition.h"
#include "optim/shampoo/shampoo_options.h"
#include "optim/state/state_store.h"

namespace gradstep {

/// The tensors of a parameter. After the last one come two matrices for each factor: its statistic and its
/// preconditioner, which is that of the eigenvectors, in its columns, in the eigenvalue-corrected mode.
enum ShampooSlot : std::size_t {
  kMomentum,
  kDiagonalMomentum,
  kDiagonalStatistics,
  kDiagonalExpAvg,
  kMaster,
  kAverage,
  kAverageCount,
  kFirstMatrix,
};

/// One axis of one block.
struct Factor {
  std::size_t block = 0;
  std::size_t axis = 0;
  std::int64_t extent = 0;
  std::int64_t offset = -1;  ///< bytes, of its matrix in a round's numbers; -1 = another rank's
  std::size_t task = 0;      ///< of a round
  // Metrics.
  double error = 0;
  double max_eigenvalue = 0;
  std::int32_t iterations = 0;
  std::int64_t retries = 0;
  std::int64_t failures = 0;
  std::int64_t refreshed = 0;  ///< the t after which the present preconditioner came

  /// Keeps what a root computed from the statistic of `step` says in the metrics.
  void record(const RootRecord& root, double threshold, std::int64_t step);
  std::string place() const { return std::to_string(block) + "." + std::to_string(axis); }
};

/// What Shampoo knows of one parameter. Its numbers are in the store.
struct ShampooState {
  const StateStore* store = nullptr;
  std::size_t index = 0;  ///< of the parameter
  std::int32_t group = 0;
  DType arithmetic = DType::f32;  ///< of its numbers: f64 or f32
  bool preconditioned = false;    ///< factors that were switched off stay, for views of them
  Partition partition;
  std::vector<std::size_t> axes;  ///< those of the merged tensor that are preconditioned
  std::vector<Factor> factors;    ///< by block, then in the order of axes

  StoredMatrix matrix(ShampooSlot slot) const { return store->tensor(index, slot).matrix(); }
  /// f32 copy of a narrow parameter; NULL = none.
  float* master() const { return matrix(kMaster).as<float>(); }
  const StateTensor& statistic(std::size_t factor) const { return store->tensor(index, kFirstMatrix + 2 * factor); }
  const StateTensor& preconditioner(std::size_t factor) const {
    return store->tensor(index, kFirstMatrix + 2 * factor + 1);
  }

  std::span<const Factor> factors_of(std::size_t block) const {
    return std::span(factors).subspan(block * axes.size(), axes.size());
  }
  /// The one rank that has a block's factors; -1 = every rank has them.
  std::int32_t owner(std::size_t block) const { return store->owner(index, kFirstMatrix + 2 * block * axes.size()); }

  std::size_t block_count() const { return axes.empty() ? 0 : partition.blocks().size(); }
  /// Operations, roughly: of a step and of a refresh of one block.
  double cost_of_steps(std::size_t block) const;
  double cost_of_roots(std::size_t block) const;
  std::size_t bytes() const { return held_bytes(partition, axes, factors); }
};

/// True if the options let a parameter of this shape be preconditioned.
bool can_precondition(const ShampooOptions& options, const Parameter& parameter);

/// Throws UNSUPPORTED or INVALID_ARGUMENT for a parameter that these options cannot serve.
void check_parameter(const ShampooOptions& options, const Parameter& parameter);

/// What a parameter is cut into; `preconditioned` or not.
ShampooState make_shampoo_state(const ShampooOptions& options, const Parameter& parameter, bool preconditioned);

/// What such a parameter keeps. `has_momentum`: that of the preconditioned direction exists, and goes on.
/// `matrix_epsilon`: what the diagonals of statistics begin with.
std::vector<StateWish> shampoo_wishes(const ShampooOptions& options, const Parameter& parameter,
                                      const ShampooState& state, bool has_momentum, double matrix_epsilon);

/// True if roots that are under way are part of the state: with a lag of 1 they are all due when a step is over.
constexpr bool keeps_pending_roots(const ShampooOptions& options) { return options.lag > 1; }

/// Numbers of several parameters that follow one another do so at multiples of this, in bytes: of the largest type.
inline std::int64_t number_unit(std::span<const ShampooState> states) {
  const bool has_wide = std::ranges::any_of(states, [](const ShampooState& s) { return s.arithmetic == DType::f64; });
  return size_of(has_wide ? DType::f64 : DType::f32);
}

std::int64_t shampoo_state_bytes(const ShampooOptions& options, const Parameter& parameter, bool preconditioned);

}  // namespace gradstep
