// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/band_root.h"

#include <algorithm>
#include <cmath>

namespace gradstep::cpu {

namespace {

template <class T>
constexpr std::int64_t kBlockSize = kBand<T> * kBand<T>;

template <class T>
std::size_t scratch_size(std::int64_t blocks) {
  return static_cast<std::size_t>((blocks + 4) * kBlockSize<T> * kBand<T>);
}

}  // namespace

template <class T>
void BandRoot<T>::begin(const Products<T>& products, const BlockTridiagonal<T>& matrix, std::int64_t n) {
  loops_ = &products.loops();
  matrix_ = matrix;
  n_ = n;
  grow(scratch_, scratch_size<T>(matrix.blocks));
}

/// How many of kSturmShifts, from the first one on, make sign B + shift I positive definite.
template <class T>
std::int64_t BandRoot<T>::count_definite(T sign, const T* shifts) {
  static_assert(kSturmShifts % kBand<T> == 0);
  T definite[kSturmShifts];
  for (std::int64_t k = 0; k < kSturmShifts; k += kBand<T>) {
    loops_->find_definite(matrix_, sign, shifts + k, scratch_.data(), definite + k);
  }
  return std::find(definite, definite + kSturmShifts, T{0}) - definite;
}

/// Between a number of the diagonal and Gershgorin's bound.
template <class T>
double BandRoot<T>::largest_eigenvalue() {
  T low = matrix_.diagonal[0];
  T high = matrix_.diagonal[0];
  for (std::int64_t row = 0; row < n_; ++row) {
    const std::int64_t block = row / kBand<T>;
    const std::int64_t i = row % kBand<T>;
    const T* diagonal = matrix_.diagonal + block * kBlockSize<T>;
    const T* below = matrix_.below + block * kBlockSize<T>;
    const T own = diagonal[i * kBand<T> + i];
    T bound = own - std::abs(own);
    for (std::int64_t j = 0; j < kBand<T>; ++j) {
      bound += std::abs(diagonal[i * kBand<T> + j]);
      if (block > 0) bound += std::abs((below - kBlockSize<T>)[i * kBand<T> + j]);
      if (block + 1 < matrix_.blocks) bound += std::abs(below[j * kBand<T> + i]);
    }
    low = std::max(low, own);
    high = std::max(high, bound);
  }
  // Shift - B for descending shifts.
  largest_ = bound_largest_eigenvalue(low, high, [this](const T* shifts) {
    T descending[kSturmShifts];
    std::reverse_copy(shifts, shifts + kSturmShifts, descending);
    return kSturmShifts - count_definite(T{-1}, descending);
  });
  return largest_;
}

template <class T>
void BandRoot<T>::reserve(std::int64_t n, double epsilon) {
  const std::int64_t blocks = (n + kBand<T> - 1) / kBand<T>;
  scratch_.reserve(scratch_size<T>(blocks));
  sum_.reserve(blocks * kBlockSize<T>, blocks * kBand<T> * kBandStrip<T>, epsilon);
}

template <class T>
bool BandRoot<T>::expand(double ridge, std::int32_t exponent, double scale) {
  const double smallest = bound_smallest_damped<T>(largest_, ridge, [this](const T* shifts) {
    T negated[kSturmShifts];
    std::transform(shifts, shifts + kSturmShifts, negated, [](T shift) { return -shift; });
    return count_definite(T{1}, negated);
  });
  const std::int64_t numbers = matrix_.blocks * kBlockSize<T>;
  const std::int64_t strip = matrix_.blocks * kBand<T> * kBandStrip<T>;
  if (!(smallest > 0) || !sum_.expand(exponent, ridge, smallest, largest_, numbers, strip)) return false;
  loops_->find_block_resolvents(matrix_, sum_.poles(), scratch_.data(), sum_.diagonals(), sum_.ratios());
  scale_ = static_cast<T>(scale);
  return true;
}

template <class T>
void BandRoot<T>::write(T* f) {
  loops_->sum_block_resolvents(sum_.diagonals(), sum_.ratios(), sum_.poles().count, n_, scale_, sum_.strip(), f);
}

template class BandRoot<double>;
template class BandRoot<float>;

}  // namespace gradstep::cpu
