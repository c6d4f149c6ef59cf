// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/dense.h"

#include <cstring>

namespace gradstep {

const Dense& choose_dense([[maybe_unused]] const char* instruction_set) {
#if defined(GRADSTEP_HAS_X86_LOOPS)
  // AVX2 loops do without FMA, these do not.
  const bool has_fma = __builtin_cpu_supports("fma") != 0;
  if (has_fma && std::strcmp(instruction_set, "avx512") == 0) return kDenseAvx512;
  if (has_fma && std::strcmp(instruction_set, "avx2") == 0) return kDenseAvx2;
#endif
  return kDenseBaseline;
}

}  // namespace gradstep
