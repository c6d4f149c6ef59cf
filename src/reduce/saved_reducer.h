// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a reducer keeps from window to window, in a file ("<parameter>/residual" and its like) or in another reducer.
#pragma once

#include <functional>
#include <span>

#include "core/state_part.h"
#include "reduce/bucket.h"
#include "reduce/window_outcome.h"

namespace gradstep {

/// Shows a reducer, whose parts outlive it and what it returns.
class SavedReducer {
 public:
  /// What is loaded makes the reducer forget `outcome`.
  SavedReducer(ExchangeResources& resources, const Schema& schema, BucketLayout& layout, WindowOutcome& outcome)
      : resources_(resources), schema_(schema), layout_(layout), outcome_(outcome) {}

  /// What the next window depends on.
  SavedPart save() const;
  /// Checks everything; what they return takes it over, and fails only where the device does.
  std::function<void()> load(LoadedPart& part) const;
  /// The tensors alone: of none or several ranks, whose sum becomes what this rank keeps, and of any one rank, for what
  /// is the same on all.
  std::function<void()> load_kept(std::span<LoadedPart> ranks, LoadedPart& any) const;
  /// All but the tensors.
  std::function<void()> load_numbers(const LoadedPart& part) const;
  /// Keeps what `old`, of the same schema and options but perhaps of other ranks, has kept. rejoin() belongs after it.
  /// `finished`: the peers have finished the window of these buckets whose exchange failed in `old`; then what it
  /// leaves behind is kept.
  void take_over(const SavedReducer& old, bool finished, BucketRange exchanged) const;
  /// Collective. What is to be the same on all ranks becomes so, as far as it can that of rank `root`, whatever each of
  /// them has taken over.
  void rejoin(std::int32_t root, const Deadline& deadline) const;

 private:
  bool has_sent_all(BucketRange exchanged) const;
  void replace(Buckets fresh, bool has_chosen) const;
  const Buckets& buckets() const { return layout_.buckets(); }
  const gradstep_reducer_options& options() const { return resources_.options; }
  Queue& queue() const { return resources_.site.queue(); }

  ExchangeResources& resources_;
  const Schema& schema_;
  BucketLayout& layout_;
  WindowOutcome& outcome_;
};

}  // namespace gradstep
