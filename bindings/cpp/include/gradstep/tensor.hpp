// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// tensor.hpp: the host's buffers as the library sees them, and views of the library's own.
#pragma once

#include <gradstep/tensor.h>
#include <gradstep/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace gradstep::inline cpp_v0 {

/// What an element is. All numbers of the C API's gradstep_dtype.
struct Dtype : gradstep_dtype {
  constexpr Dtype() noexcept : gradstep_dtype{0, 0, 0} {}
  constexpr Dtype(const gradstep_dtype& dtype) noexcept : gradstep_dtype(dtype) {}
  constexpr Dtype(gradstep_type_code type_code, int type_bits) noexcept
      : gradstep_dtype{static_cast<std::uint8_t>(type_code), static_cast<std::uint8_t>(type_bits), 1} {}
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bits / std::size_t{8}; }
  friend constexpr bool operator==(const Dtype& a, const Dtype& b) noexcept {
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
  }
};

inline constexpr Dtype kDtypeF32{GRADSTEP_TYPE_FLOAT, 32};
inline constexpr Dtype kDtypeF64{GRADSTEP_TYPE_FLOAT, 64};
inline constexpr Dtype kDtypeF16{GRADSTEP_TYPE_FLOAT, 16};
inline constexpr Dtype kDtypeBf16{GRADSTEP_TYPE_BFLOAT, 16};
inline constexpr Dtype kDtypeInt32{GRADSTEP_TYPE_INT, 32};
inline constexpr Dtype kDtypeInt64{GRADSTEP_TYPE_INT, 64};

/// The dtype of a C++ type. Specialise it for a 16-bit type of your own.
template <class T>
inline constexpr Dtype kDtypeOf{};
template <>
inline constexpr Dtype kDtypeOf<float> = kDtypeF32;
template <>
inline constexpr Dtype kDtypeOf<double> = kDtypeF64;
template <>
inline constexpr Dtype kDtypeOf<std::int32_t> = kDtypeInt32;
template <>
inline constexpr Dtype kDtypeOf<std::int64_t> = kDtypeInt64;

template <class T>
concept Element = kDtypeOf<std::remove_const_t<T>> != Dtype{};

inline constexpr gradstep_device kCpu{GRADSTEP_DEVICE_CPU, 0};
constexpr gradstep_device cuda(std::int32_t device_id) noexcept { return {GRADSTEP_DEVICE_CUDA, device_id}; }

using Shape = std::vector<std::int64_t>;

template <class Void>
class BasicTensorList;

namespace detail {

/// Throws where a shape has no number of elements.
inline std::size_t checked_element_count(const Shape& shape) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0) {
      throw InvalidArgument("shape[" + std::to_string(axis) + "] is " + std::to_string(shape[axis]) +
                            ", expected at least 0");
    }
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent > std::numeric_limits<std::int64_t>::max() / count) {
      throw InvalidArgument("the shape has more elements than an int64_t can count");
    }
    count *= extent;
  }
  return static_cast<std::size_t>(count);
}

}  // namespace detail

/// A buffer of the host's: borrowed, never owned. Void is `void`, or `const void` for what is only read. The buffer of
/// a call stays where it is until the call returns, on a device until the work that it has queued is done.
template <class Void>
class BasicTensor {
 public:
  template <class T>
  using Of = std::conditional_t<std::is_const_v<Void>, const T, T>;

  /// No tensor: a parameter without a gradient.
  BasicTensor(std::nullptr_t = nullptr) noexcept {}

  /// Elements one after the other: a vector, or an array of that shape, row-major.
  template <class T, std::size_t kExtent>
    requires(Element<T> && (std::is_const_v<Void> || !std::is_const_v<T>))
  BasicTensor(std::span<T, kExtent> elements, Shape shape = {})
      : BasicTensor(elements.data(), kDtypeOf<std::remove_const_t<T>>,
                    shape.empty() ? Shape{static_cast<std::int64_t>(elements.size())} : std::move(shape)) {
    if (element_count() != elements.size()) {
      throw InvalidArgument("a span of " + std::to_string(elements.size()) + " elements cannot have a shape of " +
                            std::to_string(element_count()));
    }
  }
  template <Element T, class Allocator>
  BasicTensor(std::vector<T, Allocator>& elements, Shape shape = {})
      : BasicTensor(std::span<T>(elements), std::move(shape)) {}
  template <Element T, class Allocator>
    requires std::is_const_v<Void>
  BasicTensor(const std::vector<T, Allocator>& elements, Shape shape = {})
      : BasicTensor(std::span<const T>(elements), std::move(shape)) {}

  // The elements would be gone before the tensor is used.
  template <Element T, class Allocator>
  BasicTensor(std::vector<T, Allocator>&& elements, Shape shape = {}) = delete;
  template <Element T, class Allocator>
  BasicTensor(const std::vector<T, Allocator>&& elements, Shape shape = {}) = delete;

