// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_vector.h"
#include "cpu/linear_algebra/band_root.h"
#include "cpu/linear_algebra/eigensolver/reflectors.h"

namespace gradstep::cpu {

/// A = H_0 H_1 ... B ... H_1 H_0 of a symmetric matrix, B block tridiagonal with blocks of kBand rows (Bischof, Lang
/// and Sun 2000): kBand columns become reflectors together, so that the matrix is read once for so many, and products
/// with vectors become products of matrices. The rest of the matrix follows in one product for each panel.
template <class T>
class BandForm {
 public:
  /// Reads the lower triangle of a (n, n), whose rows become the reflectors: row k is v_k, with zeros before k + kBand
  /// as far back as its block begins.
  void reduce(const Products<T>& products, T* a, std::int64_t n);

  /// B, extended to whole blocks by a number of its diagonal.
  BlockTridiagonal<T> band() const { return {diagonal_.data(), below_.data(), blocks_}; }

  /// f (n, n), a function of A, from that of B.
  void transform_function(const Products<T>& products, const T* reflectors, std::int64_t n, BandRoot<T>& of_band, T* f);

  /// So that matrices up to n x n take no memory.
  void reserve(std::int64_t n);
  std::size_t bytes() const {
    return (diagonal_.capacity() + below_.capacity() + scales_.capacity() + panel_.capacity() + columns_.capacity() +
            strips_.capacity()) *
               sizeof(T) +
           block_.bytes();
  }

 private:
  static constexpr std::int64_t kWidth = kBand<T>;
  static constexpr std::int64_t kPanel = ReflectorBlock<T>::kReflectors;  // of columns between updates of the rest
  static_assert(kPanel % kWidth == 0);

  void resize(std::int64_t n);
  void take_columns(const Products<T>& products, const T* a, std::int64_t n, std::int64_t panel, std::int64_t first);
  void make_reflectors(const Products<T>& products, T* a, std::int64_t n, std::int64_t panel, std::int64_t first);
  void find_update(const Products<T>& products, const T* a, std::int64_t n, std::int64_t panel, std::int64_t first);

  std::int64_t blocks_ = 0;
  std::vector<T> diagonal_;
  std::vector<T> below_;
  std::vector<T> scales_;
  std::vector<T> panel_;      // of each reflector w, v and w once more
  AlignedVector<T> columns_;  // (n, kWidth) of A or V, twice of A V
  AlignedVector<T> strips_;
  ReflectorBlock<T> block_;
};

extern template class BandForm<double>;
extern template class BandForm<float>;

}  // namespace gradstep::cpu
