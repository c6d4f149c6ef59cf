// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor.h"

#include <algorithm>

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

std::string shape_text(const gradstep_tensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMaxDimensions) return fmt::format("of {} dimensions", tensor.ndim);
  if (tensor.ndim > 0 && tensor.shape == nullptr) return "NULL";
  return shape_text(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
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

bool is_compact(const gradstep_tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] == 0) return true;
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

void check_device(const char* argument, std::size_t index, gradstep_device device) {
  if (device.device_type == GRADSTEP_DEVICE_CPU) {
    if (device.device_id != 0)
      fail_argument("{}[{}]: cpu device_id is {}, expected 0", argument, index, device.device_id);
    return;
  }
  if (device.device_type == GRADSTEP_DEVICE_CUDA) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "{}[{}]: is on {}, and this version of gradstep has no CUDA backend",
         argument, index, device_text(device));
  }
  fail(GRADSTEP_ERR_UNSUPPORTED, "{}[{}]: is on {}, which no backend of gradstep serves", argument, index,
       device_text(device));
}

namespace {

/// Throws unless the distances between elements can be counted in bytes.
void check_reach(const char* argument, std::size_t index, const gradstep_tensor& tensor, std::int64_t element) {
  std::int64_t low = 0;
  std::int64_t high = element;
  for (std::int32_t axis = 0; axis < tensor.ndim; ++axis) {
    std::int64_t reach = 0;
    std::int64_t& end = tensor.strides[axis] < 0 ? low : high;
    if (__builtin_mul_overflow(tensor.strides[axis], element, &reach) ||
        __builtin_mul_overflow(reach, std::max<std::int64_t>(tensor.shape[axis] - 1, 0), &reach) ||
        __builtin_add_overflow(end, reach, &end)) {
      fail_argument("{}[{}]: strides[{}] is {}: the tensor spans more bytes than an int64 can count", argument, index,
                    axis, tensor.strides[axis]);
    }
  }
}

}  // namespace

Array to_array(const char* argument, std::size_t index, const gradstep_tensor& tensor) {
  check_device(argument, index, tensor.device);
  const auto dtype = from_dlpack(tensor.dtype);
  if (!dtype) fail_argument("{}[{}]: {} is not one that gradstep knows", argument, index, dtype_text(tensor.dtype));
  if (tensor.ndim < 0) fail_argument("{}[{}]: ndim is {}", argument, index, tensor.ndim);
  if (tensor.ndim > 0 && tensor.shape == nullptr) fail_argument("{}[{}]: shape is NULL", argument, index);
  Array array;
  array.dtype = *dtype;
  array.size = element_count(argument, index, {tensor.shape, static_cast<std::size_t>(tensor.ndim)});
  if (tensor.data == nullptr) return array;
  array.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(array.data) % static_cast<std::uintptr_t>(size_of(*dtype)) != 0 &&
      array.size > 0) {
    fail_argument("{}[{}]: address {} is not aligned to its {} elements", argument, index, array.data, name_of(*dtype));
  }
  if (!is_compact(tensor)) {
    check_reach(argument, index, tensor, size_of(*dtype));
    array.ndim = tensor.ndim;
    array.shape = tensor.shape;
    array.strides = tensor.strides;
  }
  return array;
}

Array to_array(const char* argument, const gradstep_tensor* tensor) {
  if (tensor == nullptr) fail_argument("{}: is NULL", argument);
  Array array = to_array(argument, 0, *tensor);
  if (!array.present()) fail_argument("{}: data is NULL", argument);
  return array;
}

Array to_contiguous_array(const char* argument, const gradstep_tensor* tensor) {
  const Array array = to_array(argument, tensor);
  if (!array.contiguous()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "{}: is not contiguous (shape {})", argument, shape_text(*tensor));
  }
  return array;
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

}  // namespace gradstep
