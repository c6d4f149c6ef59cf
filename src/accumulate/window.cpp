// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/window.h"

#include <cmath>

#include "accumulate/option_range.h"
#include "core/error.h"

namespace gradstep {

AccumulationWindow::AccumulationWindow(const gradstep_accumulator_options& options, std::optional<Schedule> lengths)
    : mode_(options.mode), trigger_(options.trigger), steps_(options.steps), min_weight_(options.min_weight) {
  check_option_range("mode", mode_, GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_ACCUMULATE_WEIGHTED);
  check_option_range("trigger", trigger_, GRADSTEP_TRIGGER_STEPS, GRADSTEP_TRIGGER_MANUAL);
  if (trigger_ == GRADSTEP_TRIGGER_STEPS && steps_ < 1) {
    fail_argument("options.steps: is {}, expected at least 1", steps_);
  }
  if (trigger_ == GRADSTEP_TRIGGER_MIN_WEIGHT && !(min_weight_ > 0 && std::isfinite(min_weight_))) {
    fail_argument("options.min_weight: is {}, expected a finite number above 0", min_weight_);
  }
  if (mode_ == GRADSTEP_ACCUMULATE_MEAN_EACH && !ends_by_count()) {
    fail_argument("options.mode: is mean_each, whose K is not known with trigger {}", trigger_);
  }
  if (trigger_ == GRADSTEP_TRIGGER_SCHEDULE) {
    if (!lengths) fail_argument("options.schedule: is NULL, and trigger is schedule");
    lengths_ = std::move(lengths);
  }
}

bool AccumulationWindow::ends_by_count() const {
  return trigger_ == GRADSTEP_TRIGGER_STEPS || trigger_ == GRADSTEP_TRIGGER_SCHEDULE;
}

bool AccumulationWindow::keeps_plain_sums() const {
  return mode_ != GRADSTEP_ACCUMULATE_MEAN_EACH && mode_ != GRADSTEP_ACCUMULATE_RUNNING_MEAN;
}

std::int64_t AccumulationWindow::next_length() const {
  if (!opens()) return counters_.length;
  if (trigger_ == GRADSTEP_TRIGGER_STEPS) return steps_;
  if (!lengths_) return 0;
  const double value = std::nearbyint(lengths_->value(counters_.windows));
  if (!(value >= 1 && value <= 1e15)) {
    fail(GRADSTEP_ERR_NUMERIC, "the schedule of window lengths gives {} for window {}, expected at least 1", value,
         counters_.windows);
  }
  return static_cast<std::int64_t>(value);
}

void AccumulationWindow::open(std::int64_t length) {
  reset();
  counters_.length = length;
}

bool AccumulationWindow::take(double weight) {
  ++counters_.count;
  ++counters_.pushes;
  counters_.total_weight += weight;
  if (ends_by_count()) return (counts_pushes_ ? counters_.pushes : counters_.count) >= counters_.length;
  return trigger_ == GRADSTEP_TRIGGER_MIN_WEIGHT && counters_.total_weight >= min_weight_;
}

bool AccumulationWindow::skip() {
  ++counters_.skipped;
  return counts_pushes_ && ++counters_.pushes == counters_.length;
}

void AccumulationWindow::close() {
  counters_.ready = true;
  ++counters_.windows;
}

void AccumulationWindow::reset() {
  WindowCounters empty;
  empty.windows = counters_.windows;
  empty.skipped = counters_.skipped;
  counters_ = empty;
}

Addend AccumulationWindow::addend(double weight) const {
  switch (mode_) {
    case GRADSTEP_ACCUMULATE_MEAN_EACH:
      return {AccumulateFormula::divided, static_cast<double>(counters_.length)};
    case GRADSTEP_ACCUMULATE_RUNNING_MEAN:
      return {AccumulateFormula::running, static_cast<double>(counters_.count)};
    case GRADSTEP_ACCUMULATE_WEIGHTED:
      return {AccumulateFormula::weighted, weight};
    default:
      return {};
  }
}

Ending AccumulationWindow::ending() const {
  const std::int64_t count = counters_.count;
  switch (mode_) {
    case GRADSTEP_ACCUMULATE_MEAN_EACH:
      if (count == counters_.length || count == 0) return {};
      return {Finish::multiply, static_cast<double>(counters_.length) / static_cast<double>(count)};
    case GRADSTEP_ACCUMULATE_MEAN:
    case GRADSTEP_ACCUMULATE_WEIGHTED:
      if (weight() == 0 || weight() == 1) return {};
      return {Finish::divide, weight()};
    default:
      return {};
  }
}

}  // namespace gradstep
