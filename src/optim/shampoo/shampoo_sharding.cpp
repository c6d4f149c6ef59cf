// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo over several ranks: who has which blocks, and how their factors move when that changes.
#include <fmt/format.h>

#include "comm/all_or_none.h"
#include "core/error.h"
#include "optim/assignment.h"
#include "optim/shampoo/shampoo.h"

namespace gradstep {

namespace {

bool deals_out_blocks(const Sharding* sharding) {
  return sharding != nullptr && sharding->options().preconditioners == GRADSTEP_SHARDED_PRECONDITIONERS_OWNED;
}

/// An eigendecomposition costs about this many n^3.
constexpr double kRootCost = 10;

}  // namespace

bool Shampoo::owns_blocks() const { return deals_out_blocks(sharding()); }

/// Ranks compute the same from the same numbers only with the same instruction set.
std::string Shampoo::sharding_key() const {
  const ShampooOptions& o = options_;
  const auto number = [](auto choice) { return static_cast<int>(choice); };
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", kind(),
                     context()->backend().instruction_set(), number(o.graft), o.block_size, o.start_step, o.root_steps,
                     o.statistics_steps, o.skip_above, o.exponent_override, o.merge, o.nesterov, o.moving_average,
                     o.decoupled_decay, number(o.method), number(o.precision), o.pad_to_largest, o.retries, o.lag,
                     number(o.sides), o.eigenvalue_corrected, number(o.momentum_coding), number(o.matrix_coding));
}

void Shampoo::prepare_slices(const Sharding* next, bool keep) {
  const bool gathers = keep && is_sharded();
  std::vector<float> whole;
  all_or_none(gathers ? &sharding()->comm() : nullptr, "allocate its part of the state", [&] {
    if (options_.eigenvalue_corrected && deals_out_blocks(next)) {
      fail(GRADSTEP_ERR_UNSUPPORTED, "options.preconditioners: OWNED does not go with eigenvalue_corrected");
    }
    plan();
    make_missing_factors();
    whole.resize(static_cast<std::size_t>(largest_extent_ * largest_extent_));
    if (deals_out_blocks(next)) assign_blocks(next->comm().world_size());
  });
  if (!keep) return;
  complete_all();
  if (owns_blocks()) gather_factors(whole.data());
}

/// Room for the factors that other ranks have, as at creation; those of this rank stay empty.
void Shampoo::make_missing_factors() {
  prepared_factors_.clear();
  prepared_factors_.resize(parameters_.size());
  prepared_owners_.assign(parameters_.size(), {});
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ShampooState& state = parameters_[i];
    if (state.owners.empty()) continue;
    for (const Factor& old : state.factors) {
      const bool is_here = old.statistic.is_here();
      prepared_factors_[i].push_back(
          is_here ? Factor{}
                  : make_factor(*context(), options_, old.block, old.axis, old.extent(), values_of(i)[kMatrixEpsilon]));
    }
  }
}

void Shampoo::assign_blocks(std::int32_t ranks) {
  std::vector<double> costs;
  for (const ShampooState& state : parameters_) {
    for (std::size_t b = 0; b < state.block_count(); ++b) {
      costs.push_back(kRootCost * state.cost_of_roots(b) / static_cast<double>(options_.root_steps) +
                      state.cost_of_steps(b));
    }
  }
  const std::vector<std::int32_t> owners = assign_longest_first(costs, ranks);
  auto owner = owners.begin();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto count = static_cast<std::ptrdiff_t>(parameters_[i].block_count());
    prepared_owners_[i].assign(owner, owner + count);
    owner += count;
  }
}

/// Brings every rank what it is missing. `whole` is scratch of the largest matrix.
void Shampoo::gather_factors(float* whole) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ShampooState& state = parameters_[i];
    for (std::size_t k = 0; k < prepared_factors_[i].size(); ++k) {
      const Factor& old = state.factors[k];
      Factor& missing = prepared_factors_[i][k];
      for (const auto matrix : {&Factor::statistic, &Factor::preconditioner}) {
        std::vector<StoredState> from;
        std::vector<StoredState> to;
        (old.*matrix).append_stored(i, "", {}, state.owner(old.block), from);
        if ((missing.*matrix).exists()) (missing.*matrix).append_stored(i, "", {}, -1, to);
        for (std::size_t part = 0; part < from.size(); ++part) {
          gather(from[part], to.empty() ? whole : to[part].array.data);
        }
      }
    }
  }
}

void Shampoo::discard_slices() noexcept {
  prepared_factors_.clear();
  prepared_owners_.clear();
}

void Shampoo::commit_slices() noexcept {
  for (RootRound* round : rounds_in_order()) install(*round);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    ShampooState& state = parameters_[i];
    for (std::size_t k = 0; k < prepared_factors_[i].size(); ++k) {
      Factor& gathered = prepared_factors_[i][k];
      if (!gathered.statistic.exists()) continue;
      state.factors[k].statistic = std::move(gathered.statistic);
      state.factors[k].preconditioner = std::move(gathered.preconditioner);
    }
    state.owners = std::move(prepared_owners_[i]);
    for (Factor& factor : state.factors) {
      if (state.owners.empty() || state.owner(factor.block) == rank()) continue;
      factor.statistic.release();
      factor.preconditioner.release();
    }
  }
  discard_slices();
  planned_ = false;
}

}  // namespace gradstep
