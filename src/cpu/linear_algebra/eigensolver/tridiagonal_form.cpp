// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/tridiagonal_form.h"

#include <algorithm>

#include "cpu/linear_algebra/eigensolver/strips.h"

namespace gradstep::cpu {

namespace {

// The products of a block that do not grow with the matrix cost more than is gained below it.
constexpr std::int64_t kSmallestOfBlocks = 256;

}  // namespace

/// y = a x, of the last `count` rows and columns of a (n, n). Back to the beginning of a line of 64 bytes, the numbers
/// before x are zero, and those before y may change.
template <class T>
void TridiagonalForm<T>::multiply_symmetric(const Products<T>& products, const T* a, std::int64_t n, std::int64_t count,
                                            const T* x, T* y) {
  const T* corner = a + (n - count) * (n + 1);
  // The sums of strips have no room before them.
  const bool is_whole = count < kSmallestInStrips && n % kLine == 0;
  const std::int64_t before = is_whole ? (n - count) % kLine : 0;
  multiply_in_strips(products, count, 1, strips_.data(), y, [&](std::int64_t begin, std::int64_t end, T* sums) {
    products.loops().multiply_symmetric(corner, n, begin, end, x, sums, before);
  });
}

/// Columns of a, as many as a line has numbers and from `first` on, into the rows of columns_. Rows before `first` are
/// left out.
template <class T>
void TridiagonalForm<T>::take_columns(const T* a, std::int64_t n, std::int64_t first) {
  const std::int64_t count = std::min(kLine, n - first);
  for (std::int64_t i = first; i < n; ++i) {
    for (std::int64_t k = 0; k < count; ++k) columns_[static_cast<std::size_t>(k * n + i)] = a[i * n + first + k];
  }
}

/// Columns first to end, whose rows become reflectors. The rest of `a` stays as it was, and is A - V W^T - W V^T.
template <class T>
void TridiagonalForm<T>::reduce_panel(const Products<T>& products, T* a, std::int64_t n, std::int64_t first,
                                      std::int64_t end, T* diagonal, T* off_diagonal) {
  const DenseLoops<T>& loops = products.loops();
  for (std::int64_t j = first; j < end; ++j) {
    const std::int64_t earlier = j - first;
    if (earlier % kLine == 0) take_columns(a, n, j);
    T* column = columns_.data() + earlier % kLine * n;
    const T* earlier_v = a + first * n;
    const T* earlier_w = panel_.data();
    T of_v[kPanel];
    T of_w[kPanel];
    for (std::int64_t k = 0; k < earlier; ++k) {
      of_v[k] = earlier_w[k * n + j];
      of_w[k] = earlier_v[k * n + j];
    }
    // From a line's beginning, so that vectors do not straddle lines. What stands before j is not read.
    std::int64_t line = j / kLine * kLine;
    loops.subtract_rows(of_v, earlier_v + line, n, earlier, n - line, column + line);
    loops.subtract_rows(of_w, earlier_w + line, n, earlier, n - line, column + line);
    diagonal[j] = column[j];
    if (j + 1 == n) return;
    const std::int64_t below = j + 1;
    const std::int64_t count = n - below;
    const Reflection<T> reflection = make_reflector(loops, column + below, count);
    off_diagonal[j] = reflection.beta;
    scales_[static_cast<std::size_t>(j)] = reflection.scale;
    T* v = a + j * n;
    T* w = panel_.data() + earlier * n;
    std::fill(v + first / kBlock * kBlock, v + below, T{0});
    std::copy_n(column + below, count, v + below);
    if (reflection.scale == 0) {
      std::fill_n(w + below, count, T{0});
      continue;
    }
    multiply_symmetric(products, a, n, count, v + below, w + below);
    loops.multiply_vector(earlier_v + below, n, earlier, v + below, count, of_w);
    loops.multiply_vector(earlier_w + below, n, earlier, v + below, count, of_v);
    line = below / kLine * kLine;
    loops.subtract_rows(of_v, earlier_v + line, n, earlier, n - line, w + line);
    loops.subtract_rows(of_w, earlier_w + line, n, earlier, n - line, w + line);
    for (std::int64_t i = below; i < n; ++i) w[i] *= reflection.scale;
    const T share = reflection.scale / 2 * loops.dot(w + below, v + below, count);
    loops.add_scaled(-share, v + below, count, w + below);
  }
}

template <class T>
void TridiagonalForm<T>::reserve(std::int64_t n) {
  const auto count = static_cast<std::size_t>(n);
  scales_.reserve(count);
  columns_.reserve(static_cast<std::size_t>(kLine) * count);
  panel_.reserve(static_cast<std::size_t>(3 * kPanel) * count);
  if (n >= kSmallestInStrips) strips_.reserve(static_cast<std::size_t>(kStrips) * count);
  block_.reserve_to_apply(n);
  block_.reserve_to_conjugate(n);
}

template <class T>
void TridiagonalForm<T>::reduce(const Products<T>& products, T* a, std::int64_t n, T* diagonal, T* off_diagonal) {
  scales_.resize(static_cast<std::size_t>(n));
  columns_.resize(static_cast<std::size_t>(kLine * n));
  panel_.resize(static_cast<std::size_t>(3 * kPanel * n));
  if (n >= kSmallestInStrips) strips_.resize(static_cast<std::size_t>(kStrips * n));
  for (std::int64_t first = 0; first < n; first += kPanel) {
    const std::int64_t end = std::min(n, first + kPanel);
    reduce_panel(products, a, n, first, end, diagonal, off_diagonal);
    // A panel that is not the last has all its columns.
    if (end < n) subtract_panel(products, a, n, first, kPanel, panel_.data());
  }
}

/// body(first) when block_ is that of the reflectors that begin with `first`, the last ones first.
template <class T>
template <class Body>
void TridiagonalForm<T>::for_each_block_backwards(const Products<T>& products, const T* reflectors, std::int64_t n,
                                                  Body body) {
  const std::int64_t count = n - 1;
  if (count == 0) return;
  const std::int64_t block = n < kSmallestOfBlocks ? kPanel : kBlock;
  for (std::int64_t first = (count - 1) / block * block; first >= 0; first -= block) {
    const std::int64_t size = std::min(block, count - first);
    const T* rows = reflectors + first * n + first + 1;
    block_.form(products, rows, n, size, n - first - 1, scales_.data() + first);
    body(first);
  }
}

template <class T>
void TridiagonalForm<T>::transform_back(const Products<T>& products, const T* reflectors, std::int64_t n, T* x) {
  for_each_block_backwards(products, reflectors, n, [&](std::int64_t first) {
    block_.apply(products, /*backwards=*/true, x + first + 1, n, n);
  });
}

template <class T>
void TridiagonalForm<T>::transform_function(const Products<T>& products, const T* reflectors, std::int64_t n,
                                            TridiagonalRoot<T>& of_tridiagonal, T* f) {
  std::int64_t written = n;  // the first column of f that is
  for_each_block_backwards(products, reflectors, n, [&](std::int64_t first) {
    const std::int64_t begin = first + 1;
    if (written > 0) written = of_tridiagonal.write_columns(products, begin, f);
    block_.conjugate(products, f + begin * (n + 1), n, begin - written);
    if (written > 0) {
      block_.apply(products, /*backwards=*/true, of_tridiagonal.rows() + begin, n, of_tridiagonal.summands());
    }
  });
  if (written > 0) of_tridiagonal.write_columns(products, 0, f);
  products.loops().mirror_lower(f, n, n);
}

template class TridiagonalForm<double>;
template class TridiagonalForm<float>;

}  // namespace gradstep::cpu
