// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The tables that this processor can run, and numbers for them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "cpu/linear_algebra/dense.h"
#include "cpu/loops.h"
#include "cpu/processor.h"

namespace gradstep::cpu {

struct Table {
  const char* name;
  const Dense* dense;
  const Loops* loops;
};

#if defined(__aarch64__)
inline const Loops& lowest_loops() { return kLoops_neon; }
#else
inline const Loops& lowest_loops() { return kLoops_baseline; }
#endif

/// From the least to the best.
inline std::vector<Table> tables() {
  std::vector<Table> all = {{"baseline", &kDenseBaseline, &lowest_loops()}};
#if defined(GRADSTEP_HAS_X86_LOOPS)
  const bool has_fused = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_fused) all.push_back({"avx2", &kDenseAvx2, &kLoops_avx2});
  if (has_fused && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0) {
    all.push_back({"avx512", &kDenseAvx512, &kLoops_avx512});
  }
#endif
  return all;
}

/// And that which differs in products of bf16 alone.
inline std::vector<Table> tables_of_products() {
  std::vector<Table> all = tables();
#if defined(GRADSTEP_HAS_X86_LOOPS)
  static const Dense kOfPairs = dense_avx512_bf16();
  if (processor().has_avx512_bf16) all.push_back({"avx512_bf16", &kOfPairs, &kLoops_avx512});
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
