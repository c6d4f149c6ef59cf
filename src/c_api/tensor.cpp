// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/tensor.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "c_api/guard.h"
#include "c_api/host_tensor.h"
#include "core/shape.h"

using namespace gradstep;

struct gradstep_tensor_list {
  std::vector<gradstep_tensor> tensors;
  std::deque<std::vector<int64_t>> dimensions;  // a deque: what tensors point to does not move
};

struct gradstep_parameter_list {
  std::vector<gradstep_parameter> parameters;
  std::deque<std::vector<int64_t>> dimensions;
  std::deque<std::string> names;
};

namespace {

/// For one entry more, which then cannot fail.
template <class T>
void make_room(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(2 * list.size() + 1);
}

gradstep_dtype dlpack_dtype(int32_t type_code, int32_t bits) {
  const gradstep_dtype dtype{static_cast<uint8_t>(type_code), static_cast<uint8_t>(bits), 1};
  if (type_code != dtype.code || bits != dtype.bits || !from_dlpack(dtype)) {
    fail_argument("type_code, bits: {} and {} are not a dtype that gradstep knows", type_code, bits);
  }
  return dtype;
}

void check_shape(int32_t ndim, const int64_t* shape) {
  if (ndim < 0) fail_argument("ndim: is {}, expected at least 0", ndim);
  if (ndim > 0 && shape == nullptr) fail_argument("shape: is NULL with ndim = {}", ndim);
  element_count("shape", 0, {shape, static_cast<size_t>(ndim)});
}

template <class Entries>
auto& entry_of(Entries& entries, size_t index, const char* what) {
  if (index >= entries.size()) fail_argument("index: is {}, the list has {} {}", index, entries.size(), what);
  return entries[index];
}

template <class List>
auto& entry_of(List* list, size_t index) {
  check_out("list", list);
  return entry_of(list->tensors, index, "tensors");
}

void point(gradstep_tensor& tensor, uint64_t address) {
  tensor.data = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  tensor.byte_offset = 0;
}

template <class To, class From>
void write_unless_null(To* to, From value) {
  if (to != nullptr) *to = value;
}

}  // namespace

gradstep_status gradstep_tensor_list_create(gradstep_tensor_list** out) noexcept {
  return guarded([&] {
    auto*& made = check_out("out", out);  // before anything is made
    made = std::make_unique<gradstep_tensor_list>().release();
  });
}

void gradstep_tensor_list_destroy(gradstep_tensor_list* list) noexcept { delete list; }

gradstep_status gradstep_tensor_list_push(gradstep_tensor_list* list, uint64_t address, int32_t type_code, int32_t bits,
                                          int32_t device_type, int32_t device_id, int32_t ndim, const int64_t* shape,
                                          const int64_t* strides) noexcept {
  return guarded([&] {
    check_out("list", list);
    check_shape(ndim, shape);
    gradstep_tensor tensor{};
    tensor.data = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
    tensor.device = {device_type, device_id};
    tensor.ndim = ndim;
    tensor.dtype = dlpack_dtype(type_code, bits);
    std::vector<int64_t> numbers(shape, shape + ndim);
    if (strides != nullptr) numbers.insert(numbers.end(), strides, strides + ndim);
    make_room(list->tensors);
    list->dimensions.push_back(std::move(numbers));
    tensor.shape = list->dimensions.back().data();
    if (strides != nullptr) tensor.strides = tensor.shape + ndim;
    list->tensors.push_back(tensor);
  });
}

gradstep_status gradstep_tensor_list_set_data(gradstep_tensor_list* list, size_t index, uint64_t address,
                                              uint64_t bytes) noexcept {
  return guarded([&] {
    gradstep_tensor& tensor = entry_of(list, index);
    gradstep_tensor probe = tensor;
    // The extent of a strided view, measured from its lowest element, does not depend on the address.
    probe.data = reinterpret_cast<void*>(uintptr_t{1} << 40);
    probe.byte_offset = 0;
    probe.device = {GRADSTEP_DEVICE_CPU, 0};
    const ByteRange range = byte_range(to_array("list", index, probe));
    if (address != 0 && bytes < range.end - range.begin) {
      fail_argument("bytes: is {}, tensor {} spans {}", bytes, index, range.end - range.begin);
    }
    point(tensor, address);
  });
}

gradstep_status gradstep_tensor_list_set_addresses(gradstep_tensor_list* list, const uint64_t* addresses,
                                                   size_t n) noexcept {
  return guarded([&] {
    check_out("list", list);
    if (n != list->tensors.size()) fail_argument("n: is {}, the list has {} tensors", n, list->tensors.size());
    if (n > 0) check_out("addresses", addresses);
    for (size_t i = 0; i < n; ++i) point(list->tensors[i], addresses[i]);
  });
}

