// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/linear_algebra/products.h"

namespace gradstep::cpu {

/// Eigenvectors of a tridiagonal matrix (Cuppen 1981): halves are solved and joined by a rank-one change, most of which
/// deflates where eigenvalues lie close. Vectors are orthogonal because they are those of the change that has exactly
/// the computed eigenvalues (Gu and Eisenstat 1995).
template <class T>
class DivideAndConquer {
 public:
  /// Eigenvalues into `diagonal`, ascending, eigenvectors into the rows of `vectors` (n, n). off_diagonal is
  /// overwritten. `scratch`: scratch_size(n) numbers. False if it did not converge.
  bool solve(const Products<T>& products, T* diagonal, T* off_diagonal, std::int64_t n, T* vectors, T* scratch);

  /// Two squares of half a matrix' rows, and the rows of a product.
  static std::int64_t scratch_size(std::int64_t n) { return (n * n + 1) / 2 + std::min(n, kRows) * n; }

  /// So that matrices up to n x n take no memory.
  void reserve(std::int64_t n) {
    const auto count = static_cast<std::size_t>(n);
    for (std::vector<T>* list : {&z_, &poles_, &weights_, &values_, &products_}) list->reserve(count);
    for (std::vector<std::int64_t>* list : {&order_, &kept_, &deflated_, &place_, &row_}) list->reserve(count);
    side_.reserve(count);
  }

  std::size_t bytes() const {
    return (z_.capacity() + poles_.capacity() + weights_.capacity() + values_.capacity() + products_.capacity()) *
               sizeof(T) +
           (order_.capacity() + kept_.capacity() + deflated_.capacity() + place_.capacity() + row_.capacity()) *
               sizeof(std::int64_t) +
           side_.capacity() * sizeof(int);
  }

 private:
  static constexpr std::int64_t kRows = 192;  // of a product whose operand is copied

  /// What a join works on: the part [begin, end) of the matrix, cut at `middle`.
  struct Part {
    std::int64_t begin;
    std::int64_t middle;
    std::int64_t end;

    std::int64_t size() const { return end - begin; }
  };

  bool solve_part(const Products<T>& products, std::int64_t begin, std::int64_t end);
  void join(const Products<T>& products, const Part& part, T coupling);
  void deflate(const DenseLoops<T>& loops, const Part& part, T rho);
  void gather(const Part& part);
  void solve_kept(const Products<T>& products, const Part& part, T rho);
  void join_kept(const Products<T>& products, const Part& part);
  void sort_rows(const Part& part);
  T* row(const Part& part, std::int64_t i) { return vectors_ + (part.begin + i) * n_ + part.begin; }

  std::int64_t n_ = 0;
  T* d_ = nullptr;
  T* e_ = nullptr;
  T* vectors_ = nullptr;
  T* gathered_ = nullptr;  // the kept vectors' upper halves, of those that have one, and then their lower halves
  T* change_ = nullptr;    // some rows of the change's eigenvectors
  std::vector<T> z_;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> kept_;
  std::vector<std::int64_t> deflated_;
  std::vector<int> side_;
  std::vector<std::int64_t> place_;  // of each kept one among those of all sides
  std::int64_t first_side_[4] = {};  // where each side's begin there
  std::vector<std::int64_t> row_;    // of each vector in the part: kept ones, then deflated ones
  std::vector<T> poles_;
  std::vector<T> weights_;
  std::vector<T> values_;
  std::vector<T> products_;
};

extern template class DivideAndConquer<double>;
extern template class DivideAndConquer<float>;

}  // namespace gradstep::cpu
