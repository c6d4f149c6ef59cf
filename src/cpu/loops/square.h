// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of squares over a chunk, in f64. Each quarter of a chunk (4 Ki elements, a stream) has 16 lanes; element i goes
// to lane i mod 16. Lanes are folded in one fixed tree, then the quarters in another, whatever the width of the
// registers.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "cpu/loops/block.h"

namespace gradstep::cpu {
namespace {

/// A register of doubles, loaded from doubles or widened from floats. (GCC 12 spends three times the instructions on
/// the generic __builtin_convertvector.)
#if defined(__AVX512F__)
using Doubles = __m512d;
GRADSTEP_FORMULA Doubles load_doubles(const float* x) {
  // GCC 12 warns of an undefined value inside the intrinsic without a mask; the code is the same.
  return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(x));
}
GRADSTEP_FORMULA Doubles load_doubles(const double* x) { return _mm512_loadu_pd(x); }
#elif defined(__AVX__)
using Doubles = __m256d;
GRADSTEP_FORMULA Doubles load_doubles(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }
GRADSTEP_FORMULA Doubles load_doubles(const double* x) { return _mm256_loadu_pd(x); }
#elif defined(__SSE2__)
using Doubles = __m128d;
GRADSTEP_FORMULA Doubles load_doubles(const float* x) {
  return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
}
GRADSTEP_FORMULA Doubles load_doubles(const double* x) { return _mm_loadu_pd(x); }
#elif defined(__aarch64__)
using Doubles = float64x2_t;
GRADSTEP_FORMULA Doubles load_doubles(const float* x) { return vcvt_f64_f32(vld1_f32(x)); }
GRADSTEP_FORMULA Doubles load_doubles(const double* x) { return vld1q_f64(x); }
#else
using Doubles [[gnu::vector_size(16)]] = double;
template <class T>
GRADSTEP_FORMULA Doubles load_doubles(const T* x) {
  return Doubles{static_cast<double>(x[0]), static_cast<double>(x[1])};
}
#endif

constexpr int kLanes = 16;
constexpr int kDoubles = sizeof(Doubles) / sizeof(double);
constexpr int kRegisters = kLanes / kDoubles;

GRADSTEP_FORMULA double fold_lanes(const Doubles* registers) {
  Doubles sums[kRegisters];
  for (int r = 0; r < kRegisters; ++r) sums[r] = registers[r];
  for (int half = kRegisters / 2; half > 0; half /= 2) {
    for (int r = 0; r < half; ++r) sums[r] += sums[r + half];
  }
  double lanes[kDoubles];
  for (int lane = 0; lane < kDoubles; ++lane) lanes[lane] = sums[0][lane];
  for (int width = kDoubles / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

class SquareLanes {
 public:
  /// Every call but the last has a multiple of 16 elements.
  template <class T>
  GRADSTEP_FORMULA void add(const T* x, std::int64_t count) {
    Doubles lanes[kRegisters];
    for (int r = 0; r < kRegisters; ++r) lanes[r] = lanes_[r];
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) add_row(lanes, x + i);
    if (i < count) {
      T row[kLanes] = {};  // squares of zeros leave lanes as they are
      for (int lane = 0; i < count; ++i, ++lane) row[lane] = x[i];
      add_row(lanes, row);
    }
    for (int r = 0; r < kRegisters; ++r) lanes_[r] = lanes[r];
  }

  double fold() const { return fold_lanes(lanes_); }

 private:
  template <class T>
  GRADSTEP_FORMULA static void add_row(Doubles* lanes, const T* x) {
    for (int r = 0; r < kRegisters; ++r) {
      const Doubles value = load_doubles(x + r * kDoubles);
      lanes[r] += value * value;
    }
  }

  Doubles lanes_[kRegisters] = {};
};

/// The squares of a chunk: 16 lanes for each of its streams.
class ChunkSquares {
 public:
  GRADSTEP_FORMULA SquareLanes& lanes(std::int64_t stream) { return streams_[stream]; }

  GRADSTEP_FORMULA double fold() const {
    return (streams_[0].fold() + streams_[1].fold()) + (streams_[2].fold() + streams_[3].fold());
  }

 private:
  static_assert(kStreams == 4);
  SquareLanes streams_[kStreams];
};

template <class T>
double square_typed(const Array& array, const Chunk& chunk) {
  ChunkSquares squares;
  Scratch<T> scratch;
  for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t stream) {
    squares.lanes(stream).add(read(array, chunk.offset + first, count, scratch.values), count);
  });
  return squares.fold();
}

double square_chunk(const Array& array, const Chunk& chunk) {
  return array.dtype == DType::f64 ? square_typed<double>(array, chunk) : square_typed<float>(array, chunk);
}

}  // namespace
}  // namespace gradstep::cpu
