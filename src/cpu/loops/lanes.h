// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Vectors of 32-bit words, and of floats, for formulas whose operands are narrower: compilers widen and narrow in more
// instructions than the formulas take. All else is left to them: operators of vectors are the language's.
#pragma once

#include <cstdint>

#include "kernels/lanes.h"

#if defined(__SSE2__)

#include <immintrin.h>

namespace gradstep::cpu {
namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kWords = 16;
#elif defined(__AVX2__)
constexpr std::int64_t kWords = 8;
#else
constexpr std::int64_t kWords = 4;
#endif

using Words = std::uint32_t __attribute__((vector_size(4 * kWords)));
using Integers = std::int32_t __attribute__((vector_size(4 * kWords)));
using Floats = float __attribute__((vector_size(4 * kWords)));

/// What is stored at once: as many vectors as bytes have place in one.
struct FourWords {
  Words of[4];
};

GRADSTEP_FORMULA Words load_words(const void* from) {
  Words words;
  __builtin_memcpy(&words, from, sizeof words);
  return words;
}

GRADSTEP_FORMULA void store_words(void* to, Words words) { __builtin_memcpy(to, &words, sizeof words); }

GRADSTEP_FORMULA Floats load_floats(const float* from) {
  Floats floats;
  __builtin_memcpy(&floats, from, sizeof floats);
  return floats;
}

GRADSTEP_FORMULA void store_floats(float* to, Floats floats) { __builtin_memcpy(to, &floats, sizeof floats); }

#if defined(__AVX512F__)
/// IEEE binary16, as floats, and floats rounded to it.
GRADSTEP_FORMULA Floats load_float16(const std::uint16_t* from) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return reinterpret_cast<Floats>(_mm512_maskz_cvtph_ps(0xffff, halves));
}
GRADSTEP_FORMULA __m256i float16_of(Floats floats) {
  return _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(floats), _MM_FROUND_TO_NEAREST_INT);
}
GRADSTEP_FORMULA void store_float16(std::uint16_t* to, Floats floats) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), float16_of(floats));
}
GRADSTEP_FORMULA Floats rounded_to_float16(Floats floats) {
  return reinterpret_cast<Floats>(_mm512_maskz_cvtph_ps(0xffff, float16_of(floats)));
}

/// Bytes and halves, as words.
GRADSTEP_FORMULA Words load_bytes(const std::uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return reinterpret_cast<Words>(_mm512_maskz_cvtepu8_epi32(0xffff, bytes));
}
/// With the sign bit of each byte as that of its word.
GRADSTEP_FORMULA Words load_signed_bytes(const std::uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return reinterpret_cast<Words>(_mm512_maskz_cvtepi8_epi32(0xffff, bytes));
}
GRADSTEP_FORMULA Words load_halves(const std::uint16_t* from) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(0xffff, halves));
}

GRADSTEP_FORMULA Floats roots_of(Floats floats) {
  return reinterpret_cast<Floats>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(floats)));
}

using Register = __m512i;
GRADSTEP_FORMULA Register packed_halves(Register first, Register second) { return _mm512_packs_epi32(first, second); }
GRADSTEP_FORMULA Register packed_signed(Register first, Register second) { return _mm512_packs_epi16(first, second); }
GRADSTEP_FORMULA Register packed_unsigned(Register first, Register second) {
  return _mm512_packus_epi16(first, second);
}
GRADSTEP_FORMULA Words in_order(Words packed) {
  constexpr Integers kPlaces = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  return reinterpret_cast<Words>(
      _mm512_maskz_permutexvar_epi32(0xffff, reinterpret_cast<__m512i>(kPlaces), reinterpret_cast<__m512i>(packed)));
}

/// The lower halves of two vectors of words; the upper halves are zero.
GRADSTEP_FORMULA void store_halves(std::uint16_t* to, Words first, Words second) {
  const __m256i low = _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(first));
  const __m256i high = _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(second));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + kWords), high);
}
#elif defined(__AVX2__)
GRADSTEP_FORMULA Floats load_float16(const std::uint16_t* from) {
  return reinterpret_cast<Floats>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
GRADSTEP_FORMULA __m128i float16_of(Floats floats) {
  return _mm256_cvtps_ph(reinterpret_cast<__m256>(floats), _MM_FROUND_TO_NEAREST_INT);
}
GRADSTEP_FORMULA void store_float16(std::uint16_t* to, Floats floats) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), float16_of(floats));
}
GRADSTEP_FORMULA Floats rounded_to_float16(Floats floats) {
  return reinterpret_cast<Floats>(_mm256_cvtph_ps(float16_of(floats)));
}

