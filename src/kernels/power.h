// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// base^n in f64 by squaring: one bit pattern on every machine, unlike std::pow. The squares b^(2^i) are multiplied from
// the highest bit of n down, so that the products of the high bits can be kept: the next n costs two products on
// average.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// How many bits it takes to write the number. nvcc 13.0 with libstdc++ 12 silently folds std::bit_width to a constant,
/// and the other functions of <bit> that count.
GRADSTEP_FORMULA int bit_width(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return 64 - __clzll(static_cast<long long>(bits));
#else
  return static_cast<int>(std::bit_width(bits));
#endif
}

class Power {
 public:
  /// n >= 0.
  GRADSTEP_FORMULA double operator()(double base, std::int64_t n) {
    const auto bits = static_cast<std::uint64_t>(n);
    if (base != base_) {
      base_ = base;
      squares_[0] = base;
      known_ = 1;
      n_ = 0;
    }
    // products_[i] is the product over the bits i and above; it stays valid while those bits do.
    int bit = bit_width(bits ^ n_);
    const int width = bit_width(bits);
    for (; known_ < width; ++known_) squares_[known_] = squares_[known_ - 1] * squares_[known_ - 1];
    if (bit > width) bit = width;
    double product = bit < width ? products_[bit] : 1;
    while (bit-- > 0) {
      if (((bits >> bit) & 1) != 0) product *= squares_[bit];
      products_[bit] = product;
    }
    n_ = bits;
    return product;
  }

 private:
  double base_ = 0;
  std::uint64_t n_ = 0;
  int known_ = 1;
  double squares_[64] = {0};
  double products_[64] = {0};
};

/// next(...next(next(initial, 1), 2)..., n), kept for the next n. A step costs one call of `next`; another key, or a
/// smaller n, begins anew.
class Fold {
 public:
  template <class Next>
  GRADSTEP_FORMULA double operator()(double key, double other_key, std::int64_t n, double initial, Next next) {
    if (key != key_ || other_key != other_key_ || n < n_ || n_ == 0) {
      key_ = key;
      other_key_ = other_key;
      n_ = 0;
      value_ = initial;
    }
    while (n_ < n) value_ = next(value_, ++n_);
    return value_;
  }

 private:
  double key_ = 0;
  double other_key_ = 0;
  std::int64_t n_ = 0;
  double value_ = 0;
};

}  // namespace gradstep::kernels
