// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the sources for AVX-512 call, in instructions of AVX2, F16C and FMA. Included before all else of such a source,
// which then takes the processor that it is compiled for to have AVX-512. Vectors of 64 bytes are the compiler's own,
// in halves. Masks are those of all lanes: anything else is a compile error.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace gradstep_emulated_avx512 {

template <class Half>
struct Halves {
  Half low;
  Half high;
};

template <class To, class Half>
inline __attribute__((always_inline)) To whole(Half low, Half high) {
  return std::bit_cast<To>(Halves<Half>{low, high});
}

template <class Half, class Whole>
inline __attribute__((always_inline)) Halves<Half> halves(Whole whole) {
  return std::bit_cast<Halves<Half>>(whole);
}

/// With lane `index` of 16 bytes in place of its own.
template <int index, class Whole, class Lane>
inline __attribute__((always_inline)) Whole insert(Whole whole, Lane lane) {
  struct Lanes {
    Lane of[4];
  };
  auto lanes = std::bit_cast<Lanes>(whole);
  lanes.of[index] = lane;
  return std::bit_cast<Whole>(lanes);
}

/// Each lane of `from`, without its upper part.
template <class To, class ToLane, class FromLane, class From>
inline __attribute__((always_inline)) To truncate(From from) {
  constexpr std::size_t kCount = sizeof(From) / sizeof(FromLane);
  struct Many {
    FromLane of[kCount];
  };
  struct Few {
    ToLane of[kCount];
  };
  const auto many = std::bit_cast<Many>(from);
  Few few;
  for (std::size_t i = 0; i < kCount; ++i) few.of[i] = static_cast<ToLane>(many.of[i]);
  return std::bit_cast<To>(few);
}

/// Lane i is the one of `words` that places[i] names.
template <class Whole>
inline __attribute__((always_inline)) Whole permuted(Whole places, Whole words) {
  struct Lanes {
    std::uint32_t of[16];
  };
  const auto from = std::bit_cast<Lanes>(words);
  auto lanes = std::bit_cast<Lanes>(places);
  for (std::uint32_t& lane : lanes.of) lane = from.of[lane % 16];
  return std::bit_cast<Whole>(lanes);
}

template <unsigned mask, unsigned all>
inline constexpr void all_lanes() {
  static_assert(mask == all);
}

}  // namespace gradstep_emulated_avx512

// NOLINTBEGIN(bugprone-macro-parentheses): types, and names
#define GRADSTEP_ALL_LANES(mask, all, value) (gradstep_emulated_avx512::all_lanes<(mask), (all)>(), (value))
#define GRADSTEP_HALVES(type, value) gradstep_emulated_avx512::halves<type>(value)
#define GRADSTEP_OF_HALVES(function, a, b)                                        \
  gradstep_emulated_avx512::whole<__m512i>(                                       \
      function(GRADSTEP_HALVES(__m256i, a).low, GRADSTEP_HALVES(__m256i, b).low), \
      function(GRADSTEP_HALVES(__m256i, a).high, GRADSTEP_HALVES(__m256i, b).high))

#define _mm512_loadu_pd(from) \
  gradstep_emulated_avx512::whole<__m512d>(_mm256_loadu_pd(from), _mm256_loadu_pd((from) + 4))
#define _mm512_loadu_si512(from)                                                                       \
  gradstep_emulated_avx512::whole<__m512i>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), \
                                           _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from) + 1))
#define _mm512_stream_si512(to, value)                                                       \
  (_mm256_stream_si256(reinterpret_cast<__m256i*>(to), GRADSTEP_HALVES(__m256i, value).low), \
   _mm256_stream_si256(reinterpret_cast<__m256i*>(to) + 1, GRADSTEP_HALVES(__m256i, value).high))

#define _mm512_maskz_cvtepu8_epi32(mask, bytes)                                            \
  GRADSTEP_ALL_LANES(mask, 0xffff,                                                         \
                     gradstep_emulated_avx512::whole<__m512i>(_mm256_cvtepu8_epi32(bytes), \
                                                              _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))))
#define _mm512_maskz_cvtepi8_epi32(mask, bytes)                                            \
  GRADSTEP_ALL_LANES(mask, 0xffff,                                                         \
                     gradstep_emulated_avx512::whole<__m512i>(_mm256_cvtepi8_epi32(bytes), \
                                                              _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))))
#define _mm512_maskz_cvtepu16_epi32(mask, words)                                                     \
  GRADSTEP_ALL_LANES(                                                                                \
      mask, 0xffff,                                                                                  \
      gradstep_emulated_avx512::whole<__m512i>(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(words)), \
                                               _mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1))))
