// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/arithmetic.h"

#include <cstring>
#include <mutex>

namespace gradstep {

namespace {

/// A table's own code runs only on a processor that has its instructions, this included.
const Dense& with_fixed_blocking(const Dense& dense, std::once_flag& fixed) {
  std::call_once(fixed, dense.fix_blocking);
  return dense;
}

}  // namespace

Arithmetic choose_arithmetic([[maybe_unused]] const char* instruction_set) {
#if defined(GRADSTEP_HAS_X86_LOOPS)
  // AVX2 loops do without FMA, these do not.
  const bool has_avx2 = std::strcmp(instruction_set, "avx512") == 0 || std::strcmp(instruction_set, "avx2") == 0;
  if (has_avx2 && __builtin_cpu_supports("fma") != 0) {
    static std::once_flag avx2_fixed;
    return {with_fixed_blocking(kDenseAvx2, avx2_fixed), kGraftingAvx2};
  }
#endif
  static std::once_flag fixed;
  return {with_fixed_blocking(kDenseBaseline, fixed), kGraftingBaseline};
}

}  // namespace gradstep
