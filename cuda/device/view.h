// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host's array, as kernels see it: elements by their position in row-major order, of any float or integer type and
// with any strides.
#pragma once

#include "core/array.h"
#include "device/block.h"
#include "kernels/convert.h"

namespace gradstep::cuda {

using kernels::BFloat16;
using kernels::Float16;

/// Of arrays that are not compact.
struct Layout {
  std::int64_t ndim;
  std::int64_t shape[kMaxDimensions];
  std::int64_t strides[kMaxDimensions];
  bool operator==(const Layout&) const = default;
};

struct View {
  void* data = nullptr;            ///< NULL = zeros, or absent
  const Layout* layout = nullptr;  ///< NULL = compact
  DType dtype = DType::f32;
  bool is_aligned = false;  ///< compact, and four elements at a time may be accessed as one
  std::uint8_t unused[6] = {};
};

/// Where element i of the array lies, in elements from the first.
GRADSTEP_DEVICE std::int64_t place_of(const Block& block, const View& view, std::int64_t i) {
  if (view.layout == nullptr) return i;
  const Layout& layout = *block.checked(view.layout);
  std::int64_t place = 0;
  for (std::int64_t d = layout.ndim - 1; d > 0; --d) {
    place += i % layout.shape[d] * layout.strides[d];
    i /= layout.shape[d];
  }
  return layout.ndim > 0 ? place + i * layout.strides[0] : place;
}

template <class T>
GRADSTEP_DEVICE T* at(const View& view, std::int64_t place) {
  return static_cast<T*>(view.data) + place;
}

/// Element i in the type that it is computed in; zero where there is no data.
template <class T>
GRADSTEP_DEVICE T read(const Block& block, const View& view, std::int64_t i) {
  if (view.data == nullptr) return T{0};
  const std::int64_t place = place_of(block, view, i);
  switch (view.dtype) {
    case DType::f16:
      return kernels::convert<T>(block.load(at<const Float16>(view, place)));
    case DType::bf16:
      return kernels::convert<T>(block.load(at<const BFloat16>(view, place)));
    case DType::f64:
      return kernels::convert<T>(block.load(at<const double>(view, place)));
    default:
      return kernels::convert<T>(block.load(at<const float>(view, place)));
  }
}

/// Element i in f64, through the type that it is computed in.
GRADSTEP_DEVICE double read_in_double(const Block& block, const View& view, std::int64_t i) {
  if (view.dtype == DType::f64) return read<double>(block, view, i);
  return static_cast<double>(read<float>(block, view, i));
}

template <class T>
GRADSTEP_DEVICE void write(const Block& block, const View& view, std::int64_t i, T value) {
  const std::int64_t place = place_of(block, view, i);
  switch (view.dtype) {
    case DType::f16:
      return block.store(at<Float16>(view, place), kernels::convert<Float16>(value));
    case DType::bf16:
      return block.store(at<BFloat16>(view, place), kernels::convert<BFloat16>(value));
    case DType::f64:
      return block.store(at<double>(view, place), kernels::convert<double>(value));
    default:
      return block.store(at<float>(view, place), kernels::convert<float>(value));
  }
}

/// Four elements that are accessed as one.
template <class T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four {
  T x[4];
};

}  // namespace gradstep::cuda
