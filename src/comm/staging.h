// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory that lives between calls, so that calls of a steady size allocate nothing.
#pragma once

#include <algorithm>
#include <memory>

#include "core/memory.h"

namespace gradstep {

class Staging {
 public:
  explicit Staging(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}

  /// At least `bytes` bytes; contents of an earlier call are gone.
  std::byte* reserve(std::int64_t bytes) {
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    if (buffer_.bytes() < wanted) {
      buffer_ = Buffer();  // the old one goes first: the two need not fit side by side
      buffer_ = Buffer(memory_, wanted);
    }
    return buffer_.as<std::byte>();
  }

 private:
  std::shared_ptr<Memory> memory_;
  Buffer buffer_;
};

}  // namespace gradstep
