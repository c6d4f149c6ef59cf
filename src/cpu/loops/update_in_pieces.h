// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Updates whose states are kept in bf16 or in codes; all else is f32, contiguous and in place. A division and a root
// keep one unit of the processor busy for most of a rule's time. So what widens and narrows states takes turns with the
// rule, a piece each: few enough elements that the processor looks past one into the next, and works at both.
#pragma once

#include "cpu/loops/rule.h"
#include "cpu/loops/stored_state.h"
#include "cpu/loops/update_staged.h"

namespace gradstep::cpu {
namespace {

constexpr std::int64_t kPiece = 64;
static_assert(kBlock % kPiece == 0);

/// Measured where a vector has 8 words or 16; with fewer the rule is most of the time.
#if defined(__AVX2__)
constexpr bool kStepsInPieces = true;
#else
constexpr bool kStepsInPieces = false;
#endif

/// kPiece as the count of a loop that has no remainder. A compiler that knows it unrolls the loop to its end: four
/// times is worth it.
GRADSTEP_FORMULA std::int64_t piece() {
  std::int64_t count = kPiece;
  if (kCodes < kPiece) asm("" : "+r"(count));
  return count & -kPiece;
}

template <class Rule>
void update_narrow(const Rule& rule, GradientScale<float> scale, const UpdateItem& item, const Chunk& chunk, float* p,
                   const float* g, std::int64_t step) {
  constexpr int kStates = Rule::kStates;
  for_each_block(chunk.length, [&](std::int64_t begin, std::int64_t length, std::int64_t) {
    if (length < kBlock) return update_staged_block(rule, scale, item, chunk.offset + begin, length, step);
    Scratch<float> scratch[kernels::kMaxStates];
    float* states[kernels::kMaxStates];
    for (int s = 0; s < kStates; ++s) states[s] = scratch[s].values;
    for (std::int64_t first = begin; first < begin + kBlock; first += kPiece) {
      BFloat16* stored[kernels::kMaxStates];
      for (int s = 0; s < kStates; ++s) {
        stored[s] = static_cast<BFloat16*>(item.states[s]) + chunk.offset + first;
        convert_numbers(stored[s], states[s], piece());
      }
      run_rule<true>(rule, scale, p + first, p + first, g + first, states, piece());
      for (int s = 0; s < kStates; ++s) convert_numbers(states[s], stored[s], piece());
    }
  });
}

static_assert(kPiece % kCodes == 0);

template <bool kSigned>
GRADSTEP_FORMULA void encode_piece(const float* from, float factor, std::uint8_t* codes) {
  if (kernels::is_nonfinite<float>(kernels::bits_of(factor))) {
    __builtin_memset(codes, 0, kPiece);
    return;
  }
  const kernels::BlockCode<kSigned> code(factor);
  for (std::int64_t i = 0; i < kPiece; i += kCodes) encode_some(code, from + i, codes + i);
}

template <bool kSigned>
GRADSTEP_FORMULA void decode_piece(const std::uint8_t* codes, float factor, float* to) {
  const kernels::BlockCode<kSigned> code(factor);
  for (std::int64_t i = 0; i < kPiece; i += kCodes) decode_some(code, codes + i, to + i);
}

/// States of a block whose rule has run: its factors are known, its codes are not written yet.
struct SteppedBlock {
  Scratch<float> states[kernels::kMaxStates];
  std::uint8_t* codes[kernels::kMaxStates];
  float factors[kernels::kMaxStates];
  bool is_written = true;

  /// Codes of the elements [first, first + kPiece).
  template <class Rule>
  GRADSTEP_FORMULA void write(std::int64_t first) const {
    for (int s = 0; s < Rule::kStates; ++s) {
      if (((Rule::kSignedStates >> s) & 1) != 0) {
        encode_piece<true>(states[s].values + first, factors[s], codes[s] + first);
      } else {
        encode_piece<false>(states[s].values + first, factors[s], codes[s] + first);
      }
    }
  }
};

/// A code depends on the largest number of its block: so a block's codes are written while the next one is stepped.
template <class Rule>
void update_coded(const Rule& rule, GradientScale<float> scale, const UpdateItem& item, const Chunk& chunk, float* p,
                  const float* g, std::int64_t step) {
  constexpr int kStates = Rule::kStates;
  SteppedBlock blocks[2];
  SteppedBlock* now = &blocks[0];
  SteppedBlock* before = &blocks[1];
  for_each_block(chunk.length, [&](std::int64_t begin, std::int64_t length, std::int64_t) {
    if (length < kBlock) return update_staged_block(rule, scale, item, chunk.offset + begin, length, step);
    const std::int64_t block = (chunk.offset + begin) / kBlock;
    for (int s = 0; s < kStates; ++s) {
      now->codes[s] = static_cast<std::uint8_t*>(item.states[s]) + chunk.offset + begin;
      now->factors[s] = item.factors[s][block];
    }
    for (std::int64_t first = 0; first < kBlock; first += kPiece) {
      float* states[kernels::kMaxStates];
      for (int s = 0; s < kStates; ++s) {
        states[s] = now->states[s].values + first;
        if (((Rule::kSignedStates >> s) & 1) != 0) {
          decode_piece<true>(now->codes[s] + first, now->factors[s], states[s]);
        } else {
          decode_piece<false>(now->codes[s] + first, now->factors[s], states[s]);
        }
      }
      float* out = p + begin + first;
      run_rule<true>(rule, scale, out, out, g + begin + first, states, piece());
      if (!before->is_written) before->write<Rule>(first);
    }
    before->is_written = true;
    for (int s = 0; s < kStates; ++s) {
      now->factors[s] = item.factors[s][block] = measure_block(now->states[s].values, kBlock);
    }
    now->is_written = false;
    SteppedBlock* const next = before;
    before = now;
    now = next;
  });
  if (before->is_written) return;
  for (std::int64_t first = 0; first < kBlock; first += kPiece) before->write<Rule>(first);
}

}  // namespace
}  // namespace gradstep::cpu
