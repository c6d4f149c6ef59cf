// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How factors move when blocks are dealt out anew or gathered: what this rank will have is made aside, filled from what
// it has and from the ranks that have the rest, and takes the place of the old in one step that cannot fail.
#pragma once

#include <span>
#include <vector>

#include "optim/shampoo/shampoo_state.h"

namespace gradstep {

class FactorMove {
 public:
  /// Writes the whole of a stored state, which may be collective.
  using Gather = FunctionRef<void(const StoredState&, void*)>;

  FactorMove(const Site& site, Preconditioning& preconditioning, const ShampooOptions& options)
      : site_(site), preconditioning_(preconditioning), options_(options) {}

  /// Makes room. `owners`: of every block, by parameter; empty = every rank has all. `matrix_epsilon` by parameter:
  /// what statistics start with where no rank gives them. `keep`: this rank's own matrices stay.
  void prepare(std::span<const ShampooState> states, std::vector<std::vector<std::int32_t>> owners, std::int32_t rank,
               std::span<const double> matrix_epsilon, bool keep);
  /// Brings every rank what it is missing. `scratch` has room for the largest matrix.
  void gather(std::span<const ShampooState> states, void* scratch, Gather gather);
  void commit(std::span<ShampooState> states, std::int32_t rank) noexcept;
  void discard() noexcept;

 private:
  void keep_present(std::span<const ShampooState> states);

  const Site& site_;
  Preconditioning& preconditioning_;
  const ShampooOptions& options_;
  std::vector<std::vector<Factor>> factors_;  // by parameter; empty = as they are
  std::vector<std::vector<std::int32_t>> owners_;
};

}  // namespace gradstep
