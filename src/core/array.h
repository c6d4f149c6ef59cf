// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A checked view of a host's or of gradstep's own buffer: what floors above core pass around instead of
// a host's tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace gradstep {

struct Array {
  void* data = nullptr;  ///< the first element; NULL = absent
  std::int64_t size = 0;
  DType dtype = DType::f32;
  // Only for views that are not compact row-major; borrowed from the host's tensor for the length of a call.
  std::int32_t ndim = 0;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;

  bool present() const { return data != nullptr || size == 0; }
  bool contiguous() const { return strides == nullptr; }
  std::int64_t bytes() const { return size * size_of(dtype); }
};

/// Stands for an array that is absent, where one is pointed to.
inline constexpr Array kNoArray{};

/// `size` elements, one after the other.
inline Array compact_array(void* data, std::int64_t size, DType dtype) {
  Array array;
  array.data = data;
  array.size = size;
  array.dtype = dtype;
  return array;
}

/// Elements [begin, begin + size) of a contiguous array; absent if that is.
inline Array part_of(const Array& whole, std::int64_t begin, std::int64_t size) {
  auto* first = static_cast<std::byte*>(whole.data);
  return compact_array(first != nullptr ? first + begin * size_of(whole.dtype) : nullptr, size, whole.dtype);
}

}  // namespace gradstep
