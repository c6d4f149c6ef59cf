// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers to codes of blocks and back, in any of the codes that there are.
#pragma once

#include "cpu/loops/range.h"
#include "cpu/loops/rank_sum.h"
#include "cpu/loops/stored_state.h"
#include "kernels/scaled_code.h"

namespace gradstep::cpu {
namespace {

/// factor = write(numbers, how many, first number, largest magnitude) for each block of elements [first, first +
/// count); numbers are finite.
template <class Write>
GRADSTEP_FORMULA void for_each_coded_block(const float* from, const CodedNumbers& to, std::int64_t block,
                                           std::int64_t first, std::int64_t count, Write write) {
  for (std::int64_t begin = first; begin < first + count; begin += block) {
    const std::int64_t length = smaller(block, first + count - begin);
    const float* numbers = from + begin;
    Scratch<float> finite;
    float largest = measure_block(numbers, length);
    if (!is_factor(largest)) {
      largest = make_finite(numbers, length, finite.values);
      numbers = finite.values;
    }
    to.factors[begin / block] = write(numbers, length, begin, largest);
  }
}

template <bool kSigned>
void encode_octaves(const float* from, const CodedNumbers& to, std::int64_t first, std::int64_t count) {
  for_each_coded_block(from, to, kBlock, first, count,
                       [&](const float* numbers, std::int64_t length, std::int64_t begin, float largest) {
                         encode_block<kernels::BlockCode<kSigned>>(numbers, largest, to.codes + begin, length);
                         return largest;
                       });
}

template <class Format>
void encode_scaled(const float* from, const CodedNumbers& to, std::int64_t first, std::int64_t count) {
  using Code = kernels::ScaledCode<Format>;
  for_each_coded_block(from, to, Code::kBlock, first, count,
                       [&](const float* numbers, std::int64_t length, std::int64_t begin, float largest) {
                         const float factor = Code::factor_of(largest);
                         encode_block<Code>(numbers, factor, to.codes + begin, length);
                         return factor;
                       });
}

constexpr std::int64_t kPairs = kernels::Int4::kBlock / 2;  ///< of codes, in the bytes of a block

template <>
void encode_scaled<kernels::Int4>(const float* from, const CodedNumbers& to, std::int64_t first, std::int64_t count) {
  using Code = kernels::ScaledCode<kernels::Int4>;
  for_each_coded_block(from, to, Code::kBlock, first, count,
                       [&](const float* numbers, std::int64_t length, std::int64_t begin, float largest) {
                         const float factor = Code::factor_of(largest);
                         alignas(64) std::uint8_t each[Code::kBlock] = {};
                         encode_block<Code>(numbers, factor, each, length);
                         std::uint8_t* codes = to.codes + begin / 2;
                         const std::int64_t bytes = smaller(kPairs, length);
                         GRADSTEP_INDEPENDENT
                         for (std::int64_t i = 0; i < bytes; ++i) {
                           codes[i] = static_cast<std::uint8_t>(each[i] | each[kPairs + i] << 4);
                         }
                         return factor;
                       });
}

template <class Code>
void decode_bytes(const CodedNumbers& from, float* to, std::int64_t first, std::int64_t count) {
  for (std::int64_t begin = first; begin < first + count; begin += kBlock) {
    const std::int64_t length = smaller(kBlock, first + count - begin);
    decode_block<Code>(from.codes + begin, from.factors[begin / kBlock], to + begin, length);
  }
}

void decode_pairs(const CodedNumbers& from, float* to, std::int64_t first, std::int64_t count) {
  using Code = kernels::ScaledCode<kernels::Int4>;
  for (std::int64_t begin = first; begin < first + count; begin += Code::kBlock) {
    const std::int64_t length = smaller(Code::kBlock, first + count - begin);
    const std::uint8_t* codes = from.codes + begin / 2;
    const std::int64_t bytes = smaller(kPairs, length);
    alignas(64) std::uint8_t each[Code::kBlock];
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < bytes; ++i) {
      each[i] = codes[i] & 15U;
      each[kPairs + i] = codes[i] >> 4;
    }
    decode_block<Code>(each, from.factors[begin / Code::kBlock], to + begin, length);
  }
}

void encode_numbers(const float* from, const CodedNumbers& to, std::int64_t first, std::int64_t count) {
  switch (to.code) {
    case kernels::NumberCode::int4:
      return encode_scaled<kernels::Int4>(from, to, first, count);
    case kernels::NumberCode::e4m3:
      return encode_scaled<kernels::E4M3>(from, to, first, count);
    case kernels::NumberCode::e5m2:
      return encode_scaled<kernels::E5M2>(from, to, first, count);
    case kernels::NumberCode::octaves:
      break;
  }
  if (to.is_signed) return encode_octaves<true>(from, to, first, count);
  encode_octaves<false>(from, to, first, count);
}

void decode_numbers(const CodedNumbers& from, float* to, std::int64_t first, std::int64_t count) {
  switch (from.code) {
    case kernels::NumberCode::int4:
      return decode_pairs(from, to, first, count);
    case kernels::NumberCode::e4m3:
      return decode_bytes<kernels::ScaledCode<kernels::E4M3>>(from, to, first, count);
    case kernels::NumberCode::e5m2:
      return decode_bytes<kernels::ScaledCode<kernels::E5M2>>(from, to, first, count);
    case kernels::NumberCode::octaves:
      break;
  }
  if (from.is_signed) return decode_bytes<kernels::BlockCode<true>>(from, to, first, count);
  decode_bytes<kernels::BlockCode<false>>(from, to, first, count);
}

/// Calls body(codes of the block, its first number) for each block of numbers [first, first + count), one at a time, so
/// that its decoded numbers stay in the cache.
template <class Body>
GRADSTEP_FORMULA void for_each_code_block(const CodedNumbers& codes, std::int64_t first, std::int64_t count,
                                          Body body) {
  CodedNumbers block = codes;
  for (std::int64_t begin = first; begin < first + count; begin += kBlock) {
    block.codes = codes.codes + (codes.code == kernels::NumberCode::int4 ? begin / 2 : begin);
    block.factors = codes.factors + begin / kernels::block_of(codes.code);
    block.count = smaller(kBlock, first + count - begin);
    body(block, begin);
  }
}

std::int64_t encode_rest(float* numbers, const CodedNumbers& to, std::int64_t first, std::int64_t count) {
  std::int64_t nonfinite = 0;
  for_each_code_block(to, first, count, [&](const CodedNumbers& block, std::int64_t begin) {
    float* own = numbers + begin;
    if (!is_factor(measure_block(own, block.count))) nonfinite += count_nonfinite_of<float>(own, 0, block.count);
    encode_numbers(own, block, 0, block.count);
    Scratch<float> decoded;
    decode_numbers(block, decoded.values, 0, block.count);
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < block.count; ++i) own[i] = own[i] - decoded.values[i];
  });
  return nonfinite;
}

void add_decoded(const CodedNumbers& from, float* sums, float divisor, std::int64_t first, std::int64_t count) {
  for_each_code_block(from, first, count, [&](const CodedNumbers& block, std::int64_t begin) {
    Scratch<float> decoded;
    decode_numbers(block, decoded.values, 0, block.count);
    combine_block(kernels::Sum{}, sums + begin, sums + begin, decoded.values, block.count);
    if (divisor != 1) divide_block(sums + begin, block.count, divisor);
  });
}

}  // namespace
}  // namespace gradstep::cpu
