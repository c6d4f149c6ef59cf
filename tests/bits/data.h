// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers that every language can make: integers, mixed and read as the bits of an f32. README.md, "Data".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device.h"
#include "gradstep/tensor.h"

namespace gradstep_bits {

enum class DataKind : std::uint64_t { parameter = 1, gradient = 2, row_index = 3, row_value = 4, collective = 5 };

/// Which tensor: `call` is the number of the call that needs it, 0 for parameters.
struct DataKey {
  DataKind kind = DataKind::parameter;
  std::uint64_t call = 0;
  std::uint64_t rank = 0;
  std::uint64_t parameter = 0;
};

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x);
/// 64 random bits of a tensor, from which those of its elements come.
std::uint64_t tensor_bits(const DataKey& key);
/// The bits of the f32 that stands at `element`: its magnitude is below 2^(exponent + 1).
std::uint32_t f32_bits(std::uint64_t tensor_bits, std::uint64_t element, int exponent);

gradstep_dtype dtype_of(const std::string& name);
std::size_t bytes_of(gradstep_dtype dtype);
/// Writes one f32, rounded to nearest even where dtype is narrower.
void store(gradstep_dtype dtype, std::uint32_t f32_bits, void* to);

/// How a tensor lies in memory. README.md, "Models".
enum class Layout { compact, transposed, padded };

/// A host's tensor in a buffer of its own on a device, with a copy here. Bytes between elements hold a mark that must
/// not change.
class HostTensor {
 public:
  HostTensor(Device& device, std::vector<std::int64_t> shape, gradstep_dtype dtype, Layout layout = Layout::compact);
  HostTensor(HostTensor&&) noexcept;
  HostTensor& operator=(HostTensor&&) = delete;
  ~HostTensor();

  void fill(const DataKey& key, int exponent);
  /// Writes one f32 at an element of the row-major order.
  void set(std::size_t element, std::uint32_t f32_bits);
  /// Sets an element by its bytes.
  void set_bytes(std::size_t element, const void* bytes);

  std::size_t size() const { return size_; }
  gradstep_dtype dtype() const { return dtype_; }
  /// What was set is there from now on.
  gradstep_tensor view();
  /// Elements in row-major order, without what lies between.
  std::vector<std::uint8_t> elements() const;
  bool gaps_are_untouched() const;

 private:
  std::size_t place(std::size_t element) const;
  std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }
  /// What is on the device now.
  std::vector<std::uint8_t> read() const;

  Device* device_;
  void* there_ = nullptr;
  bool is_new_ = true;  // words_ are not there yet
  std::vector<std::int64_t> shape_;
  gradstep_dtype dtype_;
  std::vector<std::int64_t> strides_;  // in elements; empty = compact
  std::size_t size_ = 1;
  std::size_t front_ = 0;  // elements before the first one
  std::vector<std::uint64_t> words_;
};

/// Elements of a view of the library's, in row-major order.
std::vector<std::uint8_t> elements_of(Device& device, const gradstep_tensor& view);

}  // namespace gradstep_bits
