// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A window in a file: one tensor "<parameter>/sum" for each parameter that has a gradient in it, and the counters. A
// window that is saved between two adds and loaded elsewhere ends with the bits of one that was never interrupted.
#include <algorithm>

#include "accumulate/accumulator.h"
#include "backend/host_copies.h"
#include "core/error.h"

namespace gradstep {

namespace {

/// Options without which the sums mean something else.
void check_option(const LoadedPart& part, const char* name, std::int64_t own) {
  const std::int64_t saved = part.integer(name);
  if (saved != own) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved window has {} {}, the accumulator has {}", name, saved, own);
  }
}

/// What a file says of a window, and what holds between its counters however they came about. A file whose checksum is
/// right may still have been edited by hand.
struct SavedWindow {
  WindowCounters counters;
  bool undivided;
  double norm;

  explicit SavedWindow(const LoadedPart& part) : undivided(flag(part, "undivided")), norm(part.number("norm")) {
    counters.ready = flag(part, "ready");
    counters.length = part.integer("length");
    counters.pushes = part.integer("pushes");
    counters.count = part.integer("count");
    counters.total_weight = part.number("total_weight");
    counters.windows = part.integer("windows");
    counters.skipped = part.integer("skipped");
  }

  void check(bool ends_by_count, bool keeps_sums, bool has_sums) const {
    const auto& [ready, length, pushes, count, total_weight, windows, skipped] = counters;
    require(count <= pushes, "more micro-batches are added than were pushed");
    require(pushes - count <= skipped, "more micro-batches are left out than were skipped");
    require(!has_sums || count > 0, "sums of no micro-batch");
    require(total_weight >= 0 && (count > 0 || total_weight == 0), "a weight that no micro-batches have");
    require(!(norm < 0), "a norm below 0");
    require(!undivided || (ready && keeps_sums), "undivided sums where none are kept");
    require(!ready || (pushes > 0 && windows > 0), "a result of no micro-batch");
    if (ends_by_count) {
      require(pushes <= length || pushes == 0, "more micro-batches than its length");
      require(ready || pushes < length || pushes == 0, "all its micro-batches and no result");
    } else {
      require(length == 0, "a length, which the trigger does not set");
    }
  }

 private:
  static bool flag(const LoadedPart& part, const char* name) {
    const std::int64_t value = part.integer(name);
    if (value > 1) fail(GRADSTEP_ERR_CORRUPT, "the saved window's '{}' is {}, expected 0 or 1", name, value);
    return value == 1;
  }
  void require(bool holds, const char* otherwise) const {
    if (holds) return;
    fail(GRADSTEP_ERR_CORRUPT,
         "the saved window has {} (ready {}, undivided {}, length {}, pushes {}, count {}, total_weight {}, norm {}, "
         "windows {}, skipped {})",
         otherwise, counters.ready, undivided, counters.length, counters.pushes, counters.count, counters.total_weight,
         norm, counters.windows, counters.skipped);
  }
};

}  // namespace

SavedPart Accumulator::save() const {
  check_whole();
  const WindowCounters& counters = window_.counters();
  SavedPart part;
  save_parameters(part, schema_);
  part.set("mode", std::int64_t{options_.mode});
  part.set("trigger", std::int64_t{options_.trigger});
  part.set("keep_sums", std::int64_t{options_.keep_sums});
  part.set("ready", std::int64_t{counters.ready ? 1 : 0});
  part.set("undivided", std::int64_t{sums_.undivided() ? 1 : 0});
  part.set("length", counters.length);
  part.set("pushes", counters.pushes);
  part.set("count", counters.count);
  part.set("total_weight", counters.total_weight);
  part.set("norm", counters.ready ? read(site_.queue(), norm()) : 0.0);
  part.set("windows", counters.windows);
  part.set("skipped", counters.skipped);
  sums_.save(part);
  return part;
}

std::function<void()> Accumulator::load(LoadedPart& part) {
  check_parameters(part, schema_);
  check_option(part, "mode", options_.mode);
  check_option(part, "trigger", options_.trigger);
  check_option(part, "keep_sums", options_.keep_sums);
  const SavedWindow saved(part);
  WindowSums::Found found = sums_.find(part);
  part.check_all_taken();
  const bool has_sums = std::ranges::any_of(found, [](const auto& sum) { return sum.has_value(); });
  saved.check(ends_by_count(), options_.keep_sums != 0, has_sums);
  return [saved, found = std::move(found), this] {
    sums_.take_over(found, saved.undivided, saved.norm);
    window_.take_over(saved.counters);
    torn_ = false;
  };
}

}  // namespace gradstep
