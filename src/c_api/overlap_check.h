// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "core/shape.h"

namespace gradstep {

/// Remembers the memory of the last call, and compares all buffers with each other only when it has changed.
class OverlapCheck {
 public:
  /// Throws INVALID_ARGUMENT if a written buffer overlaps any other one. `updates` may be empty; updates[i] may be
  /// exactly grads[i].
  void check(std::span<const Array> params, std::span<const Array> grads, std::span<const Array> updates);

  std::size_t bytes() const { return last_.capacity() * sizeof(ByteRange); }

 private:
  /// Whether the arrays span the bytes from `last` on, which then are those that they span.
  static bool same(ByteRange*& last, std::span<const Array> arrays);
  void check_all_pairs(std::span<const Array> params, std::span<const Array> grads, std::span<const Array> updates);

  std::vector<ByteRange> last_;
};

}  // namespace gradstep
