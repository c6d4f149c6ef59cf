// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo over several ranks: who has which blocks, and how their factors move when that changes.
#include <fmt/format.h>

#include <cstring>

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
  if (options_.eigenvalue_corrected && deals_out_blocks(next)) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.preconditioners: OWNED does not go with eigenvalue_corrected");
  }
  plan();
  if (keep) complete_all();
  prepared_factors_.clear();
  prepared_factors_.resize(parameters_.size());
  prepared_owners_.assign(parameters_.size(), {});
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ShampooState& state = parameters_[i];
    if (!state.owners.empty()) prepared_factors_[i] = gather_factors(i, keep);
  }
  if (!deals_out_blocks(next)) return;
  std::vector<double> costs;
  for (const ShampooState& state : parameters_) {
    for (std::size_t b = 0; b < state.block_count(); ++b) {
      costs.push_back(kRootCost * state.cost_of_roots(b) / static_cast<double>(options_.root_steps) +
                      state.cost_of_steps(b));
    }
  }
  const std::vector<std::int32_t> owners = assign_longest_first(costs, next->comm().world_size());
  auto owner = owners.begin();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto count = static_cast<std::ptrdiff_t>(parameters_[i].block_count());
    prepared_owners_[i].assign(owner, owner + count);
    owner += count;
  }
}

/// Copies of the factors that other ranks have; those of this rank stay empty. Collective if `keep`; else new ones.
std::vector<Factor> Shampoo::gather_factors(std::size_t i, bool keep) const {
  const ShampooState& state = parameters_[i];
  std::vector<Factor> factors(state.factors.size());
  for (std::size_t k = 0; k < factors.size(); ++k) {
    const Factor& old = state.factors[k];
    if (!old.statistic.is_here()) {
      factors[k] = make_factor(*context(), options_, old.block, old.axis, old.extent(), values_of(i)[kMatrixEpsilon]);
    }
    if (!keep) continue;
    std::vector<StoredState> from;
    std::vector<StoredState> to;
    for (const auto matrix : {&Factor::statistic, &Factor::preconditioner}) {
      (old.*matrix).append_stored(i, "", {}, state.owner(old.block), from);
      if (!old.statistic.is_here()) (factors[k].*matrix).append_stored(i, "", {}, -1, to);
    }
    for (std::size_t part = 0; part < from.size(); ++part) {
      const Buffer whole = gather(from[part]);
      if (!to.empty()) std::memcpy(to[part].array.data, whole.data(), whole.bytes());
    }
  }
  return factors;
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
  prepared_factors_.clear();
  prepared_owners_.clear();
  planned_ = false;
}

}  // namespace gradstep
