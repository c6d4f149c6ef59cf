// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Default rounding and denormal handling for the life of the object, whatever the host has set: results do not depend
// on a host's flush-to-zero or rounding mode.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace gradstep {

class FpEnvironment {
 public:
  FpEnvironment() noexcept : saved_(read()) {
    if (differs(saved_)) write(kDefault);
  }
  ~FpEnvironment() {
    if (differs(saved_)) write(saved_);
  }
  FpEnvironment(const FpEnvironment&) = delete;
  FpEnvironment& operator=(const FpEnvironment&) = delete;

 private:
#if defined(__SSE2__)
  using Word = std::uint32_t;
  static constexpr Word kDefault = 0x1f80;  // all exceptions masked, round to nearest, no FTZ, no DAZ
  static constexpr Word kStatusFlags = 0x3f;
  static Word read() noexcept { return _mm_getcsr(); }
  static void write(Word word) noexcept { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word kDefault = 0;
  static constexpr Word kStatusFlags = 0;
  static Word read() noexcept {
    Word word = 0;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void write(Word word) noexcept { asm volatile("msr fpcr, %0" ::"r"(word)); }
#else
#error "gradstep needs to know how to set the floating-point environment of this processor"
#endif
  static bool differs(Word word) noexcept { return (word & ~kStatusFlags) != kDefault; }

  Word saved_;
};

}  // namespace gradstep
