// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// DiLoCo: ranks step by themselves for a round of several windows. What a round has changed, averaged over the ranks,
// is the gradient with which an outer optimizer steps the point where the round began; from there all ranks go on.
// Source: arXiv 2311.08105, algorithm 1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

  // The end of a round. Each may be repeated where it has failed.

  /// Computes the change of the round. All that can fail on this rank alone is in here. Throws INVALID_STATE if the
  /// parameters are not those of the outer optimizer, or if that is sharded over other ranks than the reducer's.
  void prepare(const Reducer* reducer, const BufferList& params);
  /// Collective: the change becomes the average of all ranks. NULL = there are no other ranks.
  void exchange(Reducer* reducer);
  /// The outer optimizer steps by the change, and the next round begins where that has led: params are there. Returns
  /// false if the step was skipped, because the change was not finite: params are where the round began. Collective if
  /// the optimizer is sharded. What the reducer keeps for the next window is left to commit.
  bool step(Reducer* reducer, const BufferList& params, bool skip_nonfinite);

  /// Rounds that are exchanged.
  std::int64_t rounds() const { return rounds_; }
  /// Windows of the one that is under way.
  std::int64_t windows() const { return windows_; }
  /// Sum of this rank's weights over them. The rank counts by their mean.
  double weights() const { return weights_; }
  void go_on_from(std::int64_t rounds, std::int64_t windows, double weights);

 private:
  void check_ranks(const Reducer* reducer) const;
  /// Parameters that were added in the middle of a round start at their present values.
  void keep(const BufferList& params);
  /// Builds the plans for these parameters, unless they are the last ones.
  void show(const BufferList& params);
  const Site& site() const { return outer_->site(); }

  std::shared_ptr<Optimizer> outer_;
  std::int32_t length_;
  std::int64_t rounds_ = 0;
  std::int64_t windows_ = 0;
  double weights_ = 0;           // sum over the windows
  std::size_t kept_ = 0;         // parameters whose start is there
  std::optional<bool> outcome_;  // of the outer step, until params are where it has led: whether it was applied
  std::vector<Buffer> memory_;   // of start and delta by parameter
  OwnBuffers start_, deltas_;
  BufferList shown_;                               // by the plans
  OwnPlan<CopyPlan, CopyItem> keeps_, restores_;   // params to start, start to params
  OwnPlan<CombinePlan, CombineItem> differences_;  // deltas = start - params
};

}  // namespace gradstep
