// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One deadline per public call, fixed at entry and handed down.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace gradstep {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after_ms(std::int64_t milliseconds) {
    return Deadline(Clock::now() + std::chrono::milliseconds(milliseconds));
  }

  Clock::time_point time() const { return time_; }
  bool passed() const { return Clock::now() >= time_; }

  /// What is left, rounded up and never negative.
  std::int64_t remaining_ms() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(time_ - Clock::now()).count();
    return std::max<std::int64_t>(0, left);
  }

 private:
  explicit Deadline(Clock::time_point time) : time_(time) {}

  Clock::time_point time_;
};

/// How long a wait may go without polling the context's interrupt.
inline constexpr std::chrono::milliseconds kInterruptPoll{100};

}  // namespace gradstep
