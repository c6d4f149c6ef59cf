// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a window counts, when it ends, and what its micro-batches and its sums are multiplied and divided by. It knows
// no gradients.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/accumulation.h"
#include "backend/schedule.h"
#include "gradstep/accumulator.h"

namespace gradstep {

/// What is done to the sums of a window to make its results.
struct Ending {
  Finish finish = Finish::nothing;
  double value = 1;
};

/// How one micro-batch is added.
struct Addend {
  AccumulateFormula formula = AccumulateFormula::plain;
  double factor = 1;
};

struct WindowCounters {
  bool ready = false;
  std::int64_t length = 0;   // K of this window, 0 while it is empty or has none
  std::int64_t pushes = 0;   // of this window
  std::int64_t count = 0;    // really added in this window
  double total_weight = 0;   // of this window
  std::int64_t windows = 0;  // finished since creation
  std::int64_t skipped = 0;  // since creation
};

class AccumulationWindow {
 public:
  /// Checks mode, trigger and what belongs to them. `lengths` is options.schedule, already taken over; needed for
  /// trigger SCHEDULE and dropped for others.
  AccumulationWindow(const gradstep_accumulator_options& options, std::optional<Schedule> lengths);

  const WindowCounters& counters() const { return counters_; }
  void take_over(const WindowCounters& counters) { counters_ = counters; }

  bool ends_by_count() const;
  bool weighs() const { return mode_ == GRADSTEP_ACCUMULATE_WEIGHTED; }
  /// Its sums are undivided until the end.
  bool keeps_plain_sums() const;
  /// Ranks that share a window end it after the same number of pushes: skipped micro-batches count for the trigger.
  void count_pushes() { counts_pushes_ = true; }
  /// The next micro-batch is the first of a window.
  bool opens() const { return counters_.ready || counters_.pushes == 0; }
  /// There is something to make a result of.
  bool has_result() const { return counters_.count > 0 || (counts_pushes_ && counters_.pushes > 0); }
  /// K of the window that the next micro-batch belongs to; 0 where the trigger has none. Changes nothing.
  std::int64_t next_length() const;

  void open(std::int64_t length);
  /// Counts a micro-batch that is added; true if it is the last.
  bool take(double weight);
  /// Counts one that is not; true if it is the last.
  bool skip();
  void close();
  /// Empty again; what is counted since creation stays.
  void reset();

  /// How the micro-batch that was taken last is added.
  Addend addend(double weight) const;
  Ending ending() const;
  /// What the sums are divided by.
  double weight() const { return weighs() ? counters_.total_weight : static_cast<double>(counters_.count); }
  /// Goes on with `state`, see hash_bytes: equal for equal lengths by schedule.
  std::uint64_t digest(std::uint64_t state) const { return lengths_ ? lengths_->digest(state) : state; }

 private:
  std::int32_t mode_;
  std::int32_t trigger_;
  std::int64_t steps_;
  double min_weight_;
  std::optional<Schedule> lengths_;
  bool counts_pushes_ = false;
  WindowCounters counters_;
};

}  // namespace gradstep
