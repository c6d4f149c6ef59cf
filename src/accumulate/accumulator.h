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
#include <vector>

#include "backend/context.h"
#include "backend/schedule.h"
#include "core/buffer_list.h"
#include "core/busy_flag.h"
#include "core/hash.h"
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

  /// Rows of one parameter: sum[indices[j]] += values[j].
  struct Rows {
    std::size_t parameter = 0;
    Array indices;
    Array values;
    std::int64_t row_size = 1;
  };

  /// One micro-batch; true if it ended the window. `grads` were checked against the schema, or are none at all. On an
  /// exception nothing was added, unless the loop itself failed: then some sums have it and others not, and nothing is
  /// taken until reset.
  bool add(const BufferList& grads, std::span<const Rows> rows, double weight);
  /// Ends a partial window; true if there is a result.
  bool flush();
  void reset();

  bool ready() const { return ready_; }
  /// By parameter; data NULL where there is none. Throws INVALID_STATE while open.
  BufferList results();
  BufferList sums();
  /// What the sums are divided by.
  double weight() const;
  /// The norm over all results, in the backend's memory; its address is stable. Throws INVALID_STATE while open.
  const double* norm() const;
  std::int64_t count() const { return count_; }
  std::int64_t skipped() const { return skipped_; }
  /// Micro-batches added to this window, and after count_pushes() those skipped; -1 if a call on it failed half-way.
  std::int64_t pushes() const { return torn_ ? -1 : pushes_; }

  /// Ranks that share a window end it after the same number of pushes: skipped micro-batches count for the trigger.
  void count_pushes();
  bool ends_by_count() const {
    return options_.trigger == GRADSTEP_TRIGGER_STEPS || options_.trigger == GRADSTEP_TRIGGER_SCHEDULE;
  }
  /// Equal for windows that end and add up alike.
  std::uint64_t digest() const {
    const std::int64_t words[] = {options_.mode, options_.trigger, options_.nonfinite, options_.steps};
    const std::uint64_t digest = hash_bytes(words, sizeof words);
    return steps_schedule_ ? steps_schedule_->digest(digest) : digest;
  }
  std::int32_t nonfinite_policy() const { return options_.nonfinite; }

  /// The window as it stands, as a part of a file; it shows the sums themselves.
  SavedPart save() const;
  /// Checks everything; what it returns takes the window over, and fails only where the device does.
  std::function<void()> load(LoadedPart& part);

  const Schema& schema() const { return schema_; }
  DType sum_dtype(std::size_t i) const { return sums_[i].dtype; }
  BusyFlag& busy() { return busy_; }
  Site& site() { return site_; }

 private:
  void check(std::span<const Array> grads) const;
  void check_indices(std::size_t position, const Rows& rows) const;
  void check_host_indices(std::size_t position, const Rows& rows) const;
  bool is_finite(const BufferList& grads, std::span<const Rows> rows);
  std::int64_t window_length();
  AccumulateFormula formula() const;
  void check_whole() const;
  void take_in(const BufferList& grads, std::span<const Rows> rows, double weight);
  void touch(std::size_t i);
  void add_dense(bool last, double factor, const BufferList& grads);
  void add_rows(double factor, bool divides, std::span<const Rows> rows);
  void finish(Finish finish, double value);
  void measure_results();
  Finish finish_of_window(double& value) const;
  void end_window();
  BufferList show();

  std::shared_ptr<Context> context_;
  Site site_;
  gradstep_accumulator_options options_;
  std::optional<Schedule> steps_schedule_;
  Schema schema_;
  WorkList work_;
  std::vector<Buffer> buffers_;
  std::vector<Array> sums_;
  OwnBuffers shown_;
  std::vector<AccumulateAction> actions_;
  std::vector<std::uint8_t> touched_;  // the parameter has a sum in this window
  AccumulateJob job_;
  NormPlan incoming_;  // of the gradients of one micro-batch
  Buffer norms_;       // of the results, and of what comes in
  BusyFlag busy_;

  bool counts_pushes_ = false;
  bool ready_ = false;
  bool undivided_ = false;    // ready, with sums kept
  bool torn_ = false;         // a call was broken off: some sums have its micro-batch, others not
  bool measured_ = false;     // the norm is that of the finished sums
  std::int64_t length_ = 0;   // K of this window, 0 while it is empty
  std::int64_t pushes_ = 0;   // of this window
  std::int64_t count_ = 0;    // really added in this window
  double total_weight_ = 0;   // of this window
  std::int64_t windows_ = 0;  // finished since creation
  std::int64_t skipped_ = 0;  // since creation
};

}  // namespace gradstep
