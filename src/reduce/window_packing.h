// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of a window on their way into the buckets: all in one call, or pushed one after the other.
#pragma once

#include <cstddef>
#include <vector>

#include "core/buffer_list.h"
#include "reduce/bucket_layout.h"
#include "reduce/control_round.h"

namespace gradstep {

class WindowPacking {
 public:
  /// Tells `control` which parameters have a gradient. All outlive it.
  WindowPacking(const BucketLayout& layout, const Schema& schema, ControlRound& control);

  /// A new window, whose gradients are multiplied by `multiplier`; at 0 they are not read.
  void begin(double multiplier);
  /// The gradients of a whole bucket; `grads` are those of the whole schema.
  void pack(Bucket& bucket, const BufferList& grads);
  /// That of one parameter, once in a window.
  void pack(std::size_t parameter, const Array& grad);
  bool is_packed(std::size_t parameter) const { return is_packed_[parameter]; }
  /// Zeros for parameters that are not.
  void pack_rest();
  /// How many buckets from the first on have nothing pending.
  std::size_t full_buckets();

 private:
  void note(std::size_t parameter, const Array& grad);

  const BucketLayout& layout_;
  const Schema& schema_;
  ControlRound& control_;
  std::vector<bool> is_packed_;  // by parameter
  std::size_t full_buckets_ = 0;
};

}  // namespace gradstep
