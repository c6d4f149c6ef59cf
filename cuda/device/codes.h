// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Block codes (kernels/block_code.h) by warps: a warp has a block of 256 numbers, a thread eight of them, the k-th of
// which is number 32 k + lane of the block.
#pragma once

#include "device/block.h"
#include "kernels/block_code.h"

namespace gradstep::cuda {

inline constexpr int kOwn = kernels::kCodeBlock / kWarp;  ///< numbers of a block that are a thread's

/// body(k, number of the block) for those of a thread that are within `count`.
template <class Body>
GRADSTEP_DEVICE void for_each_own(int lane, std::int64_t count, Body body) {
  for (int k = 0; k < kOwn; ++k) {
    const std::int64_t i = k * kWarp + lane;
    if (i < count) body(k, i);
  }
}

/// The largest of a warp's finite numbers, as bits without a sign.
GRADSTEP_DEVICE std::uint32_t largest_finite(Block& block, const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for_each_own(block.thread() % kWarp, count,
               [&](int k, std::int64_t) { kernels::take_finite(kernels::bits_of(x[k]), largest); });
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const auto other = static_cast<std::uint32_t>(block.shuffle_xor(static_cast<std::int32_t>(largest), mask));
    largest = other > largest ? other : largest;
  }
  return largest;
}

template <bool kSigned>
GRADSTEP_DEVICE void encode_block(Block& block, const float* x, std::int64_t count, std::uint8_t* codes,
                                  float* factor) {
  const int lane = block.thread() % kWarp;
  std::int32_t largest = 0;
  for_each_own(lane, count, [&](int k, std::int64_t) {
    const auto magnitude = static_cast<std::int32_t>(kernels::bits_of(x[k]) & ~kernels::binary32::kSign);
    largest = magnitude > largest ? magnitude : largest;
  });
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const std::int32_t other = block.shuffle_xor(largest, mask);
    largest = other > largest ? other : largest;
  }
  auto factor_bits = static_cast<std::uint32_t>(largest);
  if (kernels::is_nonfinite<float>(factor_bits)) factor_bits = largest_finite(block, x, count);  // in the whole warp
  const float whole = kernels::float_of(factor_bits);
  const kernels::BlockCode<kSigned> code(whole);
  if (lane == 0) block.store(factor, whole);
  for_each_own(lane, count, [&](int k, std::int64_t i) {
    block.store(codes + i,
                static_cast<std::uint8_t>(code.encode(kernels::codable(kernels::bits_of(x[k]), factor_bits))));
  });
}

template <bool kSigned>
GRADSTEP_DEVICE void decode_block(const Block& block, const std::uint8_t* codes, const float* factor,
                                  std::int64_t count, float* x) {
  const kernels::BlockCode<kSigned> code(block.load(factor));
  for_each_own(block.thread() % kWarp, count, [&](int k, std::int64_t i) {
    x[k] = kernels::float_of(code.decode(std::uint32_t{block.load(codes + i)}));
  });
}

GRADSTEP_DEVICE void encode_block(Block& block, bool is_signed, const float* x, std::int64_t count, std::uint8_t* codes,
                                  float* factor) {
  if (is_signed) {
    encode_block<true>(block, x, count, codes, factor);
  } else {
    encode_block<false>(block, x, count, codes, factor);
  }
}

GRADSTEP_DEVICE void decode_block(const Block& block, bool is_signed, const std::uint8_t* codes, const float* factor,
                                  std::int64_t count, float* x) {
  if (is_signed) {
    decode_block<true>(block, codes, factor, count, x);
  } else {
    decode_block<false>(block, codes, factor, count, x);
  }
}

}  // namespace gradstep::cuda
