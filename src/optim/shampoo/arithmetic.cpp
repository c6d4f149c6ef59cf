// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/arithmetic.h"

#include <cstring>
#include <mutex>

namespace gradstep {

// A table's own code runs only on a processor that has its instructions, fix_blocking() included.
Arithmetic choose_arithmetic([[maybe_unused]] const char* instruction_set) {
#if defined(GRADSTEP_HAS_X86_LOOPS)
  // AVX2 loops do without FMA, these do not.
  const bool has_avx2 = std::strcmp(instruction_set, "avx512") == 0 || std::strcmp(instruction_set, "avx2") == 0;
  if (has_avx2 && __builtin_cpu_supports("fma") != 0) {
    static std::once_flag avx2_fixed;
    std::call_once(avx2_fixed, kDenseAvx2.fix_blocking);
    return {kDenseAvx2, kGraftingAvx2};
  }
#endif
  static std::once_flag fixed;
  std::call_once(fixed, kDenseBaseline.fix_blocking);
  return {kDenseBaseline, kGraftingBaseline};
}

}  // namespace gradstep
