// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host's array, as kernels see it: elements by their position in row-major order, of any float or integer type and
// with any strides.
#pragma once

#include <type_traits>

#include "core/element_type.h"
#include "device/block.h"
#include "kernels/convert.h"

namespace gradstep::cuda {

using kernels::BFloat16;
using kernels::Float16;

/// The layout of an array that is not compact: dimensions that continue each other are one.
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

inline bool is_double(const View& view) { return view.data != nullptr && view.dtype == DType::f64; }

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

/// with_stored_type() of arrays that are not f64.
template <class Body>
GRADSTEP_DEVICE auto with_narrow_type(DType dtype, Body body) {
  switch (dtype) {
    case DType::f16:
      return body(Float16{});
    case DType::bf16:
      return body(BFloat16{});
    default:
      return body(float{});
  }
}

/// What body(0 of the type that an array has) returns, of one type for all.
template <class Body>
GRADSTEP_DEVICE auto with_stored_type(DType dtype, Body body) {
  if (dtype == DType::f64) return body(double{});
  return with_narrow_type(dtype, body);
}

/// with_stored_type() of parameters that are computed in T, and of updates, which have their type: f64 if T is, and not
/// otherwise. Gradients may be f64 in any case: an accumulator's sums are, where its host wants them to be.
template <class T, class Body>
GRADSTEP_DEVICE auto with_parameter_type(DType dtype, Body body) {
  if constexpr (std::is_same_v<T, double>) {
    return body(double{});
  } else {
    return with_narrow_type(dtype, body);
  }
}

/// Element i in the type that it is computed in; zero where there is no data.
template <class T>
GRADSTEP_DEVICE T read(const Block& block, const View& view, std::int64_t i) {
  if (view.data == nullptr) return T{0};
  const std::int64_t place = place_of(block, view, i);
  return with_stored_type(view.dtype, [&](auto stored) {
    return kernels::convert<T>(block.load(at<const decltype(stored)>(view, place)));
  });
}

/// Element i in f64, through the type that it is computed in.
GRADSTEP_DEVICE double read_in_double(const Block& block, const View& view, std::int64_t i) {
  if (view.dtype == DType::f64) return read<double>(block, view, i);
  return static_cast<double>(read<float>(block, view, i));
}

template <class T>
GRADSTEP_DEVICE void write(const Block& block, const View& view, std::int64_t i, T value) {
  const std::int64_t place = place_of(block, view, i);
  with_stored_type(view.dtype, [&](auto stored) {
    block.store(at<decltype(stored)>(view, place), kernels::convert<decltype(stored)>(value));
  });
}

/// Four elements that are accessed as one.
template <class T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Four {
  T x[4];
};

/// Elements i to i + 3 of an array that is_aligned, or that is zeros.
GRADSTEP_DEVICE bool is_read_in_fours(const View& view) { return view.data == nullptr || view.is_aligned; }
template <class T>
GRADSTEP_DEVICE Four<T> read_four(const Block& block, const View& view, std::int64_t i) {
  Four<T> values{};
  if (view.data == nullptr) return values;
  with_stored_type(view.dtype, [&](auto stored) {
    const auto four = block.load(reinterpret_cast<const Four<decltype(stored)>*>(at<const decltype(stored)>(view, i)));
    for (int k = 0; k < 4; ++k) values.x[k] = kernels::convert<T>(four.x[k]);
  });
  return values;
}
template <class T>
GRADSTEP_DEVICE void write_four(const Block& block, const View& view, std::int64_t i, const Four<T>& values) {
  with_stored_type(view.dtype, [&](auto stored) {
    Four<decltype(stored)> four;
    for (int k = 0; k < 4; ++k) four.x[k] = kernels::convert<decltype(stored)>(values.x[k]);
    block.store(reinterpret_cast<Four<decltype(stored)>*>(at<decltype(stored)>(view, i)), four);
  });
}

}  // namespace gradstep::cuda
