// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// States that are not kept in the arithmetic type, by blocks: widened on the way in, narrowed on the way out; and
// stochastic rounding.
#pragma once

#include "cpu/loops/block.h"
#include "cpu/loops/lanes.h"
#include "kernels/block_code.h"
#include "kernels/stochastic_rounding.h"

namespace gradstep::cpu {
namespace {

static_assert(kBlock == kernels::kCodeBlock);

/// Replaces the numbers of a block that are not finite by those that are coded in their stead. Writes all of them to
/// `to`, which may be `from`. Returns the block's factor.
[[gnu::noinline, gnu::cold]] float make_finite(const float* from, std::int64_t count, float* to) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) kernels::take_finite(kernels::bits_of(from[i]), largest);
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = kernels::float_of(kernels::codable(kernels::bits_of(from[i]), largest));
  }
  return kernels::float_of(largest);
}

/// The largest magnitude of a block; infinity or NaN where one is not finite.
[[gnu::noinline]] float measure_block(const float* numbers, std::int64_t count) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<std::int32_t>(kernels::bits_of(numbers[i]) & ~kernels::binary32::kSign);
    largest = magnitude > largest ? magnitude : largest;
  }
  return kernels::float_of(static_cast<std::uint32_t>(largest));
}

#if defined(__SSE2__)
constexpr std::int64_t kCodes = 4 * kWords;  ///< that are written at once

template <class Code>
GRADSTEP_FORMULA void encode_some(const Code& code, const float* from, std::uint8_t* codes) {
  FourWords words;
  for (int k = 0; k < 4; ++k) words.of[k] = code.encode(load_words(from + kWords * k));
  store_bytes(codes, words);
}
GRADSTEP_FORMULA void encode_some(const kernels::BlockCode<true>& code, const float* from, std::uint8_t* codes) {
  FourWords words;
  FourWords numbers;
  for (int k = 0; k < 4; ++k) {
    numbers.of[k] = load_words(from + kWords * k);
    words.of[k] = code.code_of(numbers.of[k] & ~kernels::binary32::kSign);
  }
  store_signed_bytes(codes, words, numbers);
}

/// For numbers without signs.
GRADSTEP_FORMULA void encode_magnitudes(const kernels::BlockCode<false>& code, const float* from, std::uint8_t* codes) {
  FourWords words;
  for (int k = 0; k < 4; ++k) words.of[k] = code.code_of(load_words(from + kWords * k));
  store_bytes(codes, words);
}

template <class Code>
GRADSTEP_FORMULA void decode_some(const Code& code, const std::uint8_t* codes, float* to) {
  for (int k = 0; k < 4; ++k) store_words(to + kWords * k, code.decode(load_bytes(codes + kWords * k)));
}
#else
constexpr std::int64_t kCodes = 1;

template <class Code>
GRADSTEP_FORMULA void encode_some(const Code& code, const float* from, std::uint8_t* codes) {
  *codes = static_cast<std::uint8_t>(code.encode(kernels::bits_of(*from)));
}

template <class Code>
GRADSTEP_FORMULA void decode_some(const Code& code, const std::uint8_t* codes, float* to) {
  *to = kernels::float_of(code.decode(std::uint32_t{*codes}));
}
#endif

/// The factor of a block is finite.
bool is_factor(float largest) { return !kernels::is_nonfinite<float>(kernels::bits_of(largest)); }

template <class Code>
[[gnu::noinline]] void encode_block(const float* from, float factor, std::uint8_t* codes, std::int64_t count) {
  const Code code(factor);
  std::int64_t coded = 0;
  for (; coded + kCodes <= count; coded += kCodes) encode_some(code, from + coded, codes + coded);
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = coded; i < count; ++i) {
    codes[i] = static_cast<std::uint8_t>(code.encode(kernels::bits_of(from[i])));
  }
}

template <class Code>
[[gnu::noinline]] void decode_block(const std::uint8_t* codes, float factor, float* to, std::int64_t count) {
  const Code code(factor);
  std::int64_t decoded = 0;
  for (; decoded + kCodes <= count; decoded += kCodes) decode_some(code, codes + decoded, to + decoded);
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = decoded; i < count; ++i) to[i] = kernels::float_of(code.decode(std::uint32_t{codes[i]}));
}

