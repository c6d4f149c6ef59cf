// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/control_round.h"

#include <algorithm>

namespace gradstep {

void ControlRound::begin(double weight) {
  std::ranges::fill(numbers_, 0);
  numbers_[kWeight] = weight;
}

void ControlRound::exchange(Communicator& comm, const Deadline& deadline) {
  const auto count = static_cast<std::int64_t>(numbers_.size());
  comm.all_reduce(compact_array(numbers_.data(), count, DType::f64), GRADSTEP_REDUCE_SUM, 1, deadline);
}

}  // namespace gradstep
