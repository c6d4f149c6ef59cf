// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// States that are not kept in the arithmetic type, by blocks: widened on the way in, narrowed on the way out; and
// stochastic rounding.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "cpu/loops/block.h"
#include "kernels/block_code.h"
#include "kernels/random.h"

namespace gradstep::cpu {
namespace {

static_assert(kBlock == kernels::kCodeBlock);

template <bool kSigned>
[[gnu::noinline]] void encode_block(const float* from, std::uint8_t* codes, float* factor, std::int64_t count) {
  std::int32_t positive = 0;
  std::int32_t negative = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = kernels::bits_of(from[i]);
    const auto above = static_cast<std::int32_t>(bits);                // below zero for negative numbers
    const auto below = static_cast<std::int32_t>(bits ^ 0x80000000U);  // below zero for positive ones
    positive = above > positive ? above : positive;
    negative = below > negative ? below : negative;
  }
  *factor = kernels::block_factor(positive, negative);
  const float divisor = kernels::block_divisor(*factor);
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) codes[i] = kernels::BlockCode<kSigned>::encode(from[i] / divisor);
}

#if defined(__AVX512F__)
/// 16 codes at a time from the table in 16 registers: each instruction chooses among 32 numbers by five bits of a code,
/// the other three bits choose among the eight outcomes. A third of the time of single loads.
template <bool kSigned>
[[gnu::noinline]] void decode_block(const std::uint8_t* codes, float factor, float* to, std::int64_t count) {
  const float* numbers = (kSigned ? kernels::kSignedCodeValues : kernels::kUnsignedCodeValues).of;
  __m512 table[16];
  for (int k = 0; k < 16; ++k) table[k] = _mm512_loadu_ps(numbers + 16 * k);
  const std::int64_t vectors = count / 16 * 16;
  for (std::int64_t i = 0; i < vectors; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i));
    const __m512i code = _mm512_maskz_cvtepu8_epi32(0xffff, bytes);
    const __mmask16 bit5 = _mm512_test_epi32_mask(code, _mm512_set1_epi32(32));
    const __mmask16 bit6 = _mm512_test_epi32_mask(code, _mm512_set1_epi32(64));
    const __mmask16 bit7 = _mm512_test_epi32_mask(code, _mm512_set1_epi32(128));
    __m512 among[8];
    for (int k = 0; k < 8; ++k) among[k] = _mm512_permutex2var_ps(table[2 * k], code, table[2 * k + 1]);
    for (int k = 0; k < 4; ++k) among[k] = _mm512_mask_blend_ps(bit5, among[2 * k], among[2 * k + 1]);
    for (int k = 0; k < 2; ++k) among[k] = _mm512_mask_blend_ps(bit6, among[2 * k], among[2 * k + 1]);
    const __m512 number = _mm512_mask_blend_ps(bit7, among[0], among[1]);
    _mm512_storeu_ps(to + i, _mm512_mul_ps(number, _mm512_set1_ps(factor)));
  }
  for (std::int64_t i = vectors; i < count; ++i) to[i] = numbers[codes[i]] * factor;
}
#else
template <bool kSigned>
[[gnu::noinline]] void decode_block(const std::uint8_t* codes, float factor, float* to, std::int64_t count) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = kernels::decode<kSigned>(codes[i]) * factor;
}
#endif

void encode_numbers(const float* from, const CodedNumbers& to, std::int64_t first, std::int64_t count) {
  for (std::int64_t begin = first; begin < first + count; begin += kBlock) {
    const std::int64_t length = smaller(kBlock, first + count - begin);
    const auto encode = to.is_signed ? encode_block<true> : encode_block<false>;
    encode(from + begin, to.codes + begin, to.factors + begin / kBlock, length);
  }
}

void decode_numbers(const CodedNumbers& from, float* to, std::int64_t first, std::int64_t count) {
  for (std::int64_t begin = first; begin < first + count; begin += kBlock) {
    const std::int64_t length = smaller(kBlock, first + count - begin);
    const auto decode = from.is_signed ? decode_block<true> : decode_block<false>;
    decode(from.codes + begin, from.factors[begin / kBlock], to + begin, length);
  }
}

template <class Stored>
[[gnu::noinline]] void round_block(float* values, std::int64_t count, kernels::RandomWords random) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const Stored rounded = kernels::round_stochastically<Stored>(values[i], random.bits(static_cast<std::uint32_t>(i)));
    values[i] = kernels::to_float(rounded);
  }
}

/// Rounds numbers to values of a 16-bit type.
void round_numbers(DType dtype, float* values, std::int64_t count, kernels::RandomWords random) {
  if (dtype == DType::f16) {
    round_block<Float16>(values, count, random);
  } else if (dtype == DType::bf16) {
    round_block<BFloat16>(values, count, random);
  }
}

/// Elements [begin, begin + count) of state s.
void load_state(const UpdateItem& item, int s, std::int64_t begin, std::int64_t count, float* to) {
  if (item.format == StateFormat::bf16) {
    const BFloat16* from = static_cast<const BFloat16*>(item.states[s]) + begin;
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = kernels::to_float(from[i]);
    return;
  }
  const auto decode = ((item.signed_states >> s) & 1) != 0 ? decode_block<true> : decode_block<false>;
  decode(static_cast<const std::uint8_t*>(item.states[s]) + begin, item.factors[s][begin / kBlock], to, count);
}

/// `values` may be changed.
void store_state(const UpdateItem& item, int s, std::int64_t begin, std::int64_t count, float* values,
                 const kernels::StepWords& words) {
  if (item.format == StateFormat::bf16) {
    if (item.stochastic) round_numbers(DType::bf16, values, count, words.stream(1 + s));
    BFloat16* to = static_cast<BFloat16*>(item.states[s]) + begin;
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = kernels::to_bfloat16(values[i]);
    return;
  }
  const auto encode = ((item.signed_states >> s) & 1) != 0 ? encode_block<true> : encode_block<false>;
  encode(values, static_cast<std::uint8_t*>(item.states[s]) + begin, item.factors[s] + begin / kBlock, count);
}

template <class Stored>
[[gnu::noinline]] void follow_host(float* master, const float* param, std::int64_t count) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    master[i] = kernels::followed<Stored>(master[i], param[i]);
  }
}

/// Where the host has written the parameter, the master follows.
void follow_host(const UpdateItem& item, std::int64_t begin, std::int64_t count) {
  Scratch<float> scratch;
  const float* param = load(item.param, begin, count, scratch.values);
  if (item.param.dtype == DType::f16) {
    follow_host<Float16>(item.master + begin, param, count);
  } else {
    follow_host<BFloat16>(item.master + begin, param, count);
  }
}

}  // namespace
}  // namespace gradstep::cpu
