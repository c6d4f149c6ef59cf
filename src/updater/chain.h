// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

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

/// Exclusive use of one object, which lives until it is given back: the call may replace it in the updater.
template <class Object>
class Held {
 public:
  Held(std::shared_ptr<Object> object, const char* name) : object_(std::move(object)) {
    if (object_) exclusive_.emplace(object_->busy(), name);
  }

 private:
  std::shared_ptr<Object> object_;
  std::optional<Exclusive> exclusive_;  // last: given back before the object may go
};

/// Exclusive use of the handles in the chain during a call of the updater.
class Updater::Chain {
 public:
  explicit Chain(Updater& updater)
      : optimizer_(updater.optimizer_, "the updater's optimizer"),
        accumulator_(updater.accumulator_, "the updater's accumulator"),
        reducer_(updater.reducer_, "the updater's reducer") {}

 private:
  Held<Optimizer> optimizer_;
  Held<Accumulator> accumulator_;
  Held<Reducer> reducer_;
};

}  // namespace gradstep
