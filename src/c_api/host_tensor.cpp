// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/host_tensor.h"

#include <algorithm>
#include <bit>

#include "core/absence.h"
#include "core/error.h"
#include "core/shape.h"

namespace gradstep {

namespace {

bool same_shape(const gradstep_tensor& tensor, const Parameter& parameter) {
  if (tensor.ndim != static_cast<std::int32_t>(parameter.shape.size())) return false;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return false;
  return std::equal(parameter.shape.begin(), parameter.shape.end(), tensor.shape);
}

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

Array shaped_array(const Schema& schema, const char* argument, std::size_t i, const gradstep_tensor& tensor) {
  const Parameter& parameter = schema[i];
  if (!same_shape(tensor, parameter)) {
    if (tensor.data == nullptr && tensor.ndim == 0) {
      fail_argument("{}[{}]: is absent, parameter '{}' has shape {}", argument, i, parameter.name,
                    shape_text(parameter.shape));
    }
    fail_argument("{}[{}]: shape {}, parameter '{}' has {}", argument, i, shape_text(tensor), parameter.name,
                  shape_text(parameter.shape));
  }
  if (!same_device(home_of(tensor.device), parameter.device)) {
    fail_argument("{}[{}]: is on {}, parameter '{}' is on {}", argument, i, device_text(tensor.device), parameter.name,
                  device_text(parameter.device));
  }
  return to_array(argument, i, tensor);
}

}  // namespace

std::string shape_text(const gradstep_tensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMaxDimensions) return fmt::format("of {} dimensions", tensor.ndim);
  if (tensor.ndim > 0 && tensor.shape == nullptr) return "NULL";
  return shape_text(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
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

Array to_array(const char* argument, std::size_t index, const gradstep_tensor& tensor) {
  const auto dtype = from_dlpack(tensor.dtype);
  if (!dtype) fail_argument("{}[{}]: {} is not one that gradstep knows", argument, index, dtype_text(tensor.dtype));
  if (tensor.ndim < 0) fail_argument("{}[{}]: ndim is {}", argument, index, tensor.ndim);
  if (tensor.ndim > 0 && tensor.shape == nullptr) fail_argument("{}[{}]: shape is NULL", argument, index);
  Array array;
  array.dtype = *dtype;
  array.size = element_count(argument, index, {tensor.shape, static_cast<std::size_t>(tensor.ndim)});
  place_if_empty(array);
  if (tensor.data == nullptr) return array;
  if (tensor.byte_offset > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(tensor.data)) {
    fail_argument("{}[{}]: byte_offset is {}: data + byte_offset is beyond the last address", argument, index,
                  tensor.byte_offset);
  }
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
  check_device(argument, 0, tensor->device);
  Array array = to_array(argument, 0, *tensor);
  if (!array.present()) fail_argument("{}: data is NULL", argument);
  return array;
}

void check_home(const char* argument, const gradstep_tensor& tensor, gradstep_device home) {
  if (home.device_type == GRADSTEP_DEVICE_CPU) return check_device(argument, 0, tensor.device);
  if (!same_device(home_of(tensor.device), home)) {
    fail_argument("{}: is on {}, expected {}", argument, device_text(tensor.device), device_text(home));
  }
}

Array to_contiguous_array(const char* argument, const gradstep_tensor* tensor, gradstep_device home) {
  if (tensor == nullptr) fail_argument("{}: is NULL", argument);
  check_home(argument, *tensor, home);
  const Array array = to_array(argument, 0, *tensor);
  if (!array.present()) fail_argument("{}: data is NULL", argument);
  if (!array.contiguous()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "{}: is not contiguous (shape {})", argument, shape_text(*tensor));
  }
  return array;
}

void check_written(const char* argument, std::size_t i, const gradstep_tensor& tensor, const Array& array) {
  if (!overlaps_itself(array)) return;
  const std::span<const std::int64_t> strides(tensor.strides, static_cast<std::size_t>(tensor.ndim));
  fail_argument("{}[{}]: is written, and its elements share memory (shape {}, strides {})", argument, i,
                shape_text(tensor), shape_text(strides));
}

Array parameter_array(const Schema& schema, const char* argument, std::size_t i, const gradstep_tensor& tensor) {
  const Parameter& parameter = schema[i];
  const Array array = shaped_array(schema, argument, i, tensor);
  if (array.dtype != parameter.dtype) {
    fail_argument("{}[{}]: dtype {}, parameter '{}' has {}", argument, i, name_of(array.dtype), parameter.name,
                  name_of(parameter.dtype));
  }
  if (!array.present()) fail_argument("{}[{}]: data is NULL, parameter '{}'", argument, i, parameter.name);
  return array;
}

bool is_left_out(const Parameter& parameter, const gradstep_tensor& tensor) {
  return tensor.data == nullptr && (parameter.size > 0 || (tensor.ndim == 0 && tensor.shape == nullptr));
}

Array gradient_array(const Schema& schema, const char* argument, std::size_t i, const gradstep_tensor& tensor) {
  const Parameter& parameter = schema[i];
  if (is_left_out(parameter, tensor)) {
    Array absent;
    absent.dtype = parameter.dtype;
    absent.size = parameter.size;
    return absent;
  }
  const Array array = shaped_array(schema, argument, i, tensor);
  if (!is_float(array.dtype) || (array.dtype == DType::f64 && parameter.dtype != DType::f64)) {
    fail_argument("{}[{}]: dtype {}, parameter '{}' is {} and takes {}gradients in f32, f16 or bf16", argument, i,
                  name_of(array.dtype), parameter.name, name_of(parameter.dtype),
                  parameter.dtype == DType::f64 ? "f64 gradients, or " : "");
  }
  return array;
}

gradstep_tensor view_of(const Schema& schema, std::size_t i, void* data, DType dtype) {
  const Parameter& parameter = schema[i];
  gradstep_tensor tensor{};
  tensor.data = data;
  tensor.device = parameter.device;
  tensor.ndim = static_cast<std::int32_t>(parameter.shape.size());
  tensor.dtype = to_dlpack(dtype);
  // DLPack's shape is not const; the headers say that views are to be read only.
  tensor.shape = const_cast<std::int64_t*>(parameter.shape.data());
  return tensor;
}

bool shows_again(const Parameter& parameter, const gradstep_tensor& tensor, const Array& buffer) {
  Array shown;
  shown.size = parameter.size;
  place_if_empty(shown);
  if (tensor.data != nullptr) shown.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (buffer.strides != nullptr || shown.data == nullptr || shown.data != buffer.data ||
      !(same_device(tensor.device, parameter.device) || same_device(home_of(tensor.device), parameter.device)) ||
      std::bit_cast<std::uint32_t>(tensor.dtype) != std::bit_cast<std::uint32_t>(to_dlpack(buffer.dtype)) ||
      tensor.ndim != static_cast<std::int32_t>(parameter.shape.size()) ||
      (tensor.shape == nullptr && !parameter.shape.empty())) {
    return false;
  }
  // Some hosts, as PyTorch, say the strides of compact tensors too.
  std::int64_t compact = 1;
  for (std::size_t axis = parameter.shape.size(); axis-- > 0;) {
    if (tensor.shape[axis] != parameter.shape[axis]) return false;
    if (tensor.strides != nullptr && tensor.shape[axis] != 1 && tensor.strides[axis] != compact) return false;
    compact *= tensor.shape[axis];
  }
  return true;
}

}  // namespace gradstep
