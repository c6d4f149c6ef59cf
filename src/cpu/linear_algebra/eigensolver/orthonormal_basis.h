// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/linear_algebra/eigensolver/reflectors.h"

namespace gradstep::cpu {

/// Q of A = Q R by Householder's reflectors.
template <class T>
class OrthonormalBasis {
 public:
  /// Columns of A are the rows of a (n, n), which is overwritten; those of Q become the rows of q (n, n).
  void make(const Products<T>& products, T* a, std::int64_t n, T* q);

  /// So that matrices up to n x n take no memory.
  void reserve(std::int64_t n) {
    scales_.reserve(static_cast<std::size_t>(n));
    block_.reserve_to_apply(n);
  }
  std::size_t bytes() const { return scales_.capacity() * sizeof(T) + block_.bytes(); }

 private:
  std::vector<T> scales_;
  ReflectorBlock<T> block_;
};

extern template class OrthonormalBasis<double>;
extern template class OrthonormalBasis<float>;

}  // namespace gradstep::cpu
