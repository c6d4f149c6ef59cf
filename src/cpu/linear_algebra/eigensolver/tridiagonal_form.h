// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_vector.h"
#include "cpu/linear_algebra/eigensolver/reflectors.h"
#include "cpu/linear_algebra/tridiagonal_root.h"

namespace gradstep::cpu {

/// A = H_0 H_1 ... T ... H_1 H_0 of a symmetric matrix, T tridiagonal (Dongarra, Hammarling and Sorensen 1989): panels
/// of columns are reduced one by one, the rest of the matrix follows in one product for each panel. Half of the work is
/// products with vectors.
template <class T>
class TridiagonalForm {
 public:
  /// Reads the lower triangle of a (n, n), whose rows become the reflectors: row k is v_k, with zeros before k + 1 as
  /// far back as its block begins. Below diagonal[k] stands off_diagonal[k].
  void reduce(const Products<T>& products, T* a, std::int64_t n, T* diagonal, T* off_diagonal);

  /// The rows of x (n, n), eigenvectors of T, become those of A.
  void transform_back(const Products<T>& products, const T* reflectors, std::int64_t n, T* x);

  /// f (n, n), a function of A, from that of T.
  void transform_function(const Products<T>& products, const T* reflectors, std::int64_t n,
                          TridiagonalRoot<T>& of_tridiagonal, T* f);

  /// So that matrices up to n x n take no memory.
  void reserve(std::int64_t n);
  std::size_t bytes() const {
    return (scales_.capacity() + panel_.capacity() + columns_.capacity() + strips_.capacity()) * sizeof(T) +
           block_.bytes();
  }

 private:
  static constexpr std::int64_t kPanel = 32;                              // of columns that are reduced one by one
  static constexpr std::int64_t kBlock = ReflectorBlock<T>::kReflectors;  // of reflectors that turn back together
  static constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  static_assert(kBlock % kPanel == 0 && kPanel % kLine == 0);

  void reduce_panel(const Products<T>& products, T* a, std::int64_t n, std::int64_t first, std::int64_t end,
                    T* diagonal, T* off_diagonal);
  void take_columns(const T* a, std::int64_t n, std::int64_t first);
  template <class Body>
  void for_each_block_backwards(const Products<T>& products, const T* reflectors, std::int64_t n, Body body);
  void multiply_symmetric(const Products<T>& products, const T* a, std::int64_t n, std::int64_t count, const T* x,
                          T* y);

  std::vector<T> scales_;
  AlignedVector<T> panel_;    // of each reflector w, v and w once more
  AlignedVector<T> columns_;  // (kLine, n), transposed
  std::vector<T> strips_;
  ReflectorBlock<T> block_;
};

extern template class TridiagonalForm<double>;
extern template class TridiagonalForm<float>;

}  // namespace gradstep::cpu
