// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One sum per parameter over the micro-batches of a window (docs/numerics.md, "Accumulation").
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "accumulate/rows.h"
#include "accumulate/sums.h"
#include "accumulate/window.h"
#include "backend/context.h"
#include "core/buffer_list.h"
#include "core/busy_flag.h"
#include "core/schema.h"
#include "core/state_part.h"
#include "gradstep/accumulator.h"

namespace gradstep {

gradstep_accumulator_options default_accumulator_options();

class Accumulator {
 public:
  /// `steps` is options.schedule, already taken over; needed for trigger SCHEDULE and dropped for others.
  Accumulator(std::shared_ptr<Context> context, const gradstep_accumulator_options& options,
              std::optional<Schedule> steps, Schema schema);
  Accumulator(const Accumulator&) = delete;
  Accumulator& operator=(const Accumulator&) = delete;

  /// One micro-batch; true if it ended the window. `grads` were checked against the schema, or are none at all. On an
  /// exception nothing was added, unless the loop itself failed: then some sums have it and others not, and nothing is
  /// taken until reset.
  bool add(const BufferList& grads, std::span<const AddedRows> rows, double weight);
  /// Ends a partial window; true if there is a result.
  bool flush();
  void reset();

  bool ready() const { return window_.counters().ready; }
  /// By parameter; data NULL where there is none. Throws INVALID_STATE while open.
  BufferList results();
  BufferList sums();
  /// What the sums are divided by.
  double weight() const { return window_.weight(); }
  /// The norm over all results, in the backend's memory; its address is stable. Throws INVALID_STATE while open.
  const double* norm() const;
  std::int64_t count() const { return window_.counters().count; }
  std::int64_t skipped() const { return window_.counters().skipped; }
  /// Micro-batches added to this window, and after count_pushes() those skipped; -1 if a call on it failed half-way.
  std::int64_t pushes() const { return torn_ ? -1 : window_.counters().pushes; }

  /// Ranks that share a window end it after the same number of pushes: skipped micro-batches count for the trigger.
  void count_pushes() { window_.count_pushes(); }
  bool ends_by_count() const { return window_.ends_by_count(); }
  /// Equal for windows that end and add up alike.
  std::uint64_t digest() const;
  std::int32_t nonfinite_policy() const { return options_.nonfinite; }

  /// The window as it stands, as a part of a file; it shows the sums themselves.
  SavedPart save() const;
  /// Checks everything; what it returns takes the window over, and fails only where the device does.
  std::function<void()> load(LoadedPart& part);

  const Schema& schema() const { return schema_; }
  DType sum_dtype(std::size_t i) const { return sums_.dtype(i); }
  BusyFlag& busy() { return busy_; }
  Site& site() { return site_; }

 private:
  void check_whole() const;
  void end_window();

  std::shared_ptr<Context> context_;
  Site site_;
  gradstep_accumulator_options options_;
  Schema schema_;
  AccumulationWindow window_;
  WindowSums sums_;
  BusyFlag busy_;
  bool torn_ = false;  // a call was broken off: some sums have its micro-batch, others not
};

}  // namespace gradstep
