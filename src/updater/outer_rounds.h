// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// DiLoCo: ranks step by themselves for a round of several windows. What a round has changed, averaged over the ranks,
// is the gradient with which an outer optimizer steps the point where the round began; from there all ranks go on.
// Source: arXiv 2311.08105, algorithm 1.
//
// Streaming: the parameters are divided into fragments. Their rounds end one after another, one every windows /
// fragments windows. A change leaves `delay` windows before its round ends, and travels while the ranks step. The
// result of the outer step is mixed with the rank's own parameters. Source: arXiv 2501.18512.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/own_plan.h"
#include "backend/parameter_arrays.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"

namespace gradstep {

struct RoundShape {
  std::int32_t windows = 1;    ///< of a round
  std::int32_t fragments = 1;  ///< one or more; divides `windows`
  std::int32_t delay = 0;      ///< 0 to windows / fragments - 1
  double mix = 0;              ///< 0 to below 1: the part of a rank's own parameters in those it goes on from
};

/// Each number by itself. Throws INVALID_ARGUMENT that names the option.
void check_round_shape(const RoundShape& shape);

class OuterRounds {
 public:
  /// `outer` has the schema of the optimizer that makes the local steps. Fragments are made of the buckets that a
  /// reducer with this `fuse_threshold` has. Throws INVALID_ARGUMENT that names the option.
  OuterRounds(std::shared_ptr<Optimizer> outer, const RoundShape& shape, std::int64_t fuse_threshold);

  Optimizer& optimizer() const { return *outer_; }
  /// The points where the fragments' rounds began, a compact array for each parameter. Before the first round they are
  /// zero.
  BufferList start();

  /// Before a window's local step: where no round is under way, all begin at these parameters. Throws INVALID_STATE if
  /// they are not those of the outer optimizer.
  void begin_window(const BufferList& params);
  /// After it, whether or not it was skipped; `weight` as a reducer takes it.
  void end_window(double weight);
  /// A change leaves when the next window ends.
  bool sends_next() const { return windows_ + 1 >= turn() - shape_.delay && !is_sent_; }
  /// A change is to leave now.
  bool sends() const { return windows_ >= turn() - shape_.delay && !is_sent_; }
  /// A fragment's round has ended.
  bool is_complete() const { return windows_ >= turn(); }

  // The end of a round. Each may be repeated where it has failed.

  /// Computes the fragment's change. All that can fail on this rank alone is in here. Throws INVALID_STATE if the
  /// parameters are not those of the outer optimizer, or if that is sharded over other ranks than the reducer's.
  void prepare(const Reducer* reducer, const BufferList& params);
  /// Collective: lets the change leave. NULL = there are no other ranks.
  void send(Reducer* reducer);
  /// Collective: waits until the change is the average of all ranks. After a failure, call prepare() and send() again.
  void receive(Reducer* reducer);
  /// The outer optimizer steps by the change, and the fragment's next round begins where that has led: params are
  /// there, mixed with their own. Returns false if the step was skipped, because the change was not finite: it has led
  /// to where the round began. Collective if the optimizer is sharded. What the reducer keeps for the next window is
  /// left to commit.
  bool step(Reducer* reducer, const BufferList& params, bool skip_nonfinite);
  /// Forgets what has left: it is to be sent again.
  void forget_sent() { is_sent_ = has_arrived_ = false; }

  /// What a save keeps beside start(), and a recovery hands over.
  struct Standing {
    std::int64_t rounds = 0;      ///< that are exchanged, of all fragments
    std::int64_t windows = 0;     ///< since the last of them ended
    bool has_arrived = false;     ///< the average of the change of the fragment that is due: it is in changes()
    std::vector<double> weights;  ///< by fragment: the sum of this rank's over the windows of its round
  };
  Standing standing() const { return {rounds_, windows_, has_arrived_, weights_}; }
  void go_on_from(const Standing& standing);
  /// That of a rank all of whose windows had this weight.
  Standing standing_at(std::int64_t rounds, std::int64_t windows, double weight) const;
  /// Over the windows of the rounds that are under way; 1 = there is none.
  double mean_weight() const;
  bool is_streaming() const { return shape_.fragments > 1 || shape_.delay > 0 || shape_.mix > 0; }
  /// A round has begun.
  bool is_under_way(const Standing& at) const { return at.windows > 0 || (is_streaming() && at.rounds > 0); }
  std::int32_t fragments() const { return shape_.fragments; }
  /// By parameter, after start(); data NULL outside the fragment that is due.
  BufferList changes(const Standing& at) { return due(at.rounds).changes.list(); }

 private:
  struct Fragment {
    BucketRange buckets;
    std::vector<std::size_t> parameters;
    OwnBuffers changes;                             // of its parameters, else data NULL
    OwnPlan<CopyPlan, CopyItem> restores;           // start to params
    OwnPlan<CombinePlan, CombineItem> differences;  // changes = start - params
    OwnPlan<CombinePlan, CombineItem> mixtures;     // params = (1 - mix) start + mix params
  };

  /// Windows from the end of one fragment's round to that of the next one.
  std::int64_t turn() const { return shape_.windows / shape_.fragments; }
  std::size_t due_after(std::int64_t rounds) const { return static_cast<std::size_t>(rounds % shape_.fragments); }
  Fragment& due(std::int64_t rounds) { return fragments_[due_after(rounds)]; }
  /// Windows of the fragment's round, which all ranks have made.
  std::int64_t windows_of(std::size_t fragment, std::int64_t rounds, std::int64_t windows) const;
  void check_ranks(const Reducer* reducer) const;
  /// Parameters that were added in the middle of a round start at their present values.
  void keep(const BufferList& params);
  /// Builds the plans for these parameters, unless they are the last ones.
  void show(const BufferList& params);
  /// Deals the parameters to the fragments.
  void divide(const BufferList& changes);
  const Site& site() const { return outer_->site(); }

  std::shared_ptr<Optimizer> outer_;
  RoundShape shape_;
  std::int64_t fuse_threshold_;
  std::int64_t rounds_ = 0;
  std::int64_t windows_ = 0;
  std::vector<double> weights_;  // by fragment, summed over the windows of its round
  std::size_t kept_ = 0;         // parameters whose start is there
  bool is_sent_ = false;         // the change of the fragment that is due
  bool has_arrived_ = false;     // its average, in the changes
  std::optional<bool> outcome_;  // of the outer step, until params are where it has led: whether it was applied
  ParameterArrays start_, changes_;
  BufferList shown_;                   // by the plans
  OwnPlan<CopyPlan, CopyItem> keeps_;  // params to start
  std::vector<Fragment> fragments_;
};

}  // namespace gradstep
