// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/tridiagonal_root.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstep::cpu {

namespace {

template <class T>
constexpr std::int64_t kStrip = 64 / static_cast<std::int64_t>(sizeof(T));  // columns of a sum

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
}

template <class T>
bool TridiagonalRoot<T>::compute(double ridge, std::int32_t exponent, double scale, T* f) {
  const double smallest = bound_smallest_damped<T>(largest_, ridge, [this](const T* shifts) {
    std::int64_t counts[kSturmShifts];
    count_below(shifts, counts);
    return std::find_if(counts, counts + kSturmShifts, [](std::int64_t count) { return count > 0; }) - counts;
  });
  const std::int64_t n = matrix_.n;
  if (!(smallest > 0) || !sum_.expand(exponent, ridge, smallest, largest_, n, n * kStrip<T>)) return false;
  const Poles<T> poles = sum_.poles();
  loops_->find_resolvents(matrix_, poles, sum_.diagonals(), sum_.ratios());
  loops_->sum_resolvents(sum_.diagonals(), sum_.ratios(), poles.count, n, static_cast<T>(scale), sum_.strip(), f);
  return true;
}

template class TridiagonalRoot<double>;
template class TridiagonalRoot<float>;

}  // namespace gradstep::cpu
