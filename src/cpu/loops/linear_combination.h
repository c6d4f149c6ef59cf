// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Linear combinations in f64 of vectors of any float dtype, rounded once. What is f32 is widened in registers; only
// combinations of more than two vectors, and 16-bit dtypes, pass through a block of scratch.
#pragma once

#include "cpu/loops/square.h"

namespace gradstep::cpu {
namespace {

GRADSTEP_FORMULA void store_doubles(double* to, Doubles x) { __builtin_memcpy(to, &x, sizeof x); }

#if defined(__AVX512F__)
GRADSTEP_FORMULA void store_doubles(float* to, Doubles x) { _mm256_storeu_ps(to, _mm512_maskz_cvtpd_ps(0xff, x)); }
#elif defined(__AVX__)
GRADSTEP_FORMULA void store_doubles(float* to, Doubles x) { _mm_storeu_ps(to, _mm256_cvtpd_ps(x)); }
#elif defined(__SSE2__)
GRADSTEP_FORMULA void store_doubles(float* to, Doubles x) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_castps_si128(_mm_cvtpd_ps(x)));
}
#else
GRADSTEP_FORMULA void store_doubles(float* to, Doubles x) {
  for (int i = 0; i < kDoubles; ++i) to[i] = static_cast<float>(x[i]);
}
#endif

/// to = a_factor * a + b_factor * b. `to` may be a or b.
template <class To, class A, class B>
[[gnu::noinline]] void combine_in_double(To* to, double a_factor, const A* a, double b_factor, const B* b,
                                         std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Doubles sums[kRegisters];
    for (int r = 0; r < kRegisters; ++r) {
      const std::int64_t k = i + r * kDoubles;
      sums[r] = a_factor * load_doubles(a + k) + b_factor * load_doubles(b + k);
    }
    for (int r = 0; r < kRegisters; ++r) store_doubles(to + i + r * kDoubles, sums[r]);
  }
  for (; i < count; ++i) {
    to[i] = static_cast<To>(a_factor * static_cast<double>(a[i]) + b_factor * static_cast<double>(b[i]));
  }
}

/// A block of a combination of vectors that are read as T, from element `begin` on.
template <class T, class To>
void combine_block_of(const LinearCombination& item, std::int64_t begin, std::int64_t count, To* to) {
  alignas(64) double sum[kBlock];
  Scratch<T> scratch[2];
  const Array* vectors = item.vectors.data();
  const double* factors = item.factors.data();
  const auto vector = [&](std::size_t v) -> const T* {
    T* values = scratch[v % 2].values;
    if (vectors[v].data != nullptr) return read(vectors[v], begin, count, values);
    __builtin_memset(values, 0, static_cast<std::size_t>(count) * sizeof(T));
    return values;
  };
  const std::size_t last = item.vectors.size() - 1;
  if (last == 1) return combine_in_double(to, factors[0], vector(0), factors[1], vector(1), count);
  combine_in_double(sum, factors[0], vector(0), factors[1], vector(1), count);
  for (std::size_t v = 2; v < last; ++v) combine_in_double(sum, 1, sum, factors[v], vector(v), count);
  combine_in_double(to, 1, sum, factors[last], vector(last), count);
}

template <class T>
void combine_vectors_of(const LinearCombination& item, const Chunk& chunk) {
  alignas(64) double result[kBlock];
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    const std::int64_t begin = chunk.offset + first;
    if (float* to = direct<float>(item.destination, begin)) return combine_block_of<T>(item, begin, count, to);
    if (double* to = direct<double>(item.destination, begin)) return combine_block_of<T>(item, begin, count, to);
    combine_block_of<T>(item, begin, count, result);
    store(item.destination, begin, count, result);
  });
}

void combine_vectors_chunk(const LinearCombination& item, const Chunk& chunk) {
  if (item.vectors.data()->dtype == DType::f64) return combine_vectors_of<double>(item, chunk);
  combine_vectors_of<float>(item, chunk);
}

}  // namespace
}  // namespace gradstep::cpu
