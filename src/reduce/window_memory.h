// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a window leaves for the next one: residuals, velocities, estimates, factors. A window whose result is not finite
// leaves nothing, for the host skips it. All ranks decide alike, because the result has the same bits on all of them.
#pragma once

#include <cstddef>
#include <span>

#include "core/buffer_list.h"
#include "reduce/bucket_layout.h"
#include "reduce/control_round.h"

namespace gradstep {

class WindowMemory {
 public:
  /// All outlive it.
  WindowMemory(ExchangeResources& resources, const BucketLayout& layout, const ControlRound& control);

  /// Finds out whether the outcome of these buckets is finite, there and in what was written of it to `targets`; empty
  /// = nothing was.
  void measure(std::span<const std::unique_ptr<Bucket>> exchanged, const BufferList& targets);
  /// Keeps what these buckets leave behind, once, if what was measured is finite.
  void commit(std::span<const std::unique_ptr<Bucket>> exchanged);
  /// The gradients of the next windows are multiplied by it; what is kept becomes so, too.
  void set_loss_scale(double scale);
  /// One parameter's. Throws INVALID_STATE where none is kept.
  Array residual(std::size_t parameter) const;

 private:
  bool is_finite(Bucket& bucket, const BufferList& targets) const;
  Backend& backend() const { return resources_.backend(); }
  Queue& queue() const { return resources_.site.queue(); }

  ExchangeResources& resources_;
  const BucketLayout& layout_;
  const ControlRound& control_;
  bool keeps_ = false;  // what the window leaves behind
};

}  // namespace gradstep
