// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shapes, dtypes and devices: their checks, and how texts name them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/array.h"
#include "gradstep/tensor.h"

namespace gradstep {

/// Product of a shape. Throws INVALID_ARGUMENT for negative dimensions, too many of them, or an overflow.
std::int64_t element_count(const char* argument, std::size_t index, std::span<const std::int64_t> shape);

/// "(3,4)"; "()" for a scalar.
std::string shape_text(std::span<const std::int64_t> shape);

std::string dtype_text(gradstep_dtype dtype);
std::string device_text(gradstep_device device);

/// The device that works on it: pinned host memory is the CPU's.
constexpr gradstep_device home_of(gradstep_device device) {
  return device.device_type == GRADSTEP_DEVICE_CUDA_HOST ? gradstep_device{GRADSTEP_DEVICE_CPU, 0} : device;
}

/// Throws unless it is memory of the host: INVALID_ARGUMENT for a CPU other than 0, UNSUPPORTED for a device.
void check_device(const char* argument, std::size_t index, gradstep_device device);
constexpr bool same_device(gradstep_device a, gradstep_device b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// The bytes from the lowest to the highest element.
struct ByteRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange byte_range(const Array& array);

/// Whether two elements of an array share memory.
bool overlaps_itself(const Array& array);

}  // namespace gradstep
