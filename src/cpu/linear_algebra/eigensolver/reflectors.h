// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Householder's reflectors, H = I - scale v v^T, one a row of a matrix, and products of neighbouring ones in the
// compact form of Schreiber and Van Loan (1989): H_0 H_1 ... = I - V T V^T.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_vector.h"
#include "cpu/linear_algebra/products.h"
#include "kernels/reflection.h"

namespace gradstep::cpu {

using kernels::Reflection;

/// Turns x (count numbers) into the v whose reflector takes it to (beta, 0, ...).
template <class T>
Reflection<T> make_reflector(const DenseLoops<T>& loops, T* x, std::int64_t count);

/// The rows and columns of a (n, n) behind `count` columns that became its rows `first` on, v: A - V W^T - W V^T, of
/// its lower triangle. `panel`: the rows of W, of n numbers each, and room for twice as many.
template <class T>
void subtract_panel(const Products<T>& products, T* a, std::int64_t n, std::int64_t first, std::int64_t count,
                    T* panel);

/// Reflectors that are applied together.
template <class T>
class ReflectorBlock {
 public:
  static constexpr std::int64_t kReflectors = 64;  // at most

  /// `count` rows of `length` numbers, which stay where they are.
  void form(const Products<T>& products, const T* reflectors, std::int64_t stride, std::int64_t count,
            std::int64_t length, const T* scales);

  /// T of I - V T V^T.
  Operand<T> triangle() const { return Operand<T>{triangle_, kReflectors}.transposed(); }

  /// x = x H_0 H_1 ..., or x ... H_1 H_0 if `backwards`, for `rows` rows of x.
  void apply(const Products<T>& products, bool backwards, T* x, std::int64_t stride, std::int64_t rows);

  /// x = H x H^T, H = H_0 H_1 ..., of a symmetric x (length, length), and H times the `beside` columns to its left. The
  /// lower triangle of x is read and written; the upper one may change.
  void conjugate(const Products<T>& products, T* x, std::int64_t stride, std::int64_t beside);

  // So that reflectors of matrices up to n x n take no memory.
  void reserve_to_apply(std::int64_t n) {
    const auto size = static_cast<std::size_t>(n * kReflectors);
    dots_.reserve(size);
    turned_.reserve(size);
  }
  void reserve_to_conjugate(std::int64_t n) {
    const auto size = static_cast<std::size_t>(n * kReflectors);
    dots_.reserve(size);
    both_.reserve(3 * size);
  }
  std::size_t bytes() const { return (dots_.capacity() + turned_.capacity() + both_.capacity()) * sizeof(T); }

 private:
  const T* reflectors_ = nullptr;
  std::int64_t stride_ = 0;
  std::int64_t count_ = 0;
  std::int64_t length_ = 0;
  T triangle_[kReflectors * kReflectors];  // T transposed
  std::vector<T> dots_;
  std::vector<T> turned_;
  std::vector<T> both_;
};

extern template class ReflectorBlock<double>;
extern template class ReflectorBlock<float>;

}  // namespace gradstep::cpu
