// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where saved bytes go and come from.
#pragma once

#include <cstddef>

namespace gradstep {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  /// Takes all of it or throws.
  virtual void write(const void* data, std::size_t size) = 0;
  /// Everything was written: what was saved becomes visible. Without it nothing is.
  virtual void commit() {}
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads up to `size` bytes; 0 = the end.
  virtual std::size_t read(void* data, std::size_t size) = 0;
};

}  // namespace gradstep
