// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/agreement.h"

#include <bit>

#include "comm/compare_ranks.h"
#include "core/error.h"
#include "core/hash.h"

namespace gradstep {

namespace {

/// What a rank says that cannot step.
constexpr std::uint64_t kFailed = ~std::uint64_t{0};

constexpr std::array kFactWords = {"the optimizer's rule or its options",
                                   "the outer optimizer, its rule or its options",
                                   "options.sync",
                                   "options.sync_steps",
                                   "options.outer_fragments or options.outer_delay",
                                   "options.outer_mix",
                                   "options.grad_scale",
                                   "options.max_norm",
                                   "options.clip_value",
                                   "options.skip_nonfinite",
                                   "the accumulator, or how its windows end",
                                   "how many micro-batches the window has: one flushed what another had filled",
                                   "the step count",
                                   "the hyper-parameters"};

std::uint64_t rule_number(const Optimizer& optimizer) {
  const std::string& text = optimizer.rule_text();
  return hash_bytes(text.data(), text.size());
}

}  // namespace

Agreement::Agreement(Chain& chain, const gradstep_updater_options& options, const StepGuards& guards)
    : chain_(chain),
      options_(options),
      guards_(guards),
      rule_(rule_number(*chain.optimizer)),
      outer_rule_(chain.outer ? rule_number(*chain.outer) : 0) {}

Agreement::Facts Agreement::facts() const {
  const Accumulator* accumulator = chain_.accumulator.get();
  // Where ranks step alone, step counts may differ after a recovery.
  const bool steps_alone = options_.sync != GRADSTEP_SYNC_GRADIENTS && !chain_.outer;
  const bool counts = !steps_alone && common().site().is_host();
  return {rule_,
          outer_rule_,
          static_cast<std::uint64_t>(options_.sync),
          static_cast<std::uint64_t>(options_.sync_steps),
          static_cast<std::uint64_t>(options_.outer_fragments) << 32 | static_cast<std::uint32_t>(options_.outer_delay),
          std::bit_cast<std::uint64_t>(options_.outer_mix),
          std::bit_cast<std::uint64_t>(guards_.grad_scale),
          std::bit_cast<std::uint64_t>(guards_.max_norm),
          std::bit_cast<std::uint64_t>(guards_.clip_value),
          guards_.skip_nonfinite ? 1U : 0U,
          accumulator != nullptr ? accumulator->digest() : 0,
          accumulator != nullptr ? static_cast<std::uint64_t>(accumulator->pushes()) : 0,
          counts ? static_cast<std::uint64_t>(common().step_count()) : 0,
          common().hyper_parameters().digest()};
}

std::uint64_t Agreement::digest() const {
  const Facts all = facts();
  const std::uint64_t digest = hash_bytes(all.data(), all.size() * sizeof all[0]);
  return digest == kFailed ? 0 : digest;
}

/// Collective, by ranks of which one differs from another. Throws.
void Agreement::tell_difference(const std::exception_ptr& failure, const Deadline& deadline) const {
  Communicator& comm = chain_.reducer->comm();
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
  const HyperParameters& values = common().hyper_parameters();
  compare_ranks(comm, values.facts(), [&](std::size_t i) { return values.fact_text(i); }, deadline);
  fail(GRADSTEP_ERR_MISMATCH, "the ranks disagree on the updater");
}

bool Agreement::reach(const std::exception_ptr& failure, bool is_finite) {
  struct Word {
    std::uint64_t digest;
    std::uint64_t is_finite;
  };
  Communicator& comm = chain_.reducer->comm();
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

void Agreement::exchange_gradients(const BufferList& grads, double weight, const std::exception_ptr& failure) {
  Reducer* reducer = chain_.reducer.get();
  // Once they have agreed, ranks with work on devices do not wait for each other's hosts again.
  if (!is_needed() || (has_met_ && !reducer->site().is_host())) {
    if (failure) std::rethrow_exception(failure);
    return reducer->exchange_window(grads, weight);
  }
  if (!has_met_ || !goes_beside()) {
    static_cast<void>(reach(failure));
    return reducer->exchange_window(grads, weight);
  }
  compare_beside(failure, [&] { reducer->exchange_window(grads, weight); });
  if (failure) std::rethrow_exception(failure);
}

bool Agreement::goes_beside() const {
  return is_needed() && chain_.reducer->site().is_host() && chain_.reducer->comm().carries_notes() &&
         chain_.reducer->options().mode == GRADSTEP_REDUCER_DENSE;
}

void Agreement::compare_beside(const std::exception_ptr& failure, FunctionRef<void()> exchange) {
  Communicator& comm = chain_.reducer->comm();
  comm.set_note(failure ? kFailed : digest());
  exchange();
  if (comm.heard_other_note()) tell_difference(failure, comm.deadline());
}

}  // namespace gradstep
