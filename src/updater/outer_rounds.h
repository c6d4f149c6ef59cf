// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// DiLoCo: ranks step by themselves for a round of several windows. What a round has changed, averaged over the ranks,
// is the gradient with which an outer optimizer steps the point where the round began; from there all ranks go on.
// Source: arXiv 2311.08105, algorithm 1.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend/own_plan.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"

namespace gradstep {

class OuterRounds {
 public:
  /// `outer` has the schema of the optimizer that makes the local steps. A round has `length` windows.
  OuterRounds(std::shared_ptr<Optimizer> outer, std::int32_t length) : outer_(std::move(outer)), length_(length) {}

  Optimizer& optimizer() const { return *outer_; }
  /// The point where the round began, a compact array for each parameter. Before the first round it is zero.
  BufferList start();

  /// Before a window's local step: a round that begins does so at these parameters. Throws INVALID_STATE if they are
  /// not those of the outer optimizer.
  void begin_window(const BufferList& params);
  /// After it, whether or not it was skipped; `weight` as a reducer takes it.
  void end_window(double weight);
  /// The next window that ends is the last one of the round.
  bool ends_next() const { return windows_ + 1 >= length_; }
  /// The round is to be exchanged.
  bool is_complete() const { return windows_ >= length_; }

  /// Throws INVALID_STATE unless an outer optimizer that is sharded is so over the ranks of `reducer`.
  void check_ranks(const Reducer* reducer) const;
  /// Collective with a reducer. The change of the round becomes the average of all ranks, the outer optimizer steps by
  /// it, and the next round begins where that has led: params are there. Returns false if the step was skipped, because
  /// the change was not finite: params are where the round began. On an exception before the outer step nothing has
  /// changed, and the call may be repeated. What the reducer keeps for the next window is left to commit.
  bool exchange(Reducer* reducer, const BufferList& params, bool skip_nonfinite);

  /// Rounds that are exchanged.
  std::int64_t rounds() const { return rounds_; }
  /// Windows of the one that is under way.
  std::int64_t windows() const { return windows_; }
  /// This rank's weight in it.
  double weight() const { return windows_ > 0 ? weights_ / static_cast<double>(windows_) : 1; }
  void go_on_from(std::int64_t rounds, std::int64_t windows, double weight);

 private:
  /// Parameters that the optimizers have been given since the round began, begin it here.
  void keep(const BufferList& params);
  /// Work on the parameters that are shown.
  void show(const BufferList& params);
  const Site& site() const { return outer_->site(); }

  std::shared_ptr<Optimizer> outer_;
  std::int32_t length_;
  std::int64_t rounds_ = 0;
  std::int64_t windows_ = 0;
  double weights_ = 0;          // sum over the windows
  std::size_t kept_ = 0;        // parameters whose start is there
  std::vector<Buffer> memory_;  // of start and delta by parameter
  OwnBuffers start_, deltas_;
  BufferList shown_;                               // by the plans
  OwnPlan<CopyPlan, CopyItem> keeps_, restores_;   // params to start, start to params
  OwnPlan<CombinePlan, CombineItem> differences_;  // deltas = start - params
};

}  // namespace gradstep
