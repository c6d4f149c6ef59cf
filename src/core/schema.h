// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's parameters as described once at creation, and the check of each call's buffers against them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/array.h"
#include "core/tensor.h"
#include "gradstep/tensor.h"

namespace gradstep {

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t size = 0;
  DType dtype = DType::f32;
  gradstep_device device{GRADSTEP_DEVICE_CPU, 0};
  std::int32_t group = 0;
  bool may_be_unused = false;

  /// True if the tensor shows `buffer`, a compact one of this parameter that passed its checks before.
  bool shows_again(const gradstep_tensor& tensor, const Array& buffer) const {
    if (tensor.strides != nullptr || buffer.strides != nullptr || tensor.data == nullptr ||
        static_cast<char*>(tensor.data) + tensor.byte_offset != buffer.data ||
        std::bit_cast<std::uint64_t>(tensor.device) != std::bit_cast<std::uint64_t>(device) ||
        std::bit_cast<std::uint32_t>(tensor.dtype) != std::bit_cast<std::uint32_t>(to_dlpack(buffer.dtype)) ||
        tensor.ndim != static_cast<std::int32_t>(shape.size()) || (tensor.shape == nullptr && !shape.empty())) {
      return false;
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (tensor.shape[axis] != shape[axis]) return false;
    }
    return true;
  }
};

class Schema {
 public:
  Schema() = default;
  Schema(const gradstep_parameter* parameters, std::size_t n) { append(parameters, n); }

  /// Copies and checks; on failure nothing is added.
  void append(const gradstep_parameter* parameters, std::size_t n);

  std::size_t size() const { return parameters_.size(); }
  const Parameter& operator[](std::size_t i) const { return parameters_[i]; }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::int32_t group_count() const;

  /// Throws unless n is the number of parameters and, with n > 0, the array is not NULL.
  void check_count(const char* argument, const void* array, std::size_t n) const;

  /// Checks tensors[i] as a buffer of parameter i with its own dtype; it must be present.
  Array parameter_array(const char* argument, std::size_t i, const gradstep_tensor& tensor) const;

  /// Checks tensors[i] as a gradient of parameter i: any float dtype, f64 only for f64; data NULL = absent.
  Array gradient_array(const char* argument, std::size_t i, const gradstep_tensor& tensor) const;

  /// A contiguous view of a buffer of gradstep's own that holds parameter i. Its shape points into this schema.
  gradstep_tensor view(std::size_t i, void* data, DType dtype) const;

  /// Hashes of what ranks must agree on, each with the words for a text when they do not. `arithmetic`: f16 and bf16
  /// are as good as f32.
  static constexpr std::size_t kDigestSize = 4;
  static constexpr std::array<const char*, kDigestSize> kDigestWords = {
      "the number of parameters", "the parameters' names", "the parameters' shapes", "the parameters' dtypes or flags"};
  std::array<std::uint64_t, kDigestSize> digest(bool arithmetic) const;

  /// Text of the first difference in names, shapes, dtypes or groups; empty if there is none.
  std::string difference(const Schema& other) const;

 private:
  Array shaped_array(const char* argument, std::size_t i, const gradstep_tensor& tensor) const;

  std::vector<Parameter> parameters_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// Remembers the memory of the last call, and compares all buffers with each other only when it has changed.
class OverlapCheck {
 public:
  /// Throws INVALID_ARGUMENT if a written buffer overlaps any other one. `updates` may be empty; updates[i] may be
  /// exactly grads[i].
  void check(std::span<const Array> params, std::span<const Array> grads, std::span<const Array> updates);

 private:
  /// Whether the arrays span the bytes from `last` on, which then are those that they span.
  static bool same(ByteRange*& last, std::span<const Array> arrays);
  void check_all_pairs(std::span<const Array> params, std::span<const Array> grads, std::span<const Array> updates);

  std::vector<ByteRange> last_;
};

}  // namespace gradstep
