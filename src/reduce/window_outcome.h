// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a host gets of a window that all ranks have exchanged.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/own_plan.h"
#include "core/buffer_list.h"
#include "reduce/bucket_layout.h"
#include "reduce/control_round.h"

namespace gradstep {

class WindowOutcome {
 public:
  /// All outlive it.
  WindowOutcome(const ExchangeResources& resources, const BucketLayout& layout, const ControlRound& control);

  /// There is none until complete().
  void forget() { is_complete_ = is_measured_ = false; }
  void complete() { is_complete_ = true; }
  /// The layout has other buckets now, or what they bring is another part of the model.
  void forget_buckets();

  /// Returns `arrays` without those of parameters outside these buckets, which stay as they are. Valid until the next
  /// call.
  BufferList targets_in(BucketRange range, const BufferList& arrays);
  /// Copies it to `targets`, but to those that are absent or have no gradient on any rank.
  void write(const BufferList& targets);

  // Throw INVALID_STATE unless complete.
  /// In the buckets, dealt out: this rank's slices; data NULL where no rank had a gradient.
  BufferList gradients();
  /// The norm of gradients(), at the site.
  const double* norm();

 private:
  void check_complete() const;

  const ExchangeResources& resources_;
  const BucketLayout& layout_;
  const ControlRound& control_;
  bool is_complete_ = false;
  bool is_measured_ = false;
  std::vector<Array> targets_;  // of some buckets alone
  OwnBuffers shown_;
  OwnPlan<CopyPlan, CopyItem> results_;
  std::uint64_t results_version_ = 0;  // of the targets that results_ writes
  WorkList work_;                      // by parameter
  NormPlan norm_plan_;
  Buffer norm_;
};

}  // namespace gradstep
