// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that step as one must do it by the same rule, the same numbers and the same window. They say so in each window,
// on devices in the first, and where each steps alone in each exchange: a digest of it goes with the messages of the
// exchange, where the engine carries notes, and else, and the first time, in a message of its own. Where digests differ
// the facts themselves are exchanged, to name what differs.
#include <array>
#include <bit>

#include "comm/compare_ranks.h"
#include "core/error.h"
#include "core/hash.h"
#include "updater/updater.h"

namespace gradstep {

namespace {

/// What a rank says that cannot step.
constexpr std::uint64_t kFailed = ~std::uint64_t{0};

constexpr std::array kFactWords = {"the optimizer's rule or its options",
                                   "options.sync",
                                   "options.sync_steps",
                                   "options.grad_scale",
                                   "options.max_norm",
                                   "options.clip_value",
                                   "options.skip_nonfinite",
                                   "the accumulator, or how its windows end",
                                   "how many micro-batches the window has: one flushed what another had filled",
                                   "the step count",
                                   "the hyper-parameters"};

}  // namespace

Updater::Facts Updater::facts() {
  const bool steps_alone = local_.has_value();  // after a recovery step counts may differ there
  const StepGuards guards = step_guards();
  const bool counts = !steps_alone && optimizer_->site().is_host();
  return {rule_,
          static_cast<std::uint64_t>(options_.sync),
          static_cast<std::uint64_t>(options_.sync_steps),
          std::bit_cast<std::uint64_t>(guards.grad_scale),
          std::bit_cast<std::uint64_t>(guards.max_norm),
          std::bit_cast<std::uint64_t>(guards.clip_value),
          guards.skip_nonfinite ? 1U : 0U,
          accumulator_ ? accumulator_->digest() : 0,
          accumulator_ ? static_cast<std::uint64_t>(accumulator_->pushes()) : 0,
          counts ? static_cast<std::uint64_t>(optimizer_->step_count()) : 0,
          optimizer_->hyper_parameters().digest()};
}

std::uint64_t Updater::digest() {
  const Facts all = facts();
  const std::uint64_t digest = hash_bytes(all.data(), all.size() * sizeof all[0]);
  return digest == kFailed ? 0 : digest;
}

bool Updater::agrees() const { return reducer_ && reducer_->comm().world_size() > 1; }

std::exception_ptr Updater::refresh_hyper_parameters() {
  try {
    optimizer_->refresh();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

/// Collective, by ranks of which one differs from another. Throws.
void Updater::tell_difference(const std::exception_ptr& failure, const Deadline& deadline) {
  Communicator& comm = reducer_->comm();
  const std::uint64_t has_failed = failure != nullptr ? 1 : 0;
  std::vector<std::uint64_t> failed(static_cast<std::size_t>(comm.world_size()));
  comm.all_gather(&has_failed, failed.data(), sizeof has_failed, deadline);
  if (failure) std::rethrow_exception(failure);
  for (std::size_t r = 0; r < failed.size(); ++r) {
    if (failed[r] != 0) fail(GRADSTEP_ERR_ABORTED, "rank {} could not begin the step", r);
  }
  const Facts all = facts();
  // The last is reported in more detail.
  compare_ranks(comm, std::span(all).first(kFacts - 1), [](std::size_t i) { return kFactWords[i]; }, deadline);
  const HyperParameters& values = optimizer_->hyper_parameters();
  compare_ranks(comm, values.facts(), [&](std::size_t i) { return values.fact_text(i); }, deadline);
  fail(GRADSTEP_ERR_MISMATCH, "the ranks disagree on the updater");
}

/// Collective: a message of its own. Throws where ranks differ or one has failed; says whether all of them are finite.
bool Updater::agree(const std::exception_ptr& failure, bool is_finite) {
  struct Word {
    std::uint64_t digest;
    std::uint64_t is_finite;
  };
  Communicator& comm = reducer_->comm();
  const Deadline deadline = comm.deadline();
  const Word own{failure ? kFailed : digest(), is_finite ? 1U : 0U};
  std::vector<Word> all(static_cast<std::size_t>(comm.world_size()));
  comm.all_gather(&own, all.data(), sizeof own, deadline);
  bool differs = false;
  bool all_finite = true;
  for (const Word& word : all) {
    differs = differs || word.digest != all[0].digest;
    all_finite = all_finite && word.is_finite != 0;
  }
  if (differs) tell_difference(failure, deadline);
  if (failure) std::rethrow_exception(failure);
  has_met_ = true;
  return all_finite;
}

/// The window's gradients become those of all ranks, unless these disagree. A rank that has failed takes part, for the
/// others to learn of it; then the window is as if nothing had been exchanged.
void Updater::exchange_gradients(const BufferList& grads, double weight, const std::exception_ptr& failure) {
  // Once they have agreed, ranks with work on devices do not wait for each other's hosts again.
  if (!agrees() || (has_met_ && !reducer_->site().is_host())) {
    if (failure) std::rethrow_exception(failure);
    return reducer_->exchange_window(grads, weight);
  }
  if (!has_met_ || !notes_serve()) {
    static_cast<void>(agree(failure, /*is_finite=*/true));
    return reducer_->exchange_window(grads, weight);
  }
  compare_beside(failure, [&] { reducer_->exchange_window(grads, weight); });
  if (failure) std::rethrow_exception(failure);
}

/// Whether what ranks must agree on can go with the messages of an exchange. Other modes than the dense one may
/// exchange something with some of the ranks alone.
bool Updater::notes_serve() const {
  return agrees() && reducer_->site().is_host() && reducer_->comm().carries_notes() &&
         reducer_->options().mode == GRADSTEP_REDUCER_DENSE;
}

/// Collective: `exchange`, after which ranks that differ, or of which one has failed, throw.
void Updater::compare_beside(const std::exception_ptr& failure, FunctionRef<void()> exchange) {
  Communicator& comm = reducer_->comm();
  comm.set_note(failure ? kFailed : digest());
  exchange();
  if (comm.heard_other_note()) tell_difference(failure, comm.deadline());
}

}  // namespace gradstep
