// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/instruction_set.h"

#include <string>

#include "core/error.h"
#include "core/platform/system.h"
#include "cpu/cpu_backend.h"
#include "cpu/processor.h"

namespace gradstep::cpu {

namespace {

struct InstructionSet {
  const char* name;
  const Loops* loops;  ///< NULL in builds for other processors
  bool (*is_supported)();
};

#if defined(__aarch64__)
constexpr const Loops* kBaselineLoops = nullptr;
constexpr const Loops* kNeonLoops = &kLoops_neon;
#else
constexpr const Loops* kBaselineLoops = &kLoops_baseline;
constexpr const Loops* kNeonLoops = nullptr;
#endif
#if defined(GRADSTEP_HAS_X86_LOOPS)
constexpr const Loops* kAvx2Loops = &kLoops_avx2;
constexpr const Loops* kAvx512Loops = &kLoops_avx512;
#else
constexpr const Loops* kAvx2Loops = nullptr;
constexpr const Loops* kAvx512Loops = nullptr;
#endif

/// From the least to the best. Every processor has the first that is compiled for it.
constexpr InstructionSet kInstructionSets[] = {
    {"baseline", kBaselineLoops, [] { return true; }},
    {"neon", kNeonLoops, [] { return true; }},
    {"avx2", kAvx2Loops, [] { return processor().has_avx2; }},
    {"avx512", kAvx512Loops, [] { return processor().has_avx512; }},
};

}  // namespace

const bool kHelpsPrefetchers = processor().is_intel;

const Loops& choose_loops() {
  const std::string cap = platform::environment("GRADSTEP_INSTRUCTION_SET");
  const Loops* best = nullptr;
  bool is_capped = false;
  for (const InstructionSet& set : kInstructionSets) {
    const bool is_wanted = best == nullptr || !is_capped;
    if (is_wanted && set.loops != nullptr && set.is_supported()) best = set.loops;
    is_capped = is_capped || cap == set.name;
  }
  if (!cap.empty() && !is_capped) {
    fail_argument("environment variable GRADSTEP_INSTRUCTION_SET: is '{}', expected baseline, neon, avx2 or avx512",
                  cap);
  }
  return *best;
}

const Arithmetic& choose_arithmetic([[maybe_unused]] const Loops& loops) {
#if defined(GRADSTEP_HAS_X86_LOOPS)
  static constexpr Arithmetic kAvx2{"fused", kDenseAvx2};
  static constexpr Arithmetic kAvx512{"fused", kDenseAvx512};
  static const Dense kDenseOfPairs = dense_avx512_bf16();
  static const Arithmetic kAvx512OfPairs{"fused", kDenseOfPairs};
  // AVX2 loops do without FMA, these do not.
  if (&loops != &kLoops_baseline && processor().has_fma) {
    if (&loops != &kLoops_avx512) return kAvx2;
    // Intel's make half as many of a pair's operations in a cycle as of a number's, and so gain nothing by pairs.
    return processor().has_avx512_bf16 && !processor().is_intel ? kAvx512OfPairs : kAvx512;
  }
#endif
  return kBaselineArithmetic;
}

std::vector<std::string> compiled_instruction_sets() {
  std::vector<std::string> names;
  for (const InstructionSet& set : kInstructionSets) {
    if (set.loops != nullptr) names.emplace_back(set.name);
  }
  return names;
}

std::string chosen_instruction_set() { return choose_loops().instruction_set; }

}  // namespace gradstep::cpu
