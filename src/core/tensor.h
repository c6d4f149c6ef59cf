// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks of gradstep_tensor arguments.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/array.h"
#include "gradstep/tensor.h"

namespace gradstep {

/// Product of a shape. Throws INVALID_ARGUMENT for negative dimensions, too many of them, or an overflow.
std::int64_t element_count(const char* argument, std::size_t index, std::span<const std::int64_t> shape);

/// "(3,4)"; "()" for a scalar.
std::string shape_text(std::span<const std::int64_t> shape);
/// The same for a tensor that has passed no check yet: a shape that cannot be read is described.
std::string shape_text(const gradstep_tensor& tensor);

std::string dtype_text(gradstep_dtype dtype);
std::string device_text(gradstep_device device);

/// True if the elements lie compactly in row-major order (strides of dimensions of one element do not matter).
bool is_compact(const gradstep_tensor& tensor);

/// Throws UNSUPPORTED or BACKEND_UNAVAILABLE unless tensors of this device can be used.
void check_device(const char* argument, std::size_t index, gradstep_device device);

/// Checks a tensor on its own: device, known dtype, shape, alignment. `argument` and `index` are for the text.
Array to_array(const char* argument, std::size_t index, const gradstep_tensor& tensor);

/// The same for a single tensor argument.
Array to_array(const char* argument, const gradstep_tensor* tensor);

/// As to_array, and contiguous.
Array to_contiguous_array(const char* argument, const gradstep_tensor* tensor);

/// The bytes from the lowest to the highest element.
struct ByteRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange byte_range(const Array& array);

}  // namespace gradstep