GRADSTEP_FORMULA Words load_bytes(const std::uint8_t* from) {
  return reinterpret_cast<Words>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
/// With the sign bit of each byte as that of its word.
GRADSTEP_FORMULA Words load_signed_bytes(const std::uint8_t* from) {
  return reinterpret_cast<Words>(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
GRADSTEP_FORMULA Words load_halves(const std::uint16_t* from) {
  return reinterpret_cast<Words>(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

GRADSTEP_FORMULA Floats roots_of(Floats floats) {
  return reinterpret_cast<Floats>(_mm256_sqrt_ps(reinterpret_cast<__m256>(floats)));
}

using Register = __m256i;
GRADSTEP_FORMULA Register packed_halves(Register first, Register second) { return _mm256_packs_epi32(first, second); }
GRADSTEP_FORMULA Register packed_signed(Register first, Register second) { return _mm256_packs_epi16(first, second); }
GRADSTEP_FORMULA Register packed_unsigned(Register first, Register second) {
  return _mm256_packus_epi16(first, second);
}
GRADSTEP_FORMULA Words in_order(Words packed) {
  constexpr Integers kPlaces = {0, 4, 1, 5, 2, 6, 3, 7};
  return reinterpret_cast<Words>(
      _mm256_permutevar8x32_epi32(reinterpret_cast<__m256i>(packed), reinterpret_cast<__m256i>(kPlaces)));
}

/// The lower halves of two vectors of words; the upper halves are zero.
GRADSTEP_FORMULA void store_halves(std::uint16_t* to, Words first, Words second) {
  // Quarters come out as 0, 2, 1, 3.
  const __m256i packed = _mm256_packus_epi32(reinterpret_cast<__m256i>(first), reinterpret_cast<__m256i>(second));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0)));
}
#else
GRADSTEP_FORMULA Words load_bytes(const std::uint8_t* from) {
  std::int32_t bytes = 0;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  const __m128i halves = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), _mm_setzero_si128());
  return reinterpret_cast<Words>(_mm_unpacklo_epi16(halves, _mm_setzero_si128()));
}

/// Stores the lowest byte of each word; the others are zero.
GRADSTEP_FORMULA void store_bytes(std::uint8_t* to, const FourWords& words) {
  const auto at = [&](int k) { return reinterpret_cast<__m128i>(words.of[k]); };
  const __m128i bytes = _mm_packus_epi16(_mm_packs_epi32(at(0), at(1)), _mm_packs_epi32(at(2), at(3)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}

/// Stores the lowest seven bits of each word, the others are zero, and as the eighth the sign bit of `signs`.
GRADSTEP_FORMULA void store_signed_bytes(std::uint8_t* to, FourWords words, const FourWords& signs) {
  for (int k = 0; k < 4; ++k) words.of[k] |= (signs.of[k] >> 24) & 0x80U;
  store_bytes(to, words);
}

/// The lower halves of two vectors of words; the upper halves are zero.
GRADSTEP_FORMULA void store_halves(std::uint16_t* to, Words first, Words second) {
  // There is no packing but with saturation as signed: so halves are made the signed numbers that have their bits.
  const auto signed_halves = [](Words words) {
    return reinterpret_cast<__m128i>(reinterpret_cast<Integers>(words << 16) >> 16);
  };
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_packs_epi32(signed_halves(first), signed_halves(second)));
}
#endif

#if defined(__AVX2__)
// Lanes of 16 bytes are packed each on their own: groups of four bytes come out as the columns of a matrix whose rows
// are the lanes. in_order() transposes it.
GRADSTEP_FORMULA Register first_halves(const FourWords& words) {
  return packed_halves(reinterpret_cast<Register>(words.of[0]), reinterpret_cast<Register>(words.of[1]));
}
GRADSTEP_FORMULA Register last_halves(const FourWords& words) {
  return packed_halves(reinterpret_cast<Register>(words.of[2]), reinterpret_cast<Register>(words.of[3]));
}
GRADSTEP_FORMULA Words packed_bytes(const FourWords& words) {
  return reinterpret_cast<Words>(packed_unsigned(first_halves(words), last_halves(words)));
}

/// Stores the lowest byte of each word; the others are zero.
GRADSTEP_FORMULA void store_bytes(std::uint8_t* to, const FourWords& words) {
  store_words(to, in_order(packed_bytes(words)));
}

/// Stores the lowest seven bits of each word, the others are zero, and as the eighth the sign bit of `signs`, which
/// stays where words are packed with saturation.
GRADSTEP_FORMULA void store_signed_bytes(std::uint8_t* to, const FourWords& words, const FourWords& signs) {
  const auto packed = reinterpret_cast<Words>(packed_signed(first_halves(signs), last_halves(signs)));
  store_words(to, in_order(packed_bytes(words) | (packed & 0x80808080U)));
}
#endif

}  // namespace
}  // namespace gradstep::cpu

#if defined(__AVX2__)
template <>
struct gradstep::kernels::Lanes<gradstep::cpu::Floats> {
  using Words = cpu::Words;
  using Floats = cpu::Floats;
  GRADSTEP_FORMULA static Floats square_root(Floats floats) { return cpu::roots_of(floats); }
};
#endif

template <>
struct gradstep::kernels::Lanes<gradstep::cpu::Words> {
  using Words = cpu::Words;
  using Floats = cpu::Floats;
  GRADSTEP_FORMULA static Floats floats_of(Words words) { return reinterpret_cast<Floats>(words); }
  GRADSTEP_FORMULA static Words words_of(Floats floats) { return reinterpret_cast<Words>(floats); }
  GRADSTEP_FORMULA static Floats to_floats(Words words) {
    return __builtin_convertvector(reinterpret_cast<cpu::Integers>(words), Floats);
  }
  GRADSTEP_FORMULA static Words to_integers(Floats floats) {
    return reinterpret_cast<Words>(__builtin_convertvector(floats, cpu::Integers));
  }
};

#endif
