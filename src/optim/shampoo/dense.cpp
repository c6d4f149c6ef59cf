// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/dense.h"

#include <array>
#include <cstring>
#include <mutex>

namespace gradstep {

namespace {

const Dense& table_of([[maybe_unused]] const char* instruction_set) {
#if defined(GRADSTEP_HAS_X86_LOOPS)
  // AVX2 loops do without FMA, these do not.
  const bool has_fma = __builtin_cpu_supports("fma") != 0;
  if (has_fma && std::strcmp(instruction_set, "avx512") == 0) return kDenseAvx512;
  if (has_fma && std::strcmp(instruction_set, "avx2") == 0) return kDenseAvx2;
#endif
  return kDenseBaseline;
}

}  // namespace

const Dense& choose_dense(const char* instruction_set) {
  static std::array<std::once_flag, 3> fixed;
  const Dense& dense = table_of(instruction_set);
#if defined(GRADSTEP_HAS_X86_LOOPS)
  const std::size_t which = &dense == &kDenseAvx512 ? 2 : &dense == &kDenseAvx2 ? 1 : 0;
#else
  constexpr std::size_t which = 0;
#endif
  std::call_once(fixed[which], dense.fix_blocking);
  return dense;
}

}  // namespace gradstep
