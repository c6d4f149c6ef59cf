// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace gradstep {

/// Adds the time of its scope to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(std::int64_t& nanoseconds) : nanoseconds_(nanoseconds) {}
  ~Stopwatch() { nanoseconds_ += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t& nanoseconds_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace gradstep
