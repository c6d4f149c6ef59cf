// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/arithmetic.h"

#include <cstring>
#include <mutex>

namespace gradstep {

namespace {

Arithmetic choose([[maybe_unused]] const char* instruction_set) {
#if defined(GRADSTEP_HAS_X86_LOOPS)
  // AVX2 loops do without FMA, these do not.
  const bool has_avx2 = std::strcmp(instruction_set, "avx512") == 0 || std::strcmp(instruction_set, "avx2") == 0;
  if (has_avx2 && __builtin_cpu_supports("fma") != 0) return {kDenseAvx2, kGraftingAvx2};
#endif
  return {kDenseBaseline, kGraftingBaseline};
}

}  // namespace

Arithmetic choose_arithmetic(const char* instruction_set) {
  static std::once_flag fixed;
  std::call_once(fixed, [] {
    kDenseBaseline.fix_blocking();
#if defined(GRADSTEP_HAS_X86_LOOPS)
    kDenseAvx2.fix_blocking();
#endif
  });
  return choose(instruction_set);
}

}  // namespace gradstep
