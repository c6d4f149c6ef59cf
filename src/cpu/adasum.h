// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adasum's merges as the linear combinations that they are once their factors are known.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "core/held_bytes.h"

namespace gradstep::cpu {

/// What is kept of an AdasumPlan, so that running one of a steady size allocates nothing.
class AdasumForm {
 public:
  std::span<const LinearCombination> combinations_of(const AdasumPlan& plan) {
    std::size_t all = 0;
    for (const AdasumMerge& merge : plan.items) all += merge.vectors.size();
    vectors_.resize(all);
    factors_.resize(all);
    combinations_.clear();
    std::size_t first = 0;
    for (const AdasumMerge& merge : plan.items) {
      const std::size_t count = merge.vectors.size();
      const std::span<Array> vectors = std::span(vectors_).subspan(first, count);
      const std::span<double> factors = std::span(factors_).subspan(first, count);
      const int* exponents = merge.exponents.empty() ? nullptr : merge.exponents.data();
      const kernels::AdasumFactors rule{plan.rule, exponents};
      const auto dots_of = [&](std::int64_t list) {
        return kernels::fold_dots(merge.dots + list, merge.chunks, plan.stride);
      };
      const bool finite = rule.write(static_cast<std::int64_t>(count), dots_of, factors.data());
      for (std::size_t v = 0; v < count; ++v) {
        vectors[v] = merge.vectors[v];
        if (!finite) vectors[v].data = nullptr;
      }
      combinations_.push_back({merge.destination, vectors, factors});
      first += count;
    }
    return combinations_;
  }
  std::size_t bytes() const { return held_bytes(vectors_, factors_, combinations_); }

 private:
  std::vector<Array> vectors_;
  std::vector<double> factors_;
  std::vector<LinearCombination> combinations_;
};

}  // namespace gradstep::cpu
