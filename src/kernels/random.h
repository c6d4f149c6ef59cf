// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Random bits as a function of their position: any are found without those before them, so that they do not depend on
// threads, instruction sets or how a tensor is cut.
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

/// A number in [-1, 1), of 53 bits.
GRADSTEP_FORMULA double signed_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-52 - 1; }

}  // namespace gradstep::kernels
