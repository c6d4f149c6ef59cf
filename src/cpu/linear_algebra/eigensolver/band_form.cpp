// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/band_form.h"

#include <algorithm>

#include "cpu/linear_algebra/eigensolver/strips.h"

namespace gradstep::cpu {

namespace {

template <class T>
std::int64_t blocks_of(std::int64_t n) {
  return (n + kBand<T> - 1) / kBand<T>;
}

}  // namespace

template <class T>
void BandForm<T>::reserve(std::int64_t n) {
  resize(n);
  block_.reserve_to_conjugate(n);
}

template <class T>
void BandForm<T>::resize(std::int64_t n) {
  const std::int64_t numbers = blocks_of<T>(n) * kWidth * kWidth;
  grow(diagonal_, numbers);
  grow(below_, numbers);
  grow(scales_, n);
  grow(panel_, 3 * kPanel * n);
  grow(columns_, 3 * kWidth * n);
  if (n >= kSmallestInStrips) grow(strips_, kStrips * kWidth * n);
}

/// Columns [first, first + kWidth) from the diagonal on, as the reflectors of the panel before them have left them,
/// into columns_. Their block on the diagonal goes to the band.
template <class T>
void BandForm<T>::take_columns(const Products<T>& products, const T* a, std::int64_t n, std::int64_t panel,
                               std::int64_t first) {
  const std::int64_t rows = n - first;
  const std::int64_t count = std::min(kWidth, rows);
  const std::int64_t before = first - panel;
  T* columns = columns_.data();
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(a + (first + i) * n + first, count, columns + i * kWidth);
  const Operand<T> v{a + panel * n + first, n};
  const Operand<T> w{panel_.data() + first, n};
  for (const auto& [left, right] : {std::pair{v, w}, std::pair{w, v}}) {
    if (before == 0) break;
    products.multiply({.rows = rows,
                       .columns = count,
                       .depth = before,
                       .a = left.transposed(),
                       .b = right,
                       .c = columns,
                       .c_stride = kWidth,
                       .keep = 1,
                       .add = -1});
  }
  T* block = diagonal_.data() + first * kWidth;
  std::fill_n(block, kWidth * kWidth, T{0});
  for (std::int64_t i = 0; i < kWidth; ++i) {
    for (std::int64_t j = 0; j <= i && i < count; ++j) {
      block[i * kWidth + j] = block[j * kWidth + i] = columns[i * kWidth + j];
    }
    if (i >= count) block[i * kWidth + i] = diagonal_[0];
  }
}

/// What is below that block becomes a triangle of the band, and the reflectors go to rows of `a`.
template <class T>
void BandForm<T>::make_reflectors(const Products<T>& products, T* a, std::int64_t n, std::int64_t panel,
                                  std::int64_t first) {
  const DenseLoops<T>& loops = products.loops();
  const std::int64_t below = first + kWidth;
  const std::int64_t rows = n - below;
  const T* columns = columns_.data() + kWidth * kWidth;
  T* reflectors = a + first * n + below;
  for (std::int64_t k = 0; k < kWidth; ++k) {
    for (std::int64_t i = 0; i < rows; ++i) reflectors[k * n + i] = columns[i * kWidth + k];
  }
  T* block = below_.data() + first * kWidth;
  std::fill_n(block, kWidth * kWidth, T{0});
  for (std::int64_t k = 0; k < kWidth; ++k) {
    T* v = reflectors + k * n;
    T& scale = scales_[static_cast<std::size_t>(first + k)];
    scale = 0;
    const std::int64_t above = std::min(k, rows);
    for (std::int64_t i = 0; i < above; ++i) block[i * kWidth + k] = v[i];
    if (k < rows) {
      const Reflection<T> reflection = make_reflector(loops, v + k, rows - k);
      block[k * kWidth + k] = reflection.beta;
      scale = reflection.scale;
      for (std::int64_t other = k + 1; other < kWidth; ++other) {
        T* column = reflectors + other * n + k;
        loops.add_scaled(-scale * loops.dot(v + k, column, rows - k), v + k, rows - k, column);
      }
    }
    std::fill(a + (first + k) * n + panel, v + above, T{0});
  }
}

/// w of these reflectors. With Y = (A - V W^T - W V^T) v T of what is pending and the new v, w = Y - 1/2 v T^T v^T Y.
template <class T>
void BandForm<T>::find_update(const Products<T>& products, const T* a, std::int64_t n, std::int64_t panel,
                              std::int64_t first) {
  const std::int64_t below = first + kWidth;
  const std::int64_t rows = n - below;
  const std::int64_t before = first - panel;
  const Operand<T> reflectors{a + first * n + below, n};
  T* v = columns_.data();
  T* turned = v + n * kWidth;
  T* y = turned + n * kWidth;
  block_.form(products, reflectors.data, n, kWidth, rows, scales_.data() + first);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < kWidth; ++k) v[i * kWidth + k] = reflectors.data[k * n + i];
  }
  const T* rest = a + below * n + below;
  multiply_in_strips(products, rows, kWidth, strips_.data(), turned,
                     [&](std::int64_t begin, std::int64_t end, T* sums) {
                       products.loops().multiply_symmetric_band(rest, n, begin, end, v, sums);
                     });
  T small[static_cast<unsigned>(kPanel * kWidth)];
  const Operand<T> earlier_v{a + panel * n + below, n};
  const Operand<T> earlier_w{panel_.data() + below, n};
  for (const auto& [left, right] : {std::pair{earlier_v, earlier_w}, std::pair{earlier_w, earlier_v}}) {
    if (before == 0) break;
    products.multiply({.rows = before,
                       .columns = kWidth,
                       .depth = rows,
                       .a = right,
                       .b = {v, kWidth},
                       .c = small,
                       .c_stride = kWidth});
    products.multiply({.rows = rows,
                       .columns = kWidth,
                       .depth = before,
                       .a = left.transposed(),
                       .b = {small, kWidth},
                       .c = turned,
                       .c_stride = kWidth,
                       .keep = 1,
                       .add = -1});
  }
  products.multiply({.rows = rows,
                     .columns = kWidth,
                     .depth = kWidth,
                     .a = {turned, kWidth},
                     .b = block_.triangle(),
                     .c = y,
                     .c_stride = kWidth});
  T gram[static_cast<unsigned>(kWidth * kWidth)];
  products.multiply({.rows = kWidth,
                     .columns = kWidth,
                     .depth = rows,
                     .a = reflectors,
                     .b = {y, kWidth},
                     .c = gram,
                     .c_stride = kWidth});
  products.multiply({.rows = kWidth,
                     .columns = kWidth,
                     .depth = kWidth,
                     .a = block_.triangle().transposed(),
                     .b = {gram, kWidth},
                     .c = small,
                     .c_stride = kWidth});
  products.multiply({.rows = rows,
                     .columns = kWidth,
                     .depth = kWidth,
                     .a = {v, kWidth},
                     .b = {small, kWidth},
                     .c = y,
                     .c_stride = kWidth,
                     .keep = 1,
                     .add = T(-0.5)});
  T* w = panel_.data() + before * n + below;
  for (std::int64_t k = 0; k < kWidth; ++k) {
    for (std::int64_t i = 0; i < rows; ++i) w[k * n + i] = y[i * kWidth + k];
  }
}

