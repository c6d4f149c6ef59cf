// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo's matrix products, its eigensolver and its roots from within, for products.py: the C API has no calls for
// them. Matrices are compact, n x n and row-major; everything runs on the calling thread.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/instruction_set.h"
#include "cpu/linear_algebra/eigensolver/eigensolver.h"
#include "cpu/linear_algebra/products.h"
#include "cpu/linear_algebra/roots.h"

namespace {

using namespace gradstep;
using namespace gradstep::cpu;

const Arithmetic& arithmetic() {
  static const Arithmetic& chosen = choose_arithmetic(choose_loops());
  return chosen;
}

template <class T>
Products<T> products() {
  static AlignedVector<T> packed;
  return {arithmetic().dense.in<T>(), packed};
}

template <class T>
void multiply(const T* a, const T* b, std::int64_t n, T* c, std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i) products<T>().multiply_square(a, b, n, c);
}

template <class T>
std::int32_t inverse_root(const float* s, std::int64_t n, RootMethod method, bool source_steps, T* root) {
  static RootSolver<T> solver;
  RootOptions options;
  options.arithmetic = &arithmetic();
  options.method = method;
  options.source_steps = source_steps;
  const RootResult result = solver.inverse_root(s, n, options);
  std::copy_n(solver.root(), n * n, root);
  return result.iterations;
}

/// Vectors into rows. Whether there are any.
template <class T>
int decompose(const T* a, std::int64_t n, T* values, T* vectors) {
  static Eigensolver<T> solver;
  static AlignedVector<T> scratch;
  const std::int64_t square = n * n;
  const auto needed = static_cast<std::size_t>(square + Eigensolver<T>::scratch_size(n));
  if (scratch.size() < needed) scratch.resize(needed);
  T* overwritten = scratch.data();
  std::copy_n(a, square, overwritten);
  return solver.decompose(products<T>(), overwritten, n, values, vectors, overwritten + square) ? 1 : 0;
}

}  // namespace

#define BENCH_EXPORT extern "C" __attribute__((visibility("default")))

BENCH_EXPORT void bench_multiply_f32(const float* a, const float* b, std::int64_t n, float* c, std::int64_t times) {
  multiply(a, b, n, c, times);
}
BENCH_EXPORT void bench_multiply_f64(const double* a, const double* b, std::int64_t n, double* c, std::int64_t times) {
  multiply(a, b, n, c, times);
}

/// s = g g^T, of which a triangle is computed.
BENCH_EXPORT void bench_statistic_f32(const float* g, std::int64_t n, float* s, std::int64_t times) {
  const AxisLayout rows{.outer = 1, .n = n, .inner = n, .outer_stride = 0, .stride = n};
  for (std::int64_t i = 0; i < times; ++i) update_statistic<float>(products<float>(), g, rows, 0, 1, s);
}

BENCH_EXPORT int bench_decompose_f32(const float* a, std::int64_t n, float* values, float* vectors) {
  return decompose(a, n, values, vectors);
}
BENCH_EXPORT int bench_decompose_f64(const double* a, std::int64_t n, double* values, double* vectors) {
  return decompose(a, n, values, vectors);
}

/// (s + 1e-6 * largest eigenvalue I)^(-1/4) and its residual.
BENCH_EXPORT void bench_root_f32(const float* s, std::int64_t n, float* root) {
  inverse_root(s, n, RootMethod::eigh, /*source_steps=*/false, root);
}
BENCH_EXPORT void bench_root_f64(const float* s, std::int64_t n, double* root) {
  inverse_root(s, n, RootMethod::eigh, /*source_steps=*/false, root);
}
/// By coupled Newton. Its steps.
BENCH_EXPORT int bench_newton(const float* s, std::int64_t n, double* root) {
  return inverse_root(s, n, RootMethod::coupled_newton, /*source_steps=*/false, root);
}
BENCH_EXPORT int bench_seeds_newton(const float* s, std::int64_t n, double* root) {
  return inverse_root(s, n, RootMethod::coupled_newton, /*source_steps=*/true, root);
}
