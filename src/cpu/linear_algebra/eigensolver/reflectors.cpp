// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/reflectors.h"

#include <algorithm>

namespace gradstep::cpu {

template <class T>
Reflection<T> make_reflector(const DenseLoops<T>& loops, T* x, std::int64_t count) {
  const Reflection<T> reflection = kernels::reflection(x[0], loops.dot(x + 1, x + 1, count - 1));
  x[0] = 1;
  if (reflection.scale == 0) {
    std::fill_n(x + 1, count - 1, T{0});
  } else {
    for (std::int64_t i = 1; i < count; ++i) x[i] /= reflection.pivot;
  }
  return reflection;
}

/// V W^T + W V^T is (V, W) times the transposed (W, V).
template <class T>
void subtract_panel(const Products<T>& products, T* a, std::int64_t n, std::int64_t first, std::int64_t count,
                    T* panel) {
  const std::int64_t end = first + count;
  const std::int64_t rest = n - end;
  T* w = panel + end;
  T* v = w + count * n;
  T* w_again = v + count * n;
  for (std::int64_t k = 0; k < count; ++k) {
    std::copy_n(a + (first + k) * n + end, rest, v + k * n);
    std::copy_n(w + k * n, rest, w_again + k * n);
  }
  products.multiply({.rows = rest,
                     .columns = rest,
                     .depth = 2 * count,
                     .a = Operand<T>{v, n}.transposed(),
                     .b = {w, n},
                     .c = a + end * n + end,
                     .c_stride = n,
                     .keep = 1,
                     .add = -1,
                     .only_lower = true});
}

template <class T>
void ReflectorBlock<T>::form(const Products<T>& products, const T* reflectors, std::int64_t stride, std::int64_t count,
                             std::int64_t length, const T* scales) {
  reflectors_ = reflectors;
  stride_ = stride;
  count_ = count;
  length_ = length;
  T gram[kReflectors * kReflectors];
  const Operand<T> rows{reflectors, stride};
  products.multiply({.rows = count,
                     .columns = count,
                     .depth = length,
                     .a = rows,
                     .b = rows.transposed(),
                     .c = gram,
                     .c_stride = kReflectors,
                     .only_lower = true});
  // Column j of T is -scale_j T (V^T v_j) above the diagonal; columns stand in rows here.
  std::fill_n(triangle_, kReflectors * kReflectors, T{0});
  for (std::int64_t j = 0; j < count; ++j) {
    T* column = triangle_ + j * kReflectors;
    products.loops().subtract_rows(gram + j * kReflectors, triangle_, kReflectors, j, j, column);
    for (std::int64_t i = 0; i < j; ++i) column[i] *= scales[j];
    column[j] = scales[j];
  }
}

template <class T>
void ReflectorBlock<T>::apply(const Products<T>& products, bool backwards, T* x, std::int64_t stride,
                              std::int64_t rows) {
  grow(dots_, rows * kReflectors);
  grow(turned_, rows * kReflectors);
  const Operand<T> reflectors{reflectors_, stride_};
  products.multiply({.rows = rows,
                     .columns = count_,
                     .depth = length_,
                     .a = {x, stride},
                     .b = reflectors.transposed(),
                     .c = dots_.data(),
                     .c_stride = kReflectors});
  products.multiply({.rows = rows,
                     .columns = count_,
                     .depth = count_,
                     .a = {dots_.data(), kReflectors},
                     .b = backwards ? triangle().transposed() : triangle(),
                     .c = turned_.data(),
                     .c_stride = kReflectors});
  products.multiply({.rows = rows,
                     .columns = length_,
                     .depth = count_,
                     .a = {turned_.data(), kReflectors},
                     .b = reflectors,
                     .c = x,
                     .c_stride = stride,
                     .keep = 1,
                     .add = -1});
}

/// With reflectors in the columns of V, H = I - V T V^T, P = V T, D = x V and W = D - 1/2 P V^T D: H x H^T = x - P W^T
/// - W P^T. Products read rows of x, P and W in place.
template <class T>
void ReflectorBlock<T>::conjugate(const Products<T>& products, T* x, std::int64_t stride, std::int64_t beside) {
  // P, W and P once more: P W^T + W P^T is (P, W) times the transposed (W, P).
  const std::int64_t width = 3 * count_;
  grow(both_, length_ * width);
  grow(dots_, count_ * beside);
  T* p = both_.data();
  T* w = p + count_;
  T* p_again = w + count_;
  const Operand<T> rows{reflectors_, stride_};
  const Operand<T> turned{p, width};
  products.multiply({.rows = length_,
                     .columns = count_,
                     .depth = count_,
                     .a = rows.transposed(),
                     .b = triangle(),
                     .c = p,
                     .c_stride = width});
  T* columns = x - beside;
  products.multiply({.rows = count_,
                     .columns = beside,
                     .depth = length_,
                     .a = rows,
                     .b = {columns, stride},
                     .c = dots_.data(),
                     .c_stride = beside});
  products.multiply({.rows = length_,
                     .columns = beside,
                     .depth = count_,
                     .a = turned,
                     .b = {dots_.data(), beside},
                     .c = columns,
                     .c_stride = stride,
                     .keep = 1,
                     .add = -1});
  products.loops().mirror_lower(x, stride, length_);
  products.multiply({.rows = length_,
                     .columns = count_,
                     .depth = length_,
                     .a = {x, stride},
                     .b = rows.transposed(),
                     .c = w,
                     .c_stride = width});
  T gram[kReflectors * kReflectors];
  products.multiply({.rows = count_,
                     .columns = count_,
                     .depth = length_,
                     .a = rows,
                     .b = {w, width},
                     .c = gram,
                     .c_stride = kReflectors,
                     .only_lower = true});
  products.loops().mirror_lower(gram, kReflectors, count_);
  products.multiply({.rows = length_,
                     .columns = count_,
                     .depth = count_,
                     .a = turned,
                     .b = {gram, kReflectors},
                     .c = w,
                     .c_stride = width,
                     .keep = 1,
                     .add = T(-0.5)});
  for (std::int64_t i = 0; i < length_; ++i) std::copy_n(p + i * width, count_, p_again + i * width);
  products.multiply({.rows = length_,
                     .columns = length_,
                     .depth = 2 * count_,
                     .a = turned,
                     .b = Operand<T>{w, width}.transposed(),
                     .c = x,
                     .c_stride = stride,
                     .keep = 1,
                     .add = -1,
                     .only_lower = true});
}

template Reflection<double> make_reflector(const DenseLoops<double>&, double*, std::int64_t);
template Reflection<float> make_reflector(const DenseLoops<float>&, float*, std::int64_t);
template void subtract_panel(const Products<double>&, double*, std::int64_t, std::int64_t, std::int64_t, double*);
template void subtract_panel(const Products<float>&, float*, std::int64_t, std::int64_t, std::int64_t, float*);
template class ReflectorBlock<double>;
template class ReflectorBlock<float>;

}  // namespace gradstep::cpu
