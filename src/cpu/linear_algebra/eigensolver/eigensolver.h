// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/linear_algebra/eigensolver/divide_and_conquer.h"
#include "cpu/linear_algebra/eigensolver/tridiagonal_form.h"

namespace gradstep::cpu {

/// Eigenvectors of symmetric matrices: tridiagonal form, divide and conquer, and back. Accurate to the precision times
/// the matrix' norm. With the scratch of a thread, which grows.
template <class T>
class Eigensolver {
 public:
  /// Eigenvalues of a (n, n) into `values`, ascending, eigenvectors into the rows of `vectors` (n, n). The lower
  /// triangle of `a` is read. `scratch`: four times n^2 numbers. False if a number is not finite, or if it did not
  /// converge.
  bool decompose(const Products<T>& products, const T* a, std::int64_t n, T* values, T* vectors, T* scratch);

  std::size_t bytes() const { return form_.bytes() + conquer_.bytes() + off_diagonal_.capacity() * sizeof(T); }

 private:
  TridiagonalForm<T> form_;
  DivideAndConquer<T> conquer_;
  std::vector<T> off_diagonal_;
};

extern template class Eigensolver<double>;
extern template class Eigensolver<float>;

}  // namespace gradstep::cpu
