// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "device/codes.h"

#include <type_traits>

#include "kernels/scaled_code.h"
#include "operations.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

/// A warp has a block of codes.
struct Code {
  static constexpr int kThreads = 256;
  static constexpr bool kWaits = true;

  CodedNumbers numbers;

  /// body(first number, how many) for the block of codes that is a warp's.
  template <class Body>
  GRADSTEP_DEVICE void for_block(const Block& block, Body body) const {
    const std::int64_t first = (block.index() * (kThreads / kWarp) + block.thread() / kWarp) * kernels::kCodeBlock;
    const std::int64_t left = numbers.count - first;
    if (left > 0) body(first, left < kernels::kCodeBlock ? left : kernels::kCodeBlock);
  }
};

/// Codes of kernels/scaled_code.h. Where `x` has no number, it is zero.
template <class Format>
GRADSTEP_DEVICE void encode_scaled(Block& block, const float* x, std::int64_t count, std::uint8_t* codes,
                                   float* factors) {
  using Scaled = kernels::ScaledCode<Format>;
  constexpr int kOfBlock = Scaled::kBlock / kWarp;  // numbers of a block of codes that are a thread's
  const int lane = block.thread() % kWarp;
  for (int k = 0; k < kOwn; k += kOfBlock) {
    std::uint32_t largest = 0;
    for (int i = 0; i < kOfBlock; ++i) kernels::take_finite(kernels::bits_of(x[k + i]), largest);
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      const auto other = static_cast<std::uint32_t>(block.shuffle_xor(static_cast<std::int32_t>(largest), mask));
      largest = other > largest ? other : largest;
    }
    const float factor = Scaled::factor_of(kernels::float_of(largest));
    const Scaled scaled(factor);
    const auto code_of = [&](int i) { return scaled.encode(kernels::codable(kernels::bits_of(x[i]), largest)); };
    if (lane == 0 && k * kWarp < count) block.store(factors + k / kOfBlock, factor);
    if constexpr (std::is_same_v<Format, kernels::Int4>) {
      if (k * kWarp + lane >= count) continue;
      block.store(codes + k / 2 * kWarp + lane, static_cast<std::uint8_t>(code_of(k) | code_of(k + 1) << 4));
    } else {
      for_each_own(lane, count, [&](int i, std::int64_t place) {
        block.store(codes + place, static_cast<std::uint8_t>(code_of(i)));
      });
    }
  }
}

template <class Format>
GRADSTEP_DEVICE void decode_scaled(const Block& block, const std::uint8_t* codes, const float* factors,
                                   std::int64_t count, float* x) {
  using Scaled = kernels::ScaledCode<Format>;
  constexpr int kOfBlock = Scaled::kBlock / kWarp;
  for_each_own(block.thread() % kWarp, count, [&](int k, std::int64_t place) {
    const Scaled scaled(block.load(factors + k / kOfBlock));
    std::uint32_t code = 0;
    if constexpr (std::is_same_v<Format, kernels::Int4>) {
      code = (block.load(codes + k / 2 * kWarp + place % kWarp) >> (k % 2 * 4)) & 15U;
    } else {
      code = block.load(codes + place);
    }
    x[k] = kernels::float_of(scaled.decode(code));
  });
}

/// Codes of the block from number `first`, a multiple of 256, on.
GRADSTEP_DEVICE std::uint8_t* codes_at(const CodedNumbers& numbers, std::int64_t first) {
  return numbers.codes + (numbers.code == kernels::NumberCode::int4 ? first / 2 : first);
}

struct Encode : Code {
  static constexpr const char* kName = "encode";
  const float* from;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_block(block, [&](std::int64_t first, std::int64_t count) {
      float x[kOwn] = {};
      for_each_own(block.thread() % kWarp, count, [&](int k, std::int64_t i) { x[k] = block.load(from + first + i); });
      std::uint8_t* codes = codes_at(numbers, first);
      float* factors = numbers.factors + first / kernels::block_of(numbers.code);
      switch (numbers.code) {
        case kernels::NumberCode::octaves:
          return encode_block(block, numbers.is_signed, x, count, codes, factors);
        case kernels::NumberCode::int4:
          return encode_scaled<kernels::Int4>(block, x, count, codes, factors);
        case kernels::NumberCode::e4m3:
          return encode_scaled<kernels::E4M3>(block, x, count, codes, factors);
        case kernels::NumberCode::e5m2:
          return encode_scaled<kernels::E5M2>(block, x, count, codes, factors);
      }
    });
  }
};

/// What becomes of decoded numbers.
enum class Use : std::uint8_t { store, subtract, add };

template <Use kUse>
struct Decode : Code {
  static constexpr const char* kName = kUse == Use::store      ? "decode"
                                       : kUse == Use::subtract ? "subtract_decoded"
                                                               : "add_decoded";
  static constexpr bool kWaits = false;
  float* to;
  float divisor = 1;  ///< of sums

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_block(block, [&](std::int64_t first, std::int64_t count) {
      float x[kOwn] = {};
      decode(block, codes_at(numbers, first), numbers.factors + first / kernels::block_of(numbers.code), count, x);
      for_each_own(block.thread() % kWarp, count, [&](int k, std::int64_t i) {
        float* place = to + first + i;
        if constexpr (kUse == Use::subtract) x[k] = block.load(place) - x[k];
        if constexpr (kUse == Use::add) x[k] = divided(block.load(place) + x[k]);
        block.store(place, x[k]);
      });
    });
  }

  GRADSTEP_DEVICE float divided(float sum) const { return divisor != 1 ? sum / divisor : sum; }

  GRADSTEP_DEVICE void decode(const Block& block, const std::uint8_t* codes, const float* factors, std::int64_t count,
                              float* x) const {
    switch (numbers.code) {
      case kernels::NumberCode::octaves:
        return decode_block(block, numbers.is_signed, codes, factors, count, x);
      case kernels::NumberCode::int4:
        return decode_scaled<kernels::Int4>(block, codes, factors, count, x);
      case kernels::NumberCode::e4m3:
        return decode_scaled<kernels::E4M3>(block, codes, factors, count, x);
      case kernels::NumberCode::e5m2:
        return decode_scaled<kernels::E5M2>(block, codes, factors, count, x);
    }
  }
};

/// Numbers of a block of threads.
constexpr std::int64_t kNumbers = Code::kThreads / kWarp * kernels::kCodeBlock;

}  // namespace

void encode(const float* from, const CodedNumbers& to, CudaQueue& queue) {
  launch(queue, parts_of(to.count, kNumbers), Encode{{to}, from});
}

void decode(const CodedNumbers& from, float* to, CudaQueue& queue) {
  launch(queue, parts_of(from.count, kNumbers), Decode<Use::store>{{from}, to});
}

void encode_rest(float* numbers, const CodedNumbers& to, CudaQueue& queue) {
  encode(numbers, to, queue);
  launch(queue, parts_of(to.count, kNumbers), Decode<Use::subtract>{{to}, numbers});
}

void add_decoded(const CodedNumbers& from, float* sums, double divisor, CudaQueue& queue) {
  launch(queue, parts_of(from.count, kNumbers), Decode<Use::add>{{from}, sums, static_cast<float>(divisor)});
}

}  // namespace gradstep::cuda
