// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/orthogonalize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/held_bytes.h"
#include "cpu/instruction_set.h"
#include "cpu/linear_algebra/pool.h"
#include "cpu/linear_algebra/products.h"
#include "kernels/convert.h"

namespace gradstep::cpu {

namespace {

/// Scratch of one matrix.
template <class T>
struct Iterates {
  AlignedVector<T> x;
  AlignedVector<T> next;
  AlignedVector<T> a;  ///< X X^T, or X^T X of a tall matrix; R
  AlignedVector<T> b;  ///< b A + c A^2; Z
  // For Gram iterations alone.
  AlignedVector<T> q;
  AlignedVector<T> turned;  ///< a Q + Q Z, a R + R Z
  AlignedVector<T> packed;

  std::size_t bytes() const { return held_bytes(x, next, a, b, q, turned, packed); }
};

/// Large matrices come one after the other, small ones on all threads at once.
template <class T>
struct ScratchOf {
  Iterates<T> large;
  Pool<Iterates<T>> small;

  std::size_t bytes() const {
    std::size_t bytes = large.bytes();
    for (const auto& one : small.all()) bytes += one->bytes();
    return bytes;
  }
};

struct OrthogonalScratch : PerType<ScratchOf> {
  std::size_t bytes() const { return f32.bytes() + f64.bytes(); }
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

bool is_of_bf16(const OrthogonalItem& item) { return item.form.precision == rules::IteratePrecision::bf16; }

/// The products of an iteration, without pointers: A, and the next X.
template <class T>
Product<T> square_product(const OrthogonalItem& item) {
  const std::int64_t n = shorter(item);
  return {.rows = n,
          .columns = n,
          .depth = item.matrix.size / n,
          .c_stride = n,
          .only_lower = true,
          .of_bf16 = is_of_bf16(item)};
}
template <class T>
Product<T> next_product(const OrthogonalItem& item) {
  return {.rows = item.rows,
          .columns = item.columns,
          .depth = shorter(item),
          .c_stride = item.columns,
          .of_bf16 = is_of_bf16(item)};
}

/// to = from * factor, rounded to bf16 if so wished.
template <class From, class To>
void scale(const From* from, std::int64_t count, From factor, bool to_bf16, To* to) {
  if (to_bf16) {
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = kernels::widen(kernels::convert<kernels::BFloat16>(from[i] * factor));
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i] * factor);
  }
}

template <class T>
void reserve(const OrthogonalItem& item, std::size_t width, Iterates<T>& scratch) {
  const auto square = static_cast<std::size_t>(shorter(item) * shorter(item));
  grow(scratch.x, static_cast<std::size_t>(item.matrix.size));
  grow(scratch.next, static_cast<std::size_t>(item.matrix.size));
  grow(scratch.a, square);
  grow(scratch.b, square);
  if (item.form.uses_gram(item.rows, item.columns)) {
    grow(scratch.q, square);
    grow(scratch.turned, square);
  }
  grow(scratch.packed, std::max(Products<T>::packed_size(square_product<T>(item), width),
                                Products<T>::packed_size(next_product<T>(item), width)));
}

/// The sum of squares of `count` numbers, `stride` apart.
template <class T>
double squares_of(const T* numbers, std::int64_t count, std::int64_t stride) {
  constexpr std::int64_t kSums = 8;
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) {
      const auto x = static_cast<double>(numbers[(i + k) * stride]);
      sums[k] += x * x;
    }
  }
  for (; i < count; ++i) {
    const auto x = static_cast<double>(numbers[i * stride]);
    sums[0] += x * x;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Divides the matrix by the roots of its variances, which take it in.
template <class T>
void divide_by_variance(const OrthogonalItem& item) {
  if (item.variances == nullptr) return;
  const rules::Variance& form = item.variance;
  const rules::VarianceStep step = rules::variance_step(item.constants->usual);
  T* matrix = static_cast<T*>(item.matrix.data);
  T* variances = static_cast<T*>(item.variances);
  // Units of `length` numbers, `stride` apart.
  const std::int64_t units = form.count(item.rows, item.columns);
  const std::int64_t length = item.matrix.size / units;
  const bool is_of_columns = form.of == rules::VarianceOf::longer && !form.is_of_rows(item.rows, item.columns);
  const std::int64_t stride = is_of_columns ? item.columns : 1;
  double before = 0;
  double after = 0;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    T* numbers = matrix + unit * (is_of_columns ? 1 : length);
    const double squares = squares_of(numbers, length, stride);
    const auto variance =
        static_cast<T>(step.next(static_cast<double>(variances[unit]), squares / static_cast<double>(length)));
    variances[unit] = variance;
    const double factor = form.factor(static_cast<double>(variance), step.correct);
    for (std::int64_t i = 0; i < length; ++i) numbers[i * stride] *= static_cast<T>(factor);
    before += squares;
    after += squares * factor * factor;
  }
  const auto scale = static_cast<T>(form.scale(before, after, item.rows, item.columns));
  if (scale == 1) return;
  for (std::int64_t i = 0; i < item.matrix.size; ++i) matrix[i] *= scale;
}

/// The iterations of one matrix. A = X X^T and B X where rows are fewer, X^T X and X B where columns are.
template <class T>
class Iteration {
 public:
  Iteration(const DenseLoops<T>& dense, const OrthogonalItem& item, Iterates<T>& scratch, Context* threads)
      : dense_(dense),
        products_(dense, scratch.packed, threads),
        item_(item),
        n_(shorter(item)),
        to_bf16_(is_of_bf16(item)),
        x_(scratch.x.data()),
        next_(scratch.next.data()),
        a_(scratch.a.data()),
        b_(scratch.b.data()),
        q_(scratch.q.data()),
        turned_(scratch.turned.data()) {}

