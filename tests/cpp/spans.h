// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// mdspans for standard libraries without <mdspan>: the part of C++23's interface that gradstep/mdspan.hpp reads.
#pragma once

#include <array>
#include <cstddef>

namespace spans {

struct LayoutRight {
  static constexpr bool is_always_strided = true;
  template <std::size_t kRank>
  static std::size_t stride(const std::array<std::size_t, kRank>& extents, std::size_t axis) {
    std::size_t stride = 1;
    for (std::size_t i = axis + 1; i < kRank; ++i) stride *= extents[i];
    return stride;
  }
};

struct LayoutLeft {
  static constexpr bool is_always_strided = true;
  template <std::size_t kRank>
  static std::size_t stride(const std::array<std::size_t, kRank>& extents, std::size_t axis) {
    std::size_t stride = 1;
    for (std::size_t i = 0; i < axis; ++i) stride *= extents[i];
    return stride;
  }
};

/// A layout without strides, as of a triangular matrix.
struct LayoutPacked {
  static constexpr bool is_always_strided = false;
  template <std::size_t kRank>
  static std::size_t stride(const std::array<std::size_t, kRank>&, std::size_t) {
    return 0;
  }
};

template <class T>
struct DefaultAccessor {
  using reference = T&;
};

/// An accessor whose elements are not those in memory.
template <class T>
struct ScaledAccessor {
  using reference = T;
};

template <class T, std::size_t kRank, class Layout = LayoutRight, class Accessor = DefaultAccessor<T>>
class Mdspan {
 public:
  using element_type = T;
  using reference = typename Accessor::reference;
  using data_handle_type = T*;
  using index_type = std::size_t;

  Mdspan(T* data, std::array<std::size_t, kRank> extents) : data_(data), extents_(extents) {}
  static constexpr std::size_t rank() noexcept { return kRank; }
  static constexpr bool is_always_strided() noexcept { return Layout::is_always_strided; }
  [[nodiscard]] index_type extent(std::size_t axis) const { return extents_[axis]; }
  [[nodiscard]] index_type stride(std::size_t axis) const { return Layout::stride(extents_, axis); }
  [[nodiscard]] const data_handle_type& data_handle() const noexcept { return data_; }

 private:
  T* data_;
  std::array<std::size_t, kRank> extents_;
};

}  // namespace spans