/// Rounds the numbers of a block stochastically. What all streams share of the random bits is made once.
class BlockRounding {
 public:
  BlockRounding(const kernels::RoundingBits& bits, std::int64_t count) : bits_(bits), count_(count) {
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < words(); ++i) places_[i] = bits.place(static_cast<std::uint32_t>(i));
  }

  /// Rounds the block's numbers to values of a 16-bit type; others stay as they are.
  void round(DType dtype, int stream, float* values) const {
    if (dtype == DType::f16) return round_to<Float16>(stream, values);
    if (dtype == DType::bf16) return round_to<BFloat16>(stream, values);
  }

 private:
  static constexpr std::int64_t kHalf = kernels::RoundingBits::kHalf;

  std::int64_t words() const { return smaller(count_, kHalf); }

  template <class Stored>
  [[gnu::noinline]] void round_to(int stream, float* values) const {
    const std::uint32_t key = bits_.stream(stream);
    alignas(64) std::uint32_t random[kHalf];
    const std::int64_t size = words();
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < size; ++i) random[i] = kernels::RoundingBits::word(places_[i], key);
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < size; ++i) values[i] = rounded<Stored>(values[i], random[i] & 0xffffU);
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = kHalf; i < count_; ++i) values[i] = rounded<Stored>(values[i], random[i - kHalf] >> 16);
  }

  template <class Stored>
  GRADSTEP_FORMULA static float rounded(float x, std::uint32_t random) {
    return kernels::to_float(kernels::round_stochastically<Stored>(x, random));
  }

  kernels::RoundingBits bits_;
  std::int64_t count_;
  alignas(64) std::uint32_t places_[kHalf];
};

using SignedCode = kernels::BlockCode<true>;
using UnsignedCode = kernels::BlockCode<false>;

bool is_native(const UpdateItem& item, int s) {
  return item.format == StateFormat::native || ((item.exact_states >> s) & 1) != 0;
}

/// Elements [begin, begin + count) of state s, which is not native.
void load_state(const UpdateItem& item, int s, std::int64_t begin, std::int64_t count, float* to) {
  if (item.format == StateFormat::bf16) {
    const BFloat16* stored = static_cast<const BFloat16*>(item.states[s]) + begin;
    help_prefetcher(stored, count);
    return convert_block(stored, to, count);
  }
  const std::uint8_t* codes = static_cast<const std::uint8_t*>(item.states[s]) + begin;
  help_prefetcher(codes, count);
  const auto decode = ((item.signed_states >> s) & 1) != 0 ? decode_block<SignedCode> : decode_block<UnsignedCode>;
  decode(codes, item.factors[s][begin / kBlock], to, count);
}

/// Elements [begin, begin + count) of those of that many states that are not native. Values that their code does not
/// have may be changed.
void store_states(const UpdateItem& item, int states, std::int64_t begin, std::int64_t count, float* const* values) {
  if (item.format == StateFormat::bf16) {
    for (int s = 0; s < states; ++s) {
      if (is_native(item, s)) continue;
      convert_block(values[s], static_cast<BFloat16*>(item.states[s]) + begin, count);
    }
    return;
  }
  // What is measured of one state is waited for while the next one is measured.
  for (int s = 0; s < states; ++s) {
    if (!is_native(item, s)) item.factors[s][begin / kBlock] = measure_block(values[s], count);
  }
  for (int s = 0; s < states; ++s) {
    if (is_native(item, s)) continue;
    float& factor = item.factors[s][begin / kBlock];
    if (!is_factor(factor)) factor = make_finite(values[s], count, values[s]);
    const auto encode = ((item.signed_states >> s) & 1) != 0 ? encode_block<SignedCode> : encode_block<UnsignedCode>;
    encode(values[s], factor, static_cast<std::uint8_t*>(item.states[s]) + begin, count);
  }
}

/// Elements [begin, begin + count) of Shampoo's state in bf16; values may be changed.
[[gnu::noinline]] void store_narrow(const StateLists& states, std::int64_t begin, std::int64_t count,
                                    float* const* values) {
  if (states.rounding.is_random()) {
    const BlockRounding rounding(states.rounding.bits(states.first + begin), count);
    for (int s = 0; s < 2; ++s) {
      if (values[s] != nullptr) rounding.round(DType::bf16, states.streams[s], values[s]);
    }
  }
  for (int s = 0; s < 2; ++s) {
    if (values[s] != nullptr) convert_block(values[s], static_cast<BFloat16*>(states.numbers[s]) + begin, count);
  }
}

template <class Stored>
[[gnu::noinline]] void follow_host(float* master, const float* param, std::int64_t count) {
  std::int64_t followed = 0;
#if defined(__AVX2__)
  if constexpr (std::is_same_v<Stored, Float16>) {  // of which compilers make vectors by the formula alone
    for (; followed + kWords <= count; followed += kWords) {
      const Floats own = load_floats(master + followed);
      const Floats host = load_floats(param + followed);
      const auto is_its = reinterpret_cast<Words>(rounded_to_float16(own)) == reinterpret_cast<Words>(host);
      store_floats(master + followed, is_its ? own : host);
    }
  }
#endif
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = followed; i < count; ++i) master[i] = kernels::followed<Stored>(master[i], param[i]);
}

/// Where the host has written the parameter, the master follows.
void follow_host(const UpdateItem& item, std::int64_t begin, std::int64_t count) {
  Scratch<float> scratch;
  const float* param = load(*item.param, begin, count, scratch.values);
  if (item.param->dtype == DType::f16) {
    follow_host<Float16>(item.master + begin, param, count);
  } else {
    follow_host<BFloat16>(item.master + begin, param, count);
  }
}

}  // namespace
}  // namespace gradstep::cpu
