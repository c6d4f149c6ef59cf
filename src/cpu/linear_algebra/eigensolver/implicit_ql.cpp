// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/implicit_ql.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstep::cpu {

namespace {

template <class T>
constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
constexpr int kMaxSweeps = 60;  // for one eigenvalue; it takes two or three

/// sqrt(x^2 + y^2), whose squares neither vanish nor lose digits.
template <class T>
T length_of(T x, T y) {
  const T larger = std::max(std::abs(x), std::abs(y));
  if (larger == 0) return 0;
  const T ratio = std::min(std::abs(x), std::abs(y)) / larger;
  return larger * std::sqrt(1 + ratio * ratio);
}

/// The end of the unreduced part that begins at `first`.
template <class T>
std::int64_t end_of_part(const T* d, const T* e, std::int64_t first, std::int64_t n) {
  for (std::int64_t end = first; end + 1 < n; ++end) {
    const T around = std::abs(d[end]) + std::abs(d[end + 1]);
    if (std::abs(e[end]) <= kEpsilon<T> * (around + kEpsilon<T>)) return end;
  }
  return n - 1;
}

/// Chases the bulge from `last` up to `first`.
template <class T>
void sweep(const DenseLoops<T>& loops, T* d, T* e, std::int64_t first, std::int64_t last, std::int64_t n, T* vectors,
           std::int64_t stride) {
  T g = (d[first + 1] - d[first]) / (2 * e[first]);
  g = d[last] - d[first] + e[first] / (g + std::copysign(length_of(g, T{1}), g));  // Wilkinson's shift
  T s = 1;
  T c = 1;
  T p = 0;
  for (std::int64_t i = last; i-- > first;) {
    const T f = s * e[i];
    const T b = c * e[i];
    const T r = length_of(f, g);
    if (i + 1 < last) e[i + 1] = r;
    if (r == 0) {  // the part falls apart
      d[i + 1] -= p;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    const T t = (d[i] - g) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = g + p;
    g = c * t - b;
    loops.rotate(vectors + (i + 1) * stride, vectors + i * stride, n, c, s);
  }
  d[first] -= p;
  e[first] = g;
}

}  // namespace

template <class T>
bool solve_by_implicit_ql(const DenseLoops<T>& loops, T* diagonal, T* off_diagonal, std::int64_t n, T* vectors,
                          std::int64_t stride) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::fill_n(vectors + i * stride, n, T{0});
    vectors[i * stride + i] = 1;
  }
  for (std::int64_t first = 0; first < n; ++first) {
    for (int sweeps = 0;; ++sweeps) {
      const std::int64_t last = end_of_part(diagonal, off_diagonal, first, n);
      if (last == first) break;
      if (sweeps == kMaxSweeps) return false;
      sweep(loops, diagonal, off_diagonal, first, last, n, vectors, stride);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t least = std::min_element(diagonal + i, diagonal + n) - diagonal;
    if (least == i) continue;
    std::swap(diagonal[i], diagonal[least]);
    std::swap_ranges(vectors + i * stride, vectors + i * stride + n, vectors + least * stride);
  }
  return true;
}

template bool solve_by_implicit_ql(const DenseLoops<double>&, double*, double*, std::int64_t, double*, std::int64_t);
template bool solve_by_implicit_ql(const DenseLoops<float>&, float*, float*, std::int64_t, float*, std::int64_t);

}  // namespace gradstep::cpu
