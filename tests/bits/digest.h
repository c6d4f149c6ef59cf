// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank computed, as one number. README.md, "Hashes".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gradstep/tensor.h"

namespace gradstep_bits {

std::uint64_t hash_of(const void* data, std::size_t size);
std::string hex(std::uint64_t hash);

class Digest {
 public:
  /// With `trace` every item is also written down with a hash of its own.
  explicit Digest(bool trace);
  ~Digest();
  Digest(Digest&&) noexcept;

  void begin_call(std::size_t call, const std::string& name);
  /// Bytes are those of elements; NaNs become one NaN.
  void add(const std::string& label, gradstep_dtype dtype, std::vector<std::uint8_t> bytes);
  void add(const std::string& label, std::int64_t number);
  void add(const std::string& label, double number);

  std::uint64_t value() const;
  const std::vector<std::string>& trace() const { return lines_; }

 private:
  struct State;
  void feed(const std::string& label, const void* data, std::size_t size);

  std::unique_ptr<State> state_;
  bool traces_;
  std::vector<std::string> lines_;
};

}  // namespace gradstep_bits
