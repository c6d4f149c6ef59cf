// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/orthogonalize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/instruction_set.h"
#include "cpu/linear_algebra/pool.h"
#include "cpu/linear_algebra/products.h"

namespace gradstep::cpu {

namespace {

/// Scratch of one matrix.
template <class T>
struct Iterates {
  AlignedVector<T> x;
  AlignedVector<T> next;
  AlignedVector<T> a;  ///< X X^T, or X^T X of a tall matrix
  AlignedVector<T> b;  ///< b A + c A^2
  AlignedVector<T> packed;
};

/// Large matrices come one after the other, small ones on all threads at once.
template <class T>
struct ScratchOf {
  Iterates<T> large;
  Pool<Iterates<T>> small;
};

struct OrthogonalScratch {
  ScratchOf<float> narrow;
  ScratchOf<double> wide;

  template <class T>
  ScratchOf<T>& in() {
    if constexpr (sizeof(T) == sizeof(double)) {
      return wide;
    } else {
      return narrow;
    }
  }
};

/// Its squares in chunks, folded as those of any norm.
double norm_of(const Loops& loops, const Array& matrix) {
  std::vector<double> squares;
  WorkList work;
  work.append(matrix.size);
  for (const Chunk& chunk : work.chunks()) squares.push_back(loops.square(matrix, chunk));
  return std::sqrt(fold_partials(squares));
}

std::int64_t shorter(const OrthogonalItem& item) { return std::min(item.rows, item.columns); }

/// The products of an iteration, without pointers: A, and the next X.
template <class T>
Product<T> square_product(const OrthogonalItem& item) {
  const std::int64_t n = shorter(item);
  return {.rows = n, .columns = n, .depth = item.matrix.size / n, .c_stride = n, .only_lower = true};
}
template <class T>
Product<T> next_product(const OrthogonalItem& item) {
  return {.rows = item.rows, .columns = item.columns, .depth = shorter(item), .c_stride = item.columns};
}

template <class T>
void reserve(const OrthogonalItem& item, std::size_t width, Iterates<T>& scratch) {
  const auto room = [](AlignedVector<T>& numbers, std::size_t count) {
    if (numbers.size() < count) numbers.resize(count);
  };
  const auto square = static_cast<std::size_t>(shorter(item) * shorter(item));
  room(scratch.x, static_cast<std::size_t>(item.matrix.size));
  room(scratch.next, static_cast<std::size_t>(item.matrix.size));
  room(scratch.a, square);
  room(scratch.b, square);
  room(scratch.packed, std::max(Products<T>::packed_size(square_product<T>(item), width),
                                Products<T>::packed_size(next_product<T>(item), width)));
}

/// A = X X^T and B X where rows are fewer; X^T X and X B where columns are.
template <class T>
void orthogonalize_matrix(const Loops& loops, const DenseLoops<T>& dense, const OrthogonalItem& item,
                          Iterates<T>& scratch, Context* threads) {
  const bool is_tall = item.rows > item.columns;
  const std::int64_t n = shorter(item);
  const std::int64_t size = item.matrix.size;
  const Products<T> products(dense, scratch.packed, threads);
  T* matrix = static_cast<T*>(item.matrix.data);
  T* x = scratch.x.data();
  T* next = scratch.next.data();
  T* a = scratch.a.data();
  T* b = scratch.b.data();
  const auto factor = static_cast<T>(item.form.factor(norm_of(loops, item.matrix)));
  for (std::int64_t i = 0; i < size; ++i) x[i] = matrix[i] * factor;
  for (std::int32_t k = 0; k < item.form.iterations; ++k) {
    const rules::NewtonSchulzStep step = item.form.step(k);
    Product<T> square = square_product<T>(item);
    square.a = is_tall ? Operand<T>{x, item.columns}.transposed() : Operand<T>{x, item.columns};
    square.b = square.a.transposed();
    square.c = a;
    products.multiply(square);
    dense.mirror_lower(a, n, n);
    for (std::int64_t i = 0; i < n * n; ++i) b[i] = static_cast<T>(step.b) * a[i];
    if (step.c != 0) {
      products.multiply({.rows = n,
                         .columns = n,
                         .depth = n,
                         .a = {a, n},
                         .b = {a, n},
                         .c = b,
                         .c_stride = n,
                         .keep = 1,
                         .add = static_cast<T>(step.c),
                         .only_lower = true});
      dense.mirror_lower(b, n, n);
    }
    std::copy_n(x, size, next);
    Product<T> product = next_product<T>(item);
    product.a = is_tall ? Operand<T>{x, item.columns} : Operand<T>{b, n};
    product.b = is_tall ? Operand<T>{b, n} : Operand<T>{x, item.columns};
    product.c = next;
    product.keep = static_cast<T>(step.a);
    products.multiply(product);
    std::swap(x, next);
  }
  std::copy_n(x, size, matrix);
}

/// Its products take so long that the threads share them.
bool is_large(const OrthogonalItem& item) { return is_worth_sharing(square_product<float>(item)); }

template <class T>
bool is_of(const OrthogonalItem& item) {
  const bool is_wide = item.matrix.dtype == DType::f64;
  return item.matrix.data != nullptr && item.matrix.size > 0 && is_wide == (sizeof(T) == sizeof(double));
}

template <class T>
void reserve_all(Context& context, const OrthogonalPlan& plan) {
  ScratchOf<T>& scratch = plan.prepared.get<OrthogonalScratch>().in<T>();
  for (const OrthogonalItem& item : plan.items) {
    if (!is_of<T>(item)) continue;
    if (is_large(item)) {
      reserve<T>(item, context.width(), scratch.large);
    } else {
      scratch.small.grow(context.width());
      for (const auto& one : scratch.small.all()) reserve<T>(item, 1, *one);
    }
  }
}

template <class T>
void orthogonalize_all(Context& context, const Loops& loops, const OrthogonalPlan& plan) {
  const DenseLoops<T>& dense = choose_arithmetic(loops).dense.in<T>();
  ScratchOf<T>& scratch = plan.prepared.get<OrthogonalScratch>().in<T>();
  std::vector<const OrthogonalItem*> small;
  for (const OrthogonalItem& item : plan.items) {
    if (!is_of<T>(item)) continue;
    if (is_large(item)) {
      orthogonalize_matrix<T>(loops, dense, item, scratch.large, &context);
    } else {
      small.push_back(&item);
    }
  }
  context.parallel_for(static_cast<std::int64_t>(small.size()), [&](std::int64_t i) {
    const OrthogonalItem& item = *small[static_cast<std::size_t>(i)];
    const typename Pool<Iterates<T>>::Lent lent(scratch.small);
    reserve<T>(item, 1, *lent);  // a host's own threads may be more than were foreseen
    orthogonalize_matrix<T>(loops, dense, item, *lent, nullptr);
  });
}

}  // namespace

void reserve_orthogonal(Context& context, const OrthogonalPlan& plan) {
  reserve_all<float>(context, plan);
  reserve_all<double>(context, plan);
}

void orthogonalize(Context& context, const Loops& loops, const OrthogonalPlan& plan) {
  orthogonalize_all<float>(context, loops, plan);
  orthogonalize_all<double>(context, loops, plan);
}

}  // namespace gradstep::cpu
