// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A code stands for a number between 0 and 1 (or -1 and 1), of which the block's factor is a multiple. Each power of
// ten from 1e-7 to 1 is a decade; the higher ones are cut more finely: decade i = 0 ... 6, from 10^(i-7) to 10^(i-6),
// has 2^i cells of one width (2^(i+1) where no code is spent on signs). A code stands for the middle of its cell. Zero,
// and 1 itself, have codes of their own. With signs, codes 0 ... 254 stand for -127 ... 127 cells away from zero, 255
// for 1.
#include "optim/first_order/dynamic_code.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/block_code.h"

namespace gradstep {

namespace {

constexpr int kDecades = 7;
constexpr std::size_t kOne = 255;

using Numbers = std::array<float, 256>;

constexpr Numbers dynamic_numbers(bool is_signed) {
  const std::size_t zero = is_signed ? 127 : 0;
  Numbers numbers{};
  numbers[kOne] = 1;
  std::size_t away = 0;
  for (int decade = 0; decade < kDecades; ++decade) {
    double end = 1;
    for (int i = decade; i < kDecades - 1; ++i) end /= 10;
    const int cells = (is_signed ? 1 : 2) << decade;
    for (int cell = 0; cell < cells; ++cell) {
      ++away;
      const auto middle = static_cast<float>((0.1 + 0.9 * (cell + 0.5) / cells) * end);
      numbers[zero + away] = middle;
      if (is_signed) numbers[zero - away] = -middle;
    }
  }
  return numbers;
}

constexpr Numbers kSignedNumbers = dynamic_numbers(true);
constexpr Numbers kUnsignedNumbers = dynamic_numbers(false);

template <bool kSigned>
void encode(const std::array<std::uint32_t, kernels::kCodeBlock>& numbers, std::size_t count, std::uint8_t* codes,
            float* factor) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, numbers[i] & ~kernels::binary32::kSign);
  *factor = kernels::float_of(largest);
  const kernels::BlockCode<kSigned> code(*factor);
  for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint8_t>(code.encode(numbers[i]));
}

}  // namespace

void recode_dynamic(const std::byte* codes, const std::byte* factors, std::int64_t count, bool is_signed,
                    std::uint8_t* new_codes, float* new_factors) {
  const Numbers& numbers = is_signed ? kSignedNumbers : kUnsignedNumbers;
  std::array<std::uint32_t, kernels::kCodeBlock> block{};
  for (std::int64_t begin = 0; begin < count; begin += kernels::kCodeBlock) {
    const std::int64_t index = begin / kernels::kCodeBlock;
    const auto length = static_cast<std::size_t>(std::min(kernels::kCodeBlock, count - begin));
    float factor = 0;
    std::memcpy(&factor, factors + index * std::int64_t{sizeof factor}, sizeof factor);
    for (std::size_t i = 0; i < length; ++i) {
      block[i] =
          kernels::bits_of(numbers[std::to_integer<std::size_t>(codes[begin + static_cast<std::int64_t>(i)])] * factor);
    }
    (is_signed ? encode<true> : encode<false>)(block, length, new_codes + begin, new_factors + index);
  }
}

}  // namespace gradstep
