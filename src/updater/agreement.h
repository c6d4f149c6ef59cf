// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that step as one must do it by the same rule, the same numbers and the same window. They say so in each window,
// on devices in the first, and where each steps alone in each exchange: a digest of it goes with the messages of the
// exchange, where the engine carries notes, and else, and the first time, in a message of its own. Where digests differ
// the facts themselves are exchanged, to name what differs.
#pragma once

#include <array>
#include <cstdint>
#include <exception>

#include "core/function_ref.h"
#include "gradstep/updater.h"
#include "updater/chain.h"

namespace gradstep {

class Agreement {
 public:
  /// All three outlive it.
  Agreement(Chain& chain, const gradstep_updater_options& options, const StepGuards& guards);

  /// There are ranks to agree with.
  bool is_needed() const { return chain_.has_peers(); }
  /// The ranks of this reducer have agreed once.
  bool has_met() const { return has_met_; }
  /// The reducer is another one from here on.
  void start_over() { has_met_ = false; }
  /// The digest can go with the messages of an exchange. Modes other than the dense one may exchange something with
  /// some of the ranks alone.
  bool goes_beside() const;
  /// Before local steps ranks vote on what is finite, and compare what they must agree on.
  bool votes_first() const { return is_needed() && guards_.skip_nonfinite; }

  // Collective. They throw where ranks differ, and where one of them has a `failure`, for the others to learn of it.

  /// A message of its own. Says whether all ranks are finite.
  bool reach(const std::exception_ptr& failure, bool is_finite = true);
  /// `exchange`, with the digest beside it.
  void compare_beside(const std::exception_ptr& failure, FunctionRef<void()> exchange);
  /// The window's gradients become those of all ranks. Where this throws, nothing has been exchanged.
  void exchange_gradients(const BufferList& grads, double weight, const std::exception_ptr& failure);

 private:
  static constexpr std::size_t kFacts = 14;
  /// The optimizer whose step must be equal on all ranks: the outer one if there is one.
  const Optimizer& common() const { return chain_.outer ? *chain_.outer : *chain_.optimizer; }
  using Facts = std::array<std::uint64_t, kFacts>;
  Facts facts() const;
  std::uint64_t digest() const;
  [[noreturn]] void tell_difference(const std::exception_ptr& failure, const Deadline& deadline) const;

  Chain& chain_;
  const gradstep_updater_options& options_;
  const StepGuards& guards_;
  // The optimizers and their options, as numbers.
  std::uint64_t rule_;
  std::uint64_t outer_rule_;
  bool has_met_ = false;
};

}  // namespace gradstep
