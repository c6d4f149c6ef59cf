// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "updater/updater.h"

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

/// Exclusive use of the handles in the chain during a call of the updater.
class Updater::Chain {
 public:
  explicit Chain(Updater& updater) : optimizer_(updater.optimizer_->busy(), "the updater's optimizer") {
    if (updater.accumulator_) accumulator_.emplace(updater.accumulator_->busy(), "the updater's accumulator");
    if (updater.reducer_) reducer_.emplace(updater.reducer_->busy(), "the updater's reducer");
  }

 private:
  Exclusive optimizer_;
  std::optional<Exclusive> accumulator_;
  std::optional<Exclusive> reducer_;
};

}  // namespace gradstep
