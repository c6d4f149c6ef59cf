// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Formulas are written once and compiled for every device and instruction set. They are forced inline: an out-of-line
// copy compiled for AVX-512 must never be merged by the linker with the one of the baseline. For the same reason they
// call no function of the standard library that the compiler might emit out of line.
#pragma once

#if defined(__CUDACC__)
#define GRADSTEP_FORMULA __host__ __device__ __forceinline__
#else
#define GRADSTEP_FORMULA inline __attribute__((always_inline))
#endif

/// Before a loop over places of which each is read and written by one iteration alone: pointers may be equal, but not
/// otherwise overlap.
#if defined(__CUDACC__)
#define GRADSTEP_INDEPENDENT
#elif defined(__clang__)
#define GRADSTEP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define GRADSTEP_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace gradstep::kernels {

/// What a vector of numbers or of words needs beside the operators of the language (kernels/lanes.h).
template <class V>
struct Lanes;

// The square root of a number, or of each number in a vector.
GRADSTEP_FORMULA float square_root(float x) { return __builtin_sqrtf(x); }
GRADSTEP_FORMULA double square_root(double x) { return __builtin_sqrt(x); }
template <class V>
GRADSTEP_FORMULA V square_root(V x) {
  return Lanes<V>::square_root(x);
}

/// x clamped to ±bound; NaN stays NaN.
template <class T>
GRADSTEP_FORMULA T clamp(T x, T bound) {
  const T upper = bound < x ? bound : x;
  return upper < -bound ? -bound : upper;
}

/// |x|. V is a number or a vector.
template <class V>
GRADSTEP_FORMULA V magnitude(V x) {
  return x < V{} ? -x : x;
}

// The smaller and the larger of two numbers; NaN if one of them is. V is a number or a vector.
template <class V>
GRADSTEP_FORMULA V smaller_of(V a, V b) {
  return a < b ? a : (b <= a ? b : a + b);
}
template <class V>
GRADSTEP_FORMULA V larger_of(V a, V b) {
  return a > b ? a : (b >= a ? b : a + b);
}

/// 1, 0 or -1; NaN stays NaN. V is T or a vector of T.
template <class T, class V>
GRADSTEP_FORMULA V sign(V x) {
  const V zero{};
  const V one = zero + T{1};
  return x > zero ? one : (x < zero ? -one : x);
}

}  // namespace gradstep::kernels
