// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Random bits as a function of a key and a position: any element's are found without those before it, so that they do
// not depend on threads, instruction sets or how a tensor is cut.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// The finaliser of MurmurHash3 (Appleby): every bit of x changes every bit of the result with probability near 1/2.
GRADSTEP_FORMULA std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bU;
  x = (x ^ (x >> 13)) * 0xc2b2ae35U;
  return x ^ (x >> 16);
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
GRADSTEP_FORMULA std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// A sequence of random words. `first` is the position of the word that bits(0) gives.
struct RandomWords {
  std::uint32_t low;
  std::uint32_t key;

  /// Positions from one `first` on may not cross a multiple of 2^32.
  GRADSTEP_FORMULA RandomWords(std::uint64_t stream_key, std::uint64_t first)
      : low(static_cast<std::uint32_t>(first)),
        key(static_cast<std::uint32_t>(mix64(stream_key + (first >> 32) * 0x9e3779b97f4a7c15U))) {}

  GRADSTEP_FORMULA std::uint32_t bits(std::uint32_t i) const { return mix32(mix32(low + i) ^ key); }
};

/// The random words that round what one step stores of a parameter from an element on: a stream for the parameter
/// itself and one for each of its states. `random_key` is the parameter's, `first_element` the position of that
/// element.
struct StepWords {
  std::uint64_t key;
  std::uint64_t first;

  GRADSTEP_FORMULA StepWords(std::uint64_t random_key, std::int64_t step, std::int64_t first_element)
      : key(mix64(random_key + static_cast<std::uint64_t>(step) * 0x9e3779b97f4a7c15U)),
        first(static_cast<std::uint64_t>(first_element)) {}

  /// Stream 0 is the parameter's, 1 + s that of state s.
  GRADSTEP_FORMULA RandomWords stream(int stream) const { return {key + static_cast<std::uint64_t>(stream), first}; }
};

}  // namespace gradstep::kernels
