// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/step_agreement.h"

#include <bit>
#include <string>
#include <vector>

#include "comm/compare_ranks.h"
#include "core/error.h"
#include "core/hash.h"

namespace gradstep {

namespace {

constexpr std::array kStepFactWords = {"grad_scale",
                                       "max_norm",
                                       "clip_value",
                                       "skip_nonfinite",
                                       "how gradients are averaged",
                                       "the step count",
                                       "the accumulator, or how many micro-batches its window has"};

}  // namespace

StepAgreement::StepAgreement(const HyperParameters& hyper_parameters, const StepGuards& guards,
                             const GradientExchange& exchange, std::int64_t steps)
    : hyper_parameters_(hyper_parameters),
      facts_{std::bit_cast<std::uint64_t>(guards.grad_scale),
             std::bit_cast<std::uint64_t>(guards.max_norm),
             std::bit_cast<std::uint64_t>(guards.clip_value),
             guards.skip_nonfinite ? 1U : 0U,
             static_cast<std::uint64_t>(exchange.gradients) << 32U | static_cast<std::uint32_t>(exchange.average),
             static_cast<std::uint64_t>(steps),
             exchange.window} {
  static_assert(kStepFactWords.size() == std::tuple_size_v<decltype(facts_)>);
}

std::uint64_t StepAgreement::digest() const {
  return hash_bytes(facts_.data(), sizeof facts_, hyper_parameters_.digest());
}

void StepAgreement::compare(Communicator& comm, const Deadline& deadline) const {
  std::vector<std::uint64_t> facts = hyper_parameters_.facts();
  const std::size_t fields = facts.size();
  facts.insert(facts.end(), facts_.begin(), facts_.end());
  const auto what = [&](std::size_t i) {
    return i < fields ? hyper_parameters_.fact_text(i) : std::string(kStepFactWords[i - fields]);
  };
  compare_ranks(comm, facts, what, deadline);
  fail(GRADSTEP_ERR_MISMATCH, "the ranks disagree on the step");
}

}  // namespace gradstep