template <class T>
void BandForm<T>::reduce(const Products<T>& products, T* a, std::int64_t n) {
  resize(n);
  blocks_ = blocks_of<T>(n);
  for (std::int64_t panel = 0; panel < n; panel += kPanel) {
    const std::int64_t end = std::min(n, panel + kPanel);
    for (std::int64_t first = panel; first < end; first += kWidth) {
      take_columns(products, a, n, panel, first);
      if (n - first <= kWidth) return;
      make_reflectors(products, a, n, panel, first);
      find_update(products, a, n, panel, first);
    }
    // A panel that is not the last has all its columns.
    subtract_panel(products, a, n, panel, kPanel, panel_.data());
  }
}

template <class T>
void BandForm<T>::transform_function(const Products<T>& products, const T* reflectors, std::int64_t n,
                                     BandRoot<T>& of_band, T* f) {
  of_band.write(f);
  const std::int64_t count = n - kWidth;
  const std::int64_t last = count > 0 ? (count - 1) / kPanel * kPanel : -1;
  for (std::int64_t first = last; first >= 0; first -= kPanel) {
    const std::int64_t begin = first + kWidth;
    block_.form(products, reflectors + first * n + begin, n, std::min(kPanel, count - first), n - begin,
                scales_.data() + first);
    block_.conjugate(products, f + begin * (n + 1), n, begin);
  }
  products.loops().mirror_lower(f, n, n);
}

template class BandForm<double>;
template class BandForm<float>;

}  // namespace gradstep::cpu
