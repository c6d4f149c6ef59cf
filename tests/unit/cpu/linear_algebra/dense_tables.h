// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The tables that this processor can run, and numbers for them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "cpu/linear_algebra/coding_loops.h"
#include "cpu/linear_algebra/dense.h"

namespace gradstep::cpu {

struct Table {
  const char* name;
  const Dense* dense;
  const CodingLoops* coding;
};

/// From the least to the best.
inline std::vector<Table> tables() {
  std::vector<Table> all = {{"baseline", &kDenseBaseline, &kCodingBaseline}};
#if defined(GRADSTEP_HAS_X86_LOOPS)
  const bool has_fused = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_fused) all.push_back({"avx2", &kDenseAvx2, &kCodingAvx2});
  if (has_fused && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0) {
    all.push_back({"avx512", &kDenseAvx512, &kCodingAvx512});
  }
#endif
  return all;
}

template <class T>
std::vector<T> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = uniform(generator);
  return numbers;
}

}  // namespace gradstep::cpu
