// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/linear_algebra/eigensolver/divide_and_conquer.h"
#include "cpu/linear_algebra/eigensolver/tridiagonal_form.h"

namespace gradstep::cpu {

/// Multiplies the lower triangle of a (n, n) by the power of two, 2^-exponent, that takes its largest number to 1 or
/// less: squares stay finite, and nothing is rounded. False if a number is not finite.
template <class T>
bool scale_down(T* a, std::int64_t n, int& exponent);

/// Eigenvectors of symmetric matrices: tridiagonal form, divide and conquer, and back. Accurate to the precision times
/// the matrix' norm. With the scratch of a thread, which grows.
template <class T>
class Eigensolver {
 public:
  /// Numbers of scratch that find_vectors() takes.
  static std::int64_t scratch_size(std::int64_t n) { return DivideAndConquer<T>::scratch_size(n); }

  /// Eigenvalues of a (n, n) into `values`, ascending, eigenvectors into the rows of `vectors` (n, n). The lower
  /// triangle of `a` is read, and all of it overwritten. `scratch`: scratch_size(n) numbers. False if a number is not
  /// finite, or if it did not converge.
  bool decompose(const Products<T>& products, T* a, std::int64_t n, T* values, T* vectors, T* scratch);

  // In two parts, for callers that may not need the vectors.
  /// The tridiagonal form of 2^-exponent a into `diagonal` and off_diagonal(); the rows of a (n, n) become its
  /// reflectors. False if a number is not finite.
  bool reduce(const Products<T>& products, T* a, std::int64_t n, T* diagonal);
  /// The diagonal becomes a's eigenvalues. `scratch`: scratch_size(n) numbers.
  bool find_vectors(const Products<T>& products, std::int64_t n, T* diagonal, const T* reflectors, T* vectors,
                    T* scratch);

  const T* off_diagonal() const { return off_diagonal_.data(); }
  int exponent() const { return exponent_; }
  TridiagonalForm<T>& form() { return form_; }

  /// So that matrices up to n x n take no memory.
  void reserve(std::int64_t n) {
    form_.reserve(n);
    conquer_.reserve(n);
    off_diagonal_.reserve(static_cast<std::size_t>(n));
  }
  std::size_t bytes() const { return form_.bytes() + conquer_.bytes() + off_diagonal_.capacity() * sizeof(T); }

 private:
  TridiagonalForm<T> form_;
  DivideAndConquer<T> conquer_;
  std::vector<T> off_diagonal_;
  int exponent_ = 0;
};

extern template class Eigensolver<double>;
extern template class Eigensolver<float>;

}  // namespace gradstep::cpu
