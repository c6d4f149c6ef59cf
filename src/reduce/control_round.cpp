// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/control_round.h"

#include <algorithm>

#include "core/trace.h"

namespace gradstep {

ControlRound::ControlRound(const Schema& schema, const gradstep_reducer_options& options)
    : schema_(schema),
      sums_(numbers_of(schema.size())),
      is_weighted_(options.average == GRADSTEP_AVERAGE_WEIGHTED),
      has_optional_(std::any_of(schema.begin(), schema.end(), [](const Parameter& p) { return p.may_be_unused; })),
      is_needed_(is_weighted_ || has_optional_ || options.control != 0) {}

void ControlRound::begin(double weight) {
  is_exchanged_ = false;
  std::ranges::fill(sums_, 0);
  sums_[kWeight] = weight;
}

void ControlRound::exchange(Communicator& comm, const Deadline& deadline) {
  const Phase phase("control");
  comm.all_reduce(numbers(), GRADSTEP_REDUCE_SUM, 1, deadline);
  complete();
}

}  // namespace gradstep