gradstep_status gradstep_tensor_list_get(const gradstep_tensor_list* list, size_t index, uint64_t* address,
                                         int32_t* type_code, int32_t* bits, int32_t* device_type, int32_t* device_id,
                                         int32_t* ndim, int64_t* shape, int64_t* strides, int32_t capacity) noexcept {
  return guarded([&] {
    const gradstep_tensor& tensor = entry_of(list, index);
    if ((shape != nullptr || strides != nullptr) && capacity < tensor.ndim) {
      fail_argument("capacity: is {}, tensor {} has {} dimensions", capacity, index, tensor.ndim);
    }
    const auto first = reinterpret_cast<uintptr_t>(tensor.data);
    write_unless_null(address, first != 0 ? first + tensor.byte_offset : 0);
    write_unless_null(type_code, tensor.dtype.code);
    write_unless_null(bits, tensor.dtype.bits);
    write_unless_null(device_type, tensor.device.device_type);
    write_unless_null(device_id, tensor.device.device_id);
    write_unless_null(ndim, tensor.ndim);
    int64_t compact = 1;
    for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
      if (shape != nullptr) shape[axis] = tensor.shape[axis];
      if (strides != nullptr) strides[axis] = tensor.strides != nullptr ? tensor.strides[axis] : compact;
      (void)__builtin_mul_overflow(compact, tensor.shape[axis], &compact);  // an empty array's are never used
    }
  });
}

gradstep_status gradstep_tensor_list_clear(gradstep_tensor_list* list) noexcept {
  return guarded([&] {
    check_out("list", list);
    list->tensors.clear();
    list->dimensions.clear();
  });
}

gradstep_tensor* gradstep_tensor_list_data(gradstep_tensor_list* list) noexcept {
  return list == nullptr || list->tensors.empty() ? nullptr : list->tensors.data();
}

size_t gradstep_tensor_list_size(const gradstep_tensor_list* list) noexcept {
  return list == nullptr ? 0 : list->tensors.size();
}

gradstep_status gradstep_parameter_list_create(gradstep_parameter_list** out) noexcept {
  return guarded([&] {
    auto*& made = check_out("out", out);  // before anything is made
    made = std::make_unique<gradstep_parameter_list>().release();
  });
}

void gradstep_parameter_list_destroy(gradstep_parameter_list* list) noexcept { delete list; }

gradstep_status gradstep_parameter_list_push(gradstep_parameter_list* list, const char* name, int32_t type_code,
                                             int32_t bits, int32_t device_type, int32_t device_id, int32_t ndim,
                                             const int64_t* shape, int32_t group, uint32_t flags) noexcept {
  return guarded([&] {
    check_out("list", list);
    check_shape(ndim, shape);
    gradstep_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    parameter.flags = flags;
    parameter.ndim = ndim;
    parameter.group = group;
    parameter.dtype = dlpack_dtype(type_code, bits);
    parameter.device = {device_type, device_id};
    make_room(list->parameters);
    list->dimensions.emplace_back(shape, shape + ndim);
    if (name != nullptr) {
      list->names.emplace_back(name);
      parameter.name = list->names.back().c_str();
    }
    parameter.shape = list->dimensions.back().data();
    list->parameters.push_back(parameter);
  });
}

gradstep_status gradstep_parameter_list_set_part(gradstep_parameter_list* list, size_t index,
                                                 const int64_t* whole_shape, const int64_t* offset) noexcept {
  return guarded([&] {
    check_out("list", list);
    gradstep_parameter& parameter = entry_of(list->parameters, index, "parameters");
    const int32_t ndim = parameter.ndim;
    if (ndim > 0) {
      check_out("whole_shape", whole_shape);
      check_out("offset", offset);
    }
    std::vector<int64_t> numbers(whole_shape, whole_shape + ndim);
    numbers.insert(numbers.end(), offset, offset + ndim);
    list->dimensions.push_back(std::move(numbers));
    parameter.whole_shape = list->dimensions.back().data();
    parameter.offset = parameter.whole_shape + ndim;
  });
}

gradstep_status gradstep_parameter_list_clear(gradstep_parameter_list* list) noexcept {
  return guarded([&] {
    check_out("list", list);
    list->parameters.clear();
    list->dimensions.clear();
    list->names.clear();
  });
}

const gradstep_parameter* gradstep_parameter_list_data(const gradstep_parameter_list* list) noexcept {
  return list == nullptr || list->parameters.empty() ? nullptr : list->parameters.data();
}

size_t gradstep_parameter_list_size(const gradstep_parameter_list* list) noexcept {
  return list == nullptr ? 0 : list->parameters.size();
}
