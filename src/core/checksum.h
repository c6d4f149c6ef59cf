// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// XXH3, 64 bits with seed 0, over bytes that come in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gradstep {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(const void* data, std::size_t size);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gradstep