  /// Anything: `strides` counts elements, and is empty for compact row-major ones.
  BasicTensor(Void* data, Dtype dtype, Shape shape, gradstep_device device = kCpu, Shape strides = {})
      : data_(data), dtype_(dtype), device_(device), shape_(std::move(shape)), strides_(std::move(strides)) {
    detail::checked_element_count(shape_);
    if (!strides_.empty() && strides_.size() != shape_.size()) {
      throw InvalidArgument(std::to_string(strides_.size()) + " strides for a tensor of " +
                            std::to_string(shape_.size()) + " dimensions");
    }
  }

  /// What is written can also be read.
  operator BasicTensor<const void>() const
    requires(!std::is_const_v<Void>)
  {
    return {data_, dtype_, shape_, device_, strides_};
  }

  [[nodiscard]] Void* data() const noexcept { return data_; }
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] gradstep_device device() const noexcept { return device_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t element_count() const noexcept {
    return std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, [](std::size_t count, std::int64_t extent) {
      return count * static_cast<std::size_t>(extent);
    });
  }

  /// The C struct, which points into this object.
  [[nodiscard]] gradstep_tensor c() const noexcept {
    gradstep_tensor tensor{};
    tensor.data = const_cast<void*>(static_cast<const void*>(data_));
    tensor.device = device_;
    tensor.ndim = static_cast<std::int32_t>(shape_.size());
    tensor.dtype = dtype_;
    tensor.shape = const_cast<std::int64_t*>(shape_.data());
    tensor.strides = strides_.empty() ? nullptr : const_cast<std::int64_t*>(strides_.data());
    return tensor;
  }

 private:
  friend class BasicTensorList<Void>;

  Void* data_ = nullptr;
  Dtype dtype_ = kDtypeF32;
  gradstep_device device_ = kCpu;
  Shape shape_;
  Shape strides_;
};

using Tensor = BasicTensor<void>;
using ConstTensor = BasicTensor<const void>;

/// The tensors of a call, in the order of the parameters. Made once and used in every step: a call with lists allocates
/// nothing. The buffers are borrowed.
template <class Void>
class BasicTensorList {
 public:
  BasicTensorList() = default;
  BasicTensorList(std::initializer_list<BasicTensor<Void>> tensors) {
    reserve(tensors.size());
    for (const auto& tensor : tensors) push_back(tensor);
  }
  void push_back(BasicTensor<Void> tensor) {
    tensors_.push_back(std::move(tensor));
    c_.push_back(tensors_.back().c());
  }
  /// Makes room for `n` tensors in all.
  void reserve(std::size_t n) {
    tensors_.reserve(n);
    c_.reserve(n);
  }
  BasicTensorList(const BasicTensorList&) = delete;
  BasicTensorList& operator=(const BasicTensorList&) = delete;
  BasicTensorList(BasicTensorList&&) noexcept = default;
  BasicTensorList& operator=(BasicTensorList&&) noexcept = default;
  ~BasicTensorList() = default;

  [[nodiscard]] std::size_t size() const noexcept { return c_.size(); }
  [[nodiscard]] const BasicTensor<Void>& operator[](std::size_t i) const { return tensors_.at(i); }
  [[nodiscard]] const gradstep_tensor* c() const noexcept { return c_.data(); }

  /// Points entry i at another buffer of the same dtype and shape. nullptr: no gradient this time.
  void set_data(std::size_t i, Void* data) {
    tensors_.at(i).data_ = data;
    c_[i].data = const_cast<void*>(static_cast<const void*>(data));
  }

 private:
  // The C structs point to the tensors' shapes, which stay where they are when tensors move, and only then.
  static_assert(std::is_nothrow_move_constructible_v<BasicTensor<Void>>);
  std::vector<BasicTensor<Void>> tensors_;
  std::vector<gradstep_tensor> c_;
};

using TensorList = BasicTensorList<void>;
using ConstTensorList = BasicTensorList<const void>;

