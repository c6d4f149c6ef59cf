// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/factor_move.h"

#include "optim/shampoo/step_staging.h"

namespace gradstep {

namespace {

constexpr auto kMatrices = {&Factor::statistic, &Factor::preconditioner};

std::vector<StoredState> stored_of(const StateMatrix& matrix, std::size_t parameter, std::int32_t owner) {
  std::vector<StoredState> stored;
  if (matrix.exists()) matrix.append_stored(parameter, "", {}, owner, stored);
  return stored;
}

}  // namespace

/// Parameters whose blocks all ranks have, before and after, keep their factors.
void FactorMove::prepare(std::span<const ShampooState> states, std::vector<std::vector<std::int32_t>> owners,
                         std::int32_t rank, std::span<const double> matrix_epsilon, bool keep) {
  owners_ = std::move(owners);
  owners_.resize(states.size());
  factors_.clear();
  factors_.resize(states.size());
  std::vector<NewFactor> made;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].owners.empty() && owners_[i].empty()) continue;
    factors_[i].resize(states[i].factors.size());
    for (std::size_t k = 0; k < factors_[i].size(); ++k) {
      const Factor& old = states[i].factors[k];
      if (!owners_[i].empty() && owners_[i][old.block] != rank) continue;
      factors_[i][k] = make_factor(options_, old.block, old.axis, old.extent());
      made.push_back({&factors_[i][k], matrix_epsilon[i]});
    }
  }
  allocate_factors(site_, preconditioning_, made);
  if (keep) keep_present(states);
}

void FactorMove::keep_present(std::span<const ShampooState> states) {
  std::vector<std::pair<StoredState, StoredState>> copied;
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (std::size_t k = 0; k < factors_[i].size(); ++k) {
      for (const auto matrix : kMatrices) {
        const StateMatrix& old = states[i].factors[k].*matrix;
        const std::vector<StoredState> to = stored_of(factors_[i][k].*matrix, i, -1);
        if (!old.is_here() || to.empty()) continue;
        const std::vector<StoredState> from = stored_of(old, i, -1);
        for (std::size_t part = 0; part < from.size(); ++part) copied.emplace_back(to[part], from[part]);
      }
    }
  }
  CopyList copies;
  copies.begin(copied.size());
  for (std::size_t at = 0; at < copied.size(); ++at) copies.set(at, copied[at].first.array, copied[at].second.array);
  copies.run(site_);
}

void FactorMove::gather(std::span<const ShampooState> states, void* scratch, Gather gather) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const ShampooState& state = states[i];
    if (state.owners.empty()) continue;
    for (std::size_t k = 0; k < factors_[i].size(); ++k) {
      for (const auto matrix : kMatrices) {
        const std::vector<StoredState> from =
            stored_of(state.factors[k].*matrix, i, state.owner(state.factors[k].block));
        const std::vector<StoredState> to = stored_of(factors_[i][k].*matrix, i, -1);
        for (std::size_t part = 0; part < from.size(); ++part) {
          const bool is_here = !to.empty() && site_.is_host();
          gather(from[part], is_here ? to[part].array.data : scratch);
          if (to.empty() || is_here) continue;
          const Array& own = to[part].array;
          site_.queue().upload(own.data, scratch, static_cast<std::size_t>(own.bytes()));
        }
      }
    }
  }
}

void FactorMove::commit(std::span<ShampooState> states, std::int32_t rank) noexcept {
  for (std::size_t i = 0; i < states.size(); ++i) {
    ShampooState& state = states[i];
    state.owners = std::move(owners_[i]);
    for (std::size_t k = 0; k < factors_[i].size(); ++k) {
      Factor& factor = state.factors[k];
      if (state.owners.empty() || state.owner(factor.block) == rank) {
        factor.statistic = std::move(factors_[i][k].statistic);
        factor.preconditioner = std::move(factors_[i][k].preconditioner);
      } else {
        factor.statistic.release();
        factor.preconditioner.release();
      }
    }
  }
  discard();
}

void FactorMove::discard() noexcept {
  factors_.clear();
  owners_.clear();
}

}  // namespace gradstep
