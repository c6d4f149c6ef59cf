// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// dlpack.hpp: DLPack's tensors as the library sees them. No dlpack.h is included: the structs of any from DLPack 0.6 on
// will do, those of PyTorch and Debian among them.
#pragma once

#include <cstdint>
#include <gradstep/tensor.hpp>
#include <memory>
#include <string>
#include <utility>

namespace gradstep::inline cpp_v0 {

/// DLPack's DLTensor.
template <class T>
concept DlpackTensor = requires(const T& tensor) {
  static_cast<void*>(tensor.data);
  static_cast<std::int32_t>(tensor.device.device_type);
  static_cast<std::int32_t>(tensor.device.device_id);
  static_cast<std::int32_t>(tensor.ndim);
  static_cast<std::uint16_t>(tensor.dtype.lanes);
  static_cast<const std::int64_t*>(tensor.shape);
  static_cast<const std::int64_t*>(tensor.strides);
  static_cast<std::uint64_t>(tensor.byte_offset);
};

/// DLPack's DLManagedTensor and DLManagedTensorVersioned.
template <class T>
concept DlpackManaged = requires(T& managed) {
  requires DlpackTensor<decltype(managed.dl_tensor)>;
  managed.deleter(&managed);
};

/// Owns a managed tensor and calls its deleter once, of any version. `get()` is what tensor_of() takes; the Tensor is
/// valid as long as its owner. A pointer from a Python capsule is the owner's once the capsule is renamed to
/// "used_dltensor", or "used_dltensor_versioned": the capsule calls no deleter then.
struct DlpackDeleter {
  template <DlpackManaged T>
  void operator()(T* managed) const noexcept {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};
template <DlpackManaged T>
using DlpackOwner = std::unique_ptr<T, DlpackDeleter>;

namespace detail {

/// The version of DLManagedTensorVersioned whose fields are read here, and its flags of read-only and of copied memory.
inline constexpr std::uint32_t kDlpackMajorVersion = 1;
inline constexpr std::uint64_t kDlpackReadOnly = 1;
inline constexpr std::uint64_t kDlpackIsCopied = 2;

template <class Void, DlpackTensor T>
BasicTensor<Void> tensor_of_dlpack(const T& tensor) {
  if (tensor.ndim < 0)
    throw InvalidArgument("tensor: ndim is " + std::to_string(tensor.ndim) + ", expected at least 0");
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    throw InvalidArgument("tensor: shape is NULL, expected " + std::to_string(tensor.ndim) + " numbers");
  }
  const auto numbers = [&](const std::int64_t* first) { return first ? Shape(first, first + tensor.ndim) : Shape(); };
  Shape shape = numbers(tensor.shape);
  char* data = static_cast<char*>(tensor.data);
  if (data != nullptr) {
    data += tensor.byte_offset;
  } else if (const std::size_t count = checked_element_count(shape); count > 0) {
    throw InvalidArgument("tensor: data is NULL, expected the address of " + std::to_string(count) + " elements");
  }
  return {data, gradstep_dtype{tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes}, std::move(shape),
          gradstep_device{static_cast<std::int32_t>(tensor.device.device_type), tensor.device.device_id},
          numbers(tensor.strides)};
}

/// Throws where the fields behind the version are not those that are read here.
template <DlpackManaged T>
void check_dlpack_version(const T& managed) {
  if constexpr (requires { managed.version.major; }) {
    if (managed.version.major != kDlpackMajorVersion) {
      throw InvalidArgument("managed: has DLPack's version " + std::to_string(managed.version.major) + "." +
                            std::to_string(managed.version.minor) + ", expected " +
                            std::to_string(kDlpackMajorVersion));
    }
  }
}

}  // namespace detail

/// The memory that a DLTensor shows, which must stay until the call that gets it has returned; its shape is copied.
/// nullptr, an absent gradient, is no tensor. Throws InvalidArgument for a shape that is missing or negative, and for
/// elements without an address. The call that gets the tensor looks at its elements and its device.
template <DlpackTensor T>
[[nodiscard]] Tensor tensor_of(const T* tensor) {
  if (tensor == nullptr) return nullptr;
  return detail::tensor_of_dlpack<void>(*tensor);
}

/// What is only read, as a gradient.
template <DlpackTensor T>
[[nodiscard]] ConstTensor const_tensor_of(const T* tensor) {
  return tensor_of(tensor);
}

/// What is only read, of a managed tensor, which stays the caller's (DlpackOwner). Throws InvalidArgument also for
/// another major version than 1.
template <DlpackManaged T>
[[nodiscard]] ConstTensor const_tensor_of(const T* managed) {
  if (managed == nullptr) return nullptr;
  detail::check_dlpack_version(*managed);
  return detail::tensor_of_dlpack<const void>(managed->dl_tensor);
}

/// What may be written. Throws InvalidArgument also where the managed tensor is flagged read-only, or as a copy: the
/// exporter would not see what is written.
template <DlpackManaged T>
[[nodiscard]] Tensor tensor_of(const T* managed) {
  if (managed == nullptr) return nullptr;
  detail::check_dlpack_version(*managed);
  if constexpr (requires { managed->flags; }) {
    if ((managed->flags & detail::kDlpackReadOnly) != 0) {
      throw InvalidArgument("managed: is read-only, expected memory that may be written; const_tensor_of() reads it");
    }
    if ((managed->flags & detail::kDlpackIsCopied) != 0) {
      throw InvalidArgument("managed: is a copy, expected the exporter's own memory; const_tensor_of() reads it");
    }
  }
  return detail::tensor_of_dlpack<void>(managed->dl_tensor);
}

}  // namespace gradstep::inline cpp_v0
