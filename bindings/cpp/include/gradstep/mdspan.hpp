// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// mdspan.hpp: multidimensional spans as the library sees them: std::mdspan of C++23, and what has its interface, as
// Kokkos' for C++20. <mdspan> is not included.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <gradstep/tensor.hpp>
#include <type_traits>

namespace gradstep::inline cpp_v0 {

/// An mdspan whose elements lie at constant distances (layout_right, layout_left, layout_stride, padded ones) and are
/// what its memory has: no layout without strides, and no accessor that scales, conjugates or computes.
template <class T>
concept StridedMdspan = requires(const T& mdspan, std::size_t axis) {
  requires Element<typename T::element_type>;
  requires std::same_as<typename T::reference, typename T::element_type&>;
  requires std::same_as<decltype(mdspan.data_handle()), const typename T::data_handle_type&> ||
               std::same_as<decltype(mdspan.data_handle()), typename T::data_handle_type>;
  requires std::convertible_to<typename T::data_handle_type, typename T::element_type*>;
  requires std::bool_constant<T::is_always_strided()>::value;
  static_cast<std::int64_t>(mdspan.extent(axis));
  static_cast<std::int64_t>(mdspan.stride(axis));
};

namespace detail {

template <class Void, StridedMdspan T>
BasicTensor<Void> tensor_of_mdspan(const T& mdspan, gradstep_device device) {
  Shape shape;
  Shape strides;
  if constexpr (T::rank() > 0) {  // a scalar's mapping has no stride()
    for (std::size_t axis = 0; axis < T::rank(); ++axis) {
      shape.push_back(static_cast<std::int64_t>(mdspan.extent(axis)));
      strides.push_back(static_cast<std::int64_t>(mdspan.stride(axis)));
    }
  }
  typename T::element_type* const data = mdspan.data_handle();
  return {data, kDtypeOf<std::remove_const_t<typename T::element_type>>, std::move(shape), device, std::move(strides)};
}

}  // namespace detail

/// The memory that an mdspan shows, which must stay until the call that gets it has returned. `device`: where it is.
template <StridedMdspan T>
  requires(!std::is_const_v<typename T::element_type>)
[[nodiscard]] Tensor tensor_of(const T& mdspan, gradstep_device device = kCpu) {
  return detail::tensor_of_mdspan<void>(mdspan, device);
}

/// What is only read, as a gradient.
template <StridedMdspan T>
[[nodiscard]] ConstTensor const_tensor_of(const T& mdspan, gradstep_device device = kCpu) {
  return detail::tensor_of_mdspan<const void>(mdspan, device);
}

}  // namespace gradstep::inline cpp_v0
