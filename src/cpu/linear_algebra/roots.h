// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Inverse p-th roots of damped symmetric matrices.
#pragma once

#include <array>
#include <cstdint>

#include "core/aligned_vector.h"
#include "core/function_ref.h"
#include "core/held_bytes.h"
#include "cpu/linear_algebra/band_root.h"
#include "cpu/linear_algebra/eigensolver/band_form.h"
#include "cpu/linear_algebra/eigensolver/eigensolver.h"
#include "cpu/linear_algebra/eigensolver/orthonormal_basis.h"
#include "cpu/linear_algebra/newton_root.h"
#include "cpu/linear_algebra/products.h"
#include "cpu/linear_algebra/root_options.h"
#include "cpu/linear_algebra/tridiagonal_root.h"

namespace gradstep::cpu {

/// Roots in the arithmetic of T, f64 or f32, with the scratch of a thread, which grows to the largest matrix and stays:
/// two matrices and a half, with coupled Newton five, and numbers by row. What is needed of the statistic once more is
/// read again. Statistics and bases are of f32 or f64.
template <class T>
class RootSolver {
 public:
  /// (S + ridge I)^(-1/p) of an n x n statistic into root().
  template <class Stored>
  RootResult inverse_root(const Stored* statistic, std::int64_t n, const RootOptions& options);

  /// So that `action` on matrices up to n x n takes no memory.
  void reserve(RootAction action, std::int64_t n, const RootOptions& options);

  /// Eigenvectors of an n x n statistic into the columns of root(), largest eigenvalue first. False if there are none.
  template <class Stored>
  bool eigenvectors(const Stored* statistic, std::int64_t n, const RootOptions& options);
  /// One step of orthogonal iteration from a basis (Vyas et al. 2024, algorithm 4): its columns, ordered by their
  /// Rayleigh quotients, largest first, are multiplied by the statistic and made orthonormal, into root(). order[j] =
  /// the column that came to place j. False if the statistic is not finite.
  template <class Stored>
  bool refine_basis(const Stored* statistic, const Stored* basis, std::int64_t n, const RootOptions& options,
                    Stored* order);

  /// The last result, row-major, symmetric to the bit if it is a root.
  const T* root() const { return root_; }
  std::size_t bytes() const {
    return held_bytes(storage_, packed_, lapack_scratch_, eigensolver_, orthonormal_basis_, tridiagonal_root_,
                      band_form_, band_root_);
  }

 private:
  RootResult eigh(std::int64_t n, const RootOptions& options, ReadStatistic<T> read);
  RootResult root_of_tridiagonal_form(std::int64_t n, const RootOptions& options, ReadStatistic<T> read);
  RootResult root_of_band_form(std::int64_t n, const RootOptions& options, ReadStatistic<T> read);
  template <class Form, class Function>
  bool root_of_function(std::int64_t n, const RootOptions& options, ReadStatistic<T> read, int exponent, Form& form,
                        Function& function, RootResult& result);
  RootResult root_of_eigenvectors(std::int64_t n, const RootOptions& options, ReadStatistic<T> read, T* triangle,
                                  RootResult result);
  double largest_of_padded(std::int64_t n, const RootOptions& options, ReadStatistic<T> read, T* room);
  double residual(T* statistic, std::int64_t n, const RootOptions& options, double ridge);
  double full_residual(T* statistic, std::int64_t n, const RootOptions& options, double ridge);
  void multiply_in_place(const Products<T>& products, const T* a, std::int64_t n, T* b,
                         FunctionRef<void(std::int64_t first, std::int64_t count)> then);
  void reserve(RootAction action, RootMethod method, std::int64_t n, std::int64_t padded);
  bool decompose(std::int64_t n, const RootOptions& options);
  void recompose(const Products<T>& products, const T* f, std::int64_t vectors, std::int64_t n, T keep, T* h);
  Products<T> products(const RootOptions& options) {
    return {options.arithmetic->dense.in<T>(), packed_, options.threads};
  }

  static constexpr std::size_t kMostSquares = NewtonScratch<T>::kSquares;
  static constexpr std::int64_t kPanel = kProductDepth;  // of rows or columns that are copied for a product

  AlignedVector<T> storage_;
  AlignedVector<T> packed_;
  LapackScratch<T> lapack_scratch_;
  Eigensolver<T> eigensolver_;
  OrthonormalBasis<T> orthonormal_basis_;
  TridiagonalRoot<T> tridiagonal_root_;
  BandForm<T> band_form_;
  BandRoot<T> band_root_;
  std::array<T*, kMostSquares> squares_ = {};  // each n x n
  T* root_ = nullptr;                          // one of them
  T* triangle_ = nullptr;                      // half of one; with the panel behind it the eigensolver's scratch
  T* panel_ = nullptr;                         // kPanel rows or columns
  T* x_ = nullptr;                             // vectors
  T* y_ = nullptr;
  T* z_ = nullptr;
  T* values_ = nullptr;
};

extern template class RootSolver<double>;
extern template class RootSolver<float>;

}  // namespace gradstep::cpu
