// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// By the instructions CPUID and XGETBV, as volume 1 of the Intel 64 and IA-32 Architectures Software Developer's Manual
// says in its chapters on AVX, F16C, FMA and AVX2, and on AVX-512.
#include "cpu/processor.h"

#if defined(GRADSTEP_HAS_X86_LOOPS)
#include <cpuid.h>

#include <cstdint>
#endif

namespace gradstep::cpu {

namespace {

#if defined(GRADSTEP_HAS_X86_LOOPS)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// Zeros for a leaf that the processor does not have.
Registers leaf(unsigned number, unsigned part = 0) {
  Registers r;
  __get_cpuid_count(number, part, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

constexpr bool has_all(std::uint32_t value, std::uint32_t bits) { return (value & bits) == bits; }

/// XCR0: which registers the operating system saves when it changes threads.
std::uint32_t saved_registers() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

constexpr std::uint32_t kXmmAndYmm = 1U << 1 | 1U << 2;
constexpr std::uint32_t kMasksAndZmm = 1U << 5 | 1U << 6 | 1U << 7;
constexpr std::uint32_t kAvx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
constexpr std::uint32_t kAvx512Bf16 = 1U << 5;

Processor ask() {
  Processor answer;
  const Registers vendor = leaf(0);
  answer.is_intel =
      vendor.ebx == signature_INTEL_ebx && vendor.edx == signature_INTEL_edx && vendor.ecx == signature_INTEL_ecx;
  const std::uint32_t features = leaf(1).ecx;
  if (!has_all(features, bit_OSXSAVE | bit_AVX)) return answer;
  const std::uint32_t saved = saved_registers();
  if (!has_all(saved, kXmmAndYmm)) return answer;
  const std::uint32_t extended = leaf(7).ebx;
  answer.has_fma = has_all(features, bit_FMA);
  answer.has_avx2 = has_all(extended, bit_AVX2) && has_all(features, bit_F16C);
  answer.has_avx512 = answer.has_avx2 && has_all(saved, kMasksAndZmm) && has_all(extended, kAvx512);
  const bool has_second_part = leaf(7).eax >= 1;
  answer.has_avx512_bf16 = answer.has_avx512 && has_second_part && has_all(leaf(7, 1).eax, kAvx512Bf16);
  return answer;
}

#else

Processor ask() { return {}; }

#endif

}  // namespace

const Processor& processor() {
  static const Processor kProcessor = ask();
  return kProcessor;
}

}  // namespace gradstep::cpu
