// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/shape.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace gradstep {

std::int64_t element_count(const char* argument, std::size_t index, std::span<const std::int64_t> shape) {
  if (shape.size() > static_cast<std::size_t>(kMaxDimensions)) {
    fail_argument("{}[{}]: has {} dimensions, expected at most {}", argument, index, shape.size(), kMaxDimensions);
  }
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) {
      fail_argument("{}[{}]: shape {} has a negative dimension", argument, index, shape_text(shape));
    }
    empty = empty || dimension == 0;
    if (!empty && __builtin_mul_overflow(count, dimension, &count)) {
      fail_argument("{}[{}]: shape {} has more elements than an int64 can count", argument, index, shape_text(shape));
    }
  }
  // 8 bytes is the widest element: byte counts of what passes here fit an int64 too.
  if (!empty && count > INT64_MAX / 8) {
    fail_argument("{}[{}]: shape {} has more bytes than an int64 can count", argument, index, shape_text(shape));
  }
  return empty ? 0 : count;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({})", join(shape, ",", [](std::int64_t dimension) { return std::to_string(dimension); }));
}

std::string dtype_text(gradstep_dtype dtype) {
  if (const auto known = from_dlpack(dtype)) return name_of(*known);
  return fmt::format("dtype {{code {}, bits {}, lanes {}}}", dtype.code, dtype.bits, dtype.lanes);
}

std::string device_text(gradstep_device device) {
  if (device.device_type == GRADSTEP_DEVICE_CPU && device.device_id == 0) return "cpu";
  if (device.device_type == GRADSTEP_DEVICE_CUDA) return fmt::format("cuda:{}", device.device_id);
  return fmt::format("device {{type {}, id {}}}", device.device_type, device.device_id);
}

void check_device(const char* argument, std::size_t index, gradstep_device device) {
  device = home_of(device);
  if (device.device_type == GRADSTEP_DEVICE_CPU) {
    if (device.device_id != 0)
      fail_argument("{}[{}]: cpu device_id is {}, expected 0", argument, index, device.device_id);
    return;
  }
  fail(GRADSTEP_ERR_UNSUPPORTED, "{}[{}]: is on {}, expected the host's memory", argument, index, device_text(device));
}

ByteRange byte_range(const Array& array) {
  if (array.data == nullptr || array.size == 0) return {};
  const auto element = static_cast<std::int64_t>(size_of(array.dtype));
  const auto base = reinterpret_cast<std::uintptr_t>(array.data);
  if (array.contiguous()) return {base, base + static_cast<std::uintptr_t>(array.bytes())};
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::int32_t axis = 0; axis < array.ndim; ++axis) {
    const std::int64_t reach = array.strides[axis] * (array.shape[axis] - 1) * element;
    (reach < 0 ? low : high) += reach;
  }
  return {base + static_cast<std::uintptr_t>(low), base + static_cast<std::uintptr_t>(high + element)};
}

bool overlaps_itself(const Array& array) {
  if (array.contiguous() || array.size < 2) return false;
  struct Axis {
    std::int64_t stride;
    std::int64_t size;
  };
  std::vector<Axis> axes;
  for (std::int32_t axis = 0; axis < array.ndim; ++axis) {
    if (array.shape[axis] > 1) axes.push_back({std::abs(array.strides[axis]), array.shape[axis]});
  }
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  std::int64_t reach = 0;  // of all axes so far
  bool nested = true;
  for (const Axis& axis : axes) {
    nested = nested && axis.stride > reach;
    reach += axis.stride * (axis.size - 1);
  }
  if (nested) return false;
  if (axes.front().stride == 0 || array.size > reach + 1) return true;
  // Strides that interlock: the places of all elements are compared.
  std::vector<std::int64_t> places = {0};
  places.reserve(static_cast<std::size_t>(array.size));
  for (const Axis& axis : axes) {
    const std::size_t inner = places.size();
    for (std::int64_t i = 1; i < axis.size; ++i) {
      for (std::size_t k = 0; k < inner; ++k) places.push_back(places[k] + i * axis.stride);
    }
  }
  std::ranges::sort(places);
  return std::ranges::adjacent_find(places) != places.end();
}

}  // namespace gradstep