/// One array of the library's, in its memory. The handle that it came from says until when it is valid.
class View {
 public:
  View() = default;
  explicit View(const gradstep_tensor& tensor) noexcept : c_(tensor) {}
  [[nodiscard]] bool has_data() const noexcept { return c_.data != nullptr; }
  [[nodiscard]] Dtype dtype() const noexcept { return c_.dtype; }
  [[nodiscard]] std::span<const std::int64_t> shape() const noexcept {
    return {c_.shape, static_cast<std::size_t>(c_.ndim)};
  }
  [[nodiscard]] std::size_t element_count() const noexcept {
    std::size_t count = 1;
    for (const std::int64_t extent : shape()) count *= static_cast<std::size_t>(extent);
    return count;
  }
  /// The elements, none where there is no data. Throws InvalidArgument if they are no T, or not in the host's memory.
  template <Element T>
  [[nodiscard]] std::span<T> as() const {
    if (!has_data()) return {};
    if (dtype() != kDtypeOf<std::remove_const_t<T>>) {
      throw InvalidArgument("a view of code " + std::to_string(c_.dtype.code) + " and " +
                            std::to_string(c_.dtype.bits) + " bits was asked for elements of another type");
    }
    if (c_.device.device_type == GRADSTEP_DEVICE_CUDA) throw InvalidArgument("a view of device memory");
    return {static_cast<T*>(c_.data), element_count()};
  }
  [[nodiscard]] const gradstep_tensor& c() const noexcept { return c_; }

 private:
  gradstep_tensor c_{};
};

/// The views of all parameters. Owner is the handle whose memory they show, and `of` tells whether it is that one.
template <class Owner>
class Views {
 public:
  Views(const void* handle, std::vector<gradstep_tensor> tensors) noexcept
      : handle_(handle), tensors_(std::move(tensors)) {}
  [[nodiscard]] bool of(const Owner& owner) const noexcept { return owner.c() == handle_; }
  [[nodiscard]] std::size_t size() const noexcept { return tensors_.size(); }
  [[nodiscard]] View operator[](std::size_t i) const { return View(tensors_.at(i)); }
  [[nodiscard]] const gradstep_tensor* c() const noexcept { return tensors_.data(); }

 private:
  const void* handle_;
  std::vector<gradstep_tensor> tensors_;
};

/// What a call reads: a list of either kind, or the views of a handle. Shown, not kept.
class ConstTensors {
 public:
  template <class Void>
  ConstTensors(const BasicTensorList<Void>& list) noexcept : c_(list.c()), size_(list.size()) {}
  template <class Owner>
  ConstTensors(const Views<Owner>& views) noexcept : c_(views.c()), size_(views.size()) {}
  [[nodiscard]] const gradstep_tensor* c() const noexcept { return c_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  const gradstep_tensor* c_;
  std::size_t size_;
};

/// One parameter of the host's model (gradstep_parameter).
struct Parameter {
  std::string name = {};  ///< "" stands for "param.<index>"
  Shape shape = {};
  Dtype dtype = kDtypeF32;
  gradstep_device device = kCpu;
  std::int32_t group = 0;
  bool may_be_unused = false;  ///< some rank may have no gradient for it in some window
  Shape whole_shape = {};      ///< of the whole that it is a part of; empty = it is whole
  Shape offset = {};           ///< where the part begins in the whole; empty = at its first element
};

using Parameters = std::vector<Parameter>;

/// The schema of what is there: unnamed, all in group 0.
inline Parameters parameters_of(const TensorList& tensors) {
  Parameters parameters;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    parameters.push_back({.shape = tensor.shape(), .dtype = tensor.dtype(), .device = tensor.device()});
  }
  return parameters;
}

namespace detail {

/// As many axes as the parameter has, or none.
inline const std::int64_t* axes_of(const Shape& numbers, std::size_t i, std::size_t axes, const char* what) {
  if (numbers.empty()) return nullptr;
  if (numbers.size() == axes) return numbers.data();
  throw InvalidArgument("parameters[" + std::to_string(i) + "]." + what + ": has " + std::to_string(numbers.size()) +
                        " entries, expected " + std::to_string(axes));
}

inline std::vector<gradstep_parameter> c_parameters(const Parameters& parameters) {
  std::vector<gradstep_parameter> c(parameters.size(), sized<gradstep_parameter>());
  for (std::size_t i = 0; i < c.size(); ++i) {
    const Parameter& parameter = parameters[i];
    c[i].flags = parameter.may_be_unused ? std::uint32_t{GRADSTEP_PARAMETER_MAY_BE_UNUSED} : 0;
    c[i].name = parameter.name.empty() ? nullptr : parameter.name.c_str();
    c[i].shape = parameter.shape.data();
    c[i].ndim = static_cast<std::int32_t>(parameter.shape.size());
    c[i].group = parameter.group;
    c[i].dtype = parameter.dtype;
    c[i].device = parameter.device;
    c[i].whole_shape = axes_of(parameter.whole_shape, i, parameter.shape.size(), "whole_shape");
    c[i].offset = axes_of(parameter.offset, i, parameter.shape.size(), "offset");
  }
  return c;
}

/// Several lists of a call have one entry for each parameter.
inline void require_size(std::size_t found, std::size_t expected, const char* what) {
  if (found == expected) return;
  throw InvalidArgument(std::string(what) + " has " + std::to_string(found) + " tensors, expected " +
                        std::to_string(expected));
}

}  // namespace detail

}  // namespace gradstep::inline cpp_v0