#define _mm512_packs_epi32(a, b) GRADSTEP_OF_HALVES(_mm256_packs_epi32, a, b)
#define _mm512_packs_epi16(a, b) GRADSTEP_OF_HALVES(_mm256_packs_epi16, a, b)
#define _mm512_packus_epi16(a, b) GRADSTEP_OF_HALVES(_mm256_packus_epi16, a, b)
#define _mm512_maskz_permutexvar_epi32(mask, places, words) \
  GRADSTEP_ALL_LANES(mask, 0xffff, gradstep_emulated_avx512::permuted(places, words))
#define _mm512_maskz_extracti64x4_epi64(mask, whole, index) \
  GRADSTEP_ALL_LANES(mask, 0xf,                             \
                     ((index) == 0 ? GRADSTEP_HALVES(__m256i, whole).low : GRADSTEP_HALVES(__m256i, whole).high))
#define _mm512_maskz_cvtepi32_epi16(mask, words) \
  GRADSTEP_ALL_LANES(mask, 0xffff, (gradstep_emulated_avx512::truncate<__m256i, std::uint16_t, std::uint32_t>(words)))

#define _mm512_maskz_cvtph_ps(mask, halves)                                                                   \
  GRADSTEP_ALL_LANES(mask, 0xffff,                                                                            \
                     gradstep_emulated_avx512::whole<__m512>(_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), \
                                                             _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))))
#define _mm512_maskz_cvtps_ph(mask, floats, rounding)                                                  \
  GRADSTEP_ALL_LANES(mask, 0xffff,                                                                     \
                     _mm256_set_m128i(_mm256_cvtps_ph(GRADSTEP_HALVES(__m256, floats).high, rounding), \
                                      _mm256_cvtps_ph(GRADSTEP_HALVES(__m256, floats).low, rounding)))

#define _mm512_maskz_cvtps_pd(mask, floats)                                                                    \
  GRADSTEP_ALL_LANES(mask, 0xff,                                                                               \
                     gradstep_emulated_avx512::whole<__m512d>(_mm256_cvtps_pd(_mm256_castps256_ps128(floats)), \
                                                              _mm256_cvtps_pd(_mm256_extractf128_ps(floats, 1))))
#define _mm512_maskz_cvtpd_ps(mask, doubles)                                                  \
  GRADSTEP_ALL_LANES(mask, 0xff,                                                              \
                     _mm256_set_m128(_mm256_cvtpd_ps(GRADSTEP_HALVES(__m256d, doubles).high), \
                                     _mm256_cvtpd_ps(GRADSTEP_HALVES(__m256d, doubles).low)))
#define _mm512_maskz_sqrt_ps(mask, floats)                                                                        \
  GRADSTEP_ALL_LANES(mask, 0xffff,                                                                                \
                     gradstep_emulated_avx512::whole<__m512>(_mm256_sqrt_ps(GRADSTEP_HALVES(__m256, floats).low), \
                                                             _mm256_sqrt_ps(GRADSTEP_HALVES(__m256, floats).high)))

#define _mm512_fmadd_ps(a, b, c)                                                                                       \
  gradstep_emulated_avx512::whole<__m512>(                                                                             \
      _mm256_fmadd_ps(GRADSTEP_HALVES(__m256, a).low, GRADSTEP_HALVES(__m256, b).low, GRADSTEP_HALVES(__m256, c).low), \
      _mm256_fmadd_ps(GRADSTEP_HALVES(__m256, a).high, GRADSTEP_HALVES(__m256, b).high,                                \
                      GRADSTEP_HALVES(__m256, c).high))
#define _mm512_fmadd_pd(a, b, c)                                                          \
  gradstep_emulated_avx512::whole<__m512d>(                                               \
      _mm256_fmadd_pd(GRADSTEP_HALVES(__m256d, a).low, GRADSTEP_HALVES(__m256d, b).low,   \
                      GRADSTEP_HALVES(__m256d, c).low),                                   \
      _mm256_fmadd_pd(GRADSTEP_HALVES(__m256d, a).high, GRADSTEP_HALVES(__m256d, b).high, \
                      GRADSTEP_HALVES(__m256d, c).high))

#define _mm512_castps128_ps512(lane) gradstep_emulated_avx512::insert<0>(__m512{}, lane)
#define _mm512_castpd128_pd512(lane) gradstep_emulated_avx512::insert<0>(__m512d{}, lane)
#define _mm512_insertf32x4(whole, lane, index) gradstep_emulated_avx512::insert<(index)>(whole, lane)
#define _mm512_insertf64x2(whole, lane, index) gradstep_emulated_avx512::insert<(index)>(whole, lane)
// NOLINTEND(bugprone-macro-parentheses)

#define __AVX512F__ 1