  T* x() { return x_; }

  // The operations of rules::NewtonSchulz::run.

  /// A = X X^T.
  void square() {
    Product<T> product = square_product<T>(item_);
    product.a = {x_, item_.columns};
    if (is_tall()) product.a = product.a.transposed();
    product.b = product.a.transposed();
    product.c = a_;
    products_.multiply(product);
    dense_.mirror_lower(a_, n_, n_);
  }

  /// B = b A + c A^2.
  void make_polynomial(const rules::NewtonSchulzStep& step) {
    scale(a_, n_ * n_, static_cast<T>(step.b), to_bf16_ && step.c == 0, b_);
    if (step.c != 0) add_commuting(step.c, a_, a_, 1, b_);
  }

  /// X = a X + B X.
  void multiply_by_polynomial(double a) { multiply_x(b_, a); }
  void multiply_by_q() { multiply_x(q_, 0); }

  /// Q = a I + Z.
  void begin_q(double a) {
    std::copy_n(b_, n_ * n_, q_);
    for (std::int64_t i = 0; i < n_; ++i) {
      T* diagonal = q_ + i * n_ + i;
      const T sum = *diagonal + static_cast<T>(a);
      scale(&sum, 1, T{1}, to_bf16_, diagonal);
    }
  }

  /// Q = a Q + Q Z.
  void advance_q(double a) {
    std::copy_n(q_, n_ * n_, turned_);
    add_commuting(1, q_, b_, a, turned_);
    std::swap(q_, turned_);
  }

  /// R = (a I + Z) (a R + R Z).
  void advance_gram(double a) {
    std::copy_n(a_, n_ * n_, turned_);
    add_commuting(1, a_, b_, a, turned_);
    std::copy_n(turned_, n_ * n_, a_);
    add_commuting(1, b_, turned_, a, a_);
  }

 private:
  bool is_tall() const { return item_.rows > item_.columns; }

  /// to = keep to + factor f g, of matrices that are polynomials of one.
  void add_commuting(double factor, const T* f, const T* g, double keep, T* to) {
    products_.multiply({.rows = n_,
                        .columns = n_,
                        .depth = n_,
                        .a = {f, n_},
                        .b = {g, n_},
                        .c = to,
                        .c_stride = n_,
                        .keep = static_cast<T>(keep),
                        .add = static_cast<T>(factor),
                        .only_lower = true,
                        .of_bf16 = to_bf16_});
    dense_.mirror_lower(to, n_, n_);
  }

  /// X = keep X + F X.
  void multiply_x(const T* f, double keep) {
    if (keep != 0) std::copy_n(x_, item_.matrix.size, next_);
    Product<T> product = next_product<T>(item_);
    product.a = is_tall() ? Operand<T>{x_, item_.columns} : Operand<T>{f, n_};
    product.b = is_tall() ? Operand<T>{f, n_} : Operand<T>{x_, item_.columns};
    product.c = next_;
    product.keep = static_cast<T>(keep);
    products_.multiply(product);
    std::swap(x_, next_);
  }

  const DenseLoops<T>& dense_;
  Products<T> products_;
  const OrthogonalItem& item_;
  std::int64_t n_;
  bool to_bf16_;
  T* x_;
  T* next_;
  T* a_;
  T* b_;
  T* q_;
  T* turned_;
};

/// The matrix is of numbers of Stored.
template <class T, class Stored>
void orthogonalize_matrix(const Loops& loops, const DenseLoops<T>& dense, const OrthogonalItem& item,
                          Iterates<T>& scratch, Context* threads) {
  Stored* matrix = static_cast<Stored*>(item.matrix.data);
  Iteration<T> iteration(dense, item, scratch, threads);
  scale(matrix, item.matrix.size, static_cast<Stored>(item.form.factor(norm_of(loops, item.matrix))), is_of_bf16(item),
        iteration.x());
  item.form.run(item.rows, item.columns, iteration);
  std::copy_n(iteration.x(), item.matrix.size, matrix);
  divide_by_variance<Stored>(item);
}

/// Its products take so long that the threads share them.
bool is_large(const OrthogonalItem& item) { return is_worth_sharing(square_product<float>(item)); }

/// Whether it is worked on in the arithmetic of T: f64 has no more to give to numbers of bf16 than f32.
template <class T>
bool is_of(const OrthogonalItem& item) {
  const bool is_wide = item.matrix.dtype == DType::f64 && !is_of_bf16(item);
  return item.matrix.data != nullptr && item.matrix.size > 0 && is_wide == (sizeof(T) == sizeof(double));
}

template <class T>
void orthogonalize_stored(const Loops& loops, const DenseLoops<T>& dense, const OrthogonalItem& item,
                          Iterates<T>& scratch, Context* threads) {
  const auto run = item.matrix.dtype == DType::f64 ? orthogonalize_matrix<T, double> : orthogonalize_matrix<T, T>;
  run(loops, dense, item, scratch, threads);
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
      orthogonalize_stored(loops, dense, item, scratch.large, &context);
    } else {
      small.push_back(&item);
    }
  }
  context.parallel_for(static_cast<std::int64_t>(small.size()), [&](std::int64_t i) {
    const OrthogonalItem& item = *small[static_cast<std::size_t>(i)];
    const typename Pool<Iterates<T>>::Lent lent(scratch.small);
    reserve<T>(item, 1, *lent);  // a host's own threads may be more than were foreseen
    orthogonalize_stored(loops, dense, item, *lent, nullptr);
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
