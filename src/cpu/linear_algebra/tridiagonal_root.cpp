// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/tridiagonal_root.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/linear_algebra/eigensolver/reflectors.h"

namespace gradstep::cpu {

namespace {

template <class T>
constexpr std::int64_t kStrip = 64 / static_cast<std::int64_t>(sizeof(T));  // columns of a sum

/// Columns that are as cheap to multiply by H as rows(): half of them are left on the average.
std::int64_t few_columns(std::int64_t summands) { return 2 * summands; }

template <class T>
T unless_vanished(T number) {
  return std::abs(number) < kVanished<T> ? T{0} : number;
}

}  // namespace

template <class T>
void TridiagonalRoot<T>::begin(const Products<T>& products, const T* diagonal, const T* off_diagonal, std::int64_t n) {
  loops_ = &products.loops();
  matrix_ = {diagonal, off_diagonal, n, std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon()};
  largest_ = std::numeric_limits<double>::quiet_NaN();
}

/// By counting, from Gershgorin's bounds to a few roundings.
template <class T>
double TridiagonalRoot<T>::largest_eigenvalue() {
  const auto [diagonal, off_diagonal, n, smallest_pivot] = matrix_;
  T low = diagonal[0];
  T high = diagonal[0];
  for (std::int64_t i = 0; i < n; ++i) {
    const T before = i > 0 ? std::abs(off_diagonal[i - 1]) : T{0};
    const T after = i + 1 < n ? std::abs(off_diagonal[i]) : T{0};
    low = std::max(low, diagonal[i]);  // no more than the largest one
    high = std::max(high, diagonal[i] + before + after);
  }
  largest_ = bound_largest_eigenvalue(low, high, [this](const T* shifts) {
    std::int64_t counts[kSturmShifts];
    count_below(shifts, counts);
    return std::find(counts, counts + kSturmShifts, matrix_.n) - counts;
  });
  return largest_;
}

template <class T>
void TridiagonalRoot<T>::reserve(std::int64_t n, double epsilon) {
  sum_.reserve(n, n * kStrip<T>, epsilon);
  const std::int64_t poles = sum_.reserved_poles();
  const std::int64_t most_columns = std::min(n, few_columns(poles) + ReflectorBlock<T>::kReflectors);
  rows_.reserve(static_cast<std::size_t>(poles * n));
  columns_.reserve(static_cast<std::size_t>(poles * most_columns));
  products_of_ratios_.reserve(static_cast<std::size_t>(poles));
}

template <class T>
bool TridiagonalRoot<T>::expand(double ridge, std::int32_t exponent, double scale) {
  const double smallest = bound_smallest_damped<T>(largest_, ridge, [this](const T* shifts) {
    std::int64_t counts[kSturmShifts];
    count_below(shifts, counts);
    return std::find_if(counts, counts + kSturmShifts, [](std::int64_t count) { return count > 0; }) - counts;
  });
  const std::int64_t n = matrix_.n;
  if (!(smallest > 0) || !sum_.expand(exponent, ridge, smallest, largest_, n, n * kStrip<T>)) return false;
  loops_->find_resolvents(matrix_, sum_.poles(), sum_.diagonals(), sum_.ratios());
  scale_ = static_cast<T>(scale);
  written_ = n;
  grow(rows_, summands() * n);
  grow(products_of_ratios_, summands());
  return true;
}

/// Rows from `end` on of the columns [begin, end) of f. The factor of column j is the number on the diagonal times the
/// ratios of rows j + 1 to end - 1.
template <class T>
void TridiagonalRoot<T>::write_below(const Products<T>& products, std::int64_t begin, std::int64_t end, T* f) {
  const std::int64_t n = matrix_.n;
  const std::int64_t count = summands();
  const std::int64_t width = end - begin;
  grow(columns_, count * width);
  T* ratios = products_of_ratios_.data();
  std::fill_n(ratios, count, T{1});
  for (std::int64_t j = end; j-- > begin;) {
    const T* diagonals = sum_.diagonals() + j * count;
    const T* own = sum_.ratios() + j * count;
    for (std::int64_t k = 0; k < count; ++k) {
      columns_[static_cast<std::size_t>(k * width + j - begin)] = scale_ * diagonals[k] * ratios[k];
      ratios[k] = unless_vanished(ratios[k] * own[k]);
    }
  }
  products.multiply({.rows = n - end,
                     .columns = width,
                     .depth = count,
                     .a = Operand<T>{rows_.data() + end, n}.transposed(),
                     .b = {columns_.data(), width},
                     .c = f + end * n + begin,
                     .c_stride = n});
}

/// Number i of each of rows() becomes the product of the ratios of rows `begin` to i. From `end` on, H has turned the
/// products of `end` to i.
template <class T>
void TridiagonalRoot<T>::take_rows(std::int64_t begin, std::int64_t end) {
  const std::int64_t n = matrix_.n;
  const std::int64_t count = summands();
  T* ratios = products_of_ratios_.data();
  std::fill_n(ratios, count, T{1});
  for (std::int64_t i = begin; i < end; ++i) {
    const T* own = sum_.ratios() + i * count;
    for (std::int64_t k = 0; k < count; ++k) {
      ratios[k] = unless_vanished(ratios[k] * own[k]);
      rows_[static_cast<std::size_t>(k * n + i)] = ratios[k];
    }
  }
  for (std::int64_t k = 0; k < count; ++k) {
    T* row = rows_.data() + k * n;
    for (std::int64_t i = end; i < n; ++i) row[i] = unless_vanished(row[i] * ratios[k]);
  }
}

template <class T>
std::int64_t TridiagonalRoot<T>::write_columns(const Products<T>& products, std::int64_t begin, T* f) {
  const std::int64_t n = matrix_.n;
  const std::int64_t count = summands();
  const std::int64_t end = written_;
  written_ = begin < few_columns(count) ? 0 : begin;
  const std::int64_t own = written_ * count;
  loops_->sum_resolvents(sum_.diagonals() + own, sum_.ratios() + own, count, end - written_, scale_, sum_.strip(),
                         f + written_ * (n + 1), n);
  if (end < n) write_below(products, written_, end, f);
  if (written_ > 0) take_rows(written_, end);
  return written_;
}

template class TridiagonalRoot<double>;
template class TridiagonalRoot<float>;

}  // namespace gradstep::cpu
