// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The sums that a rule takes before a step.
#pragma once

#include <cstddef>

#include "device/reduce.h"
#include "device/update.h"

namespace gradstep::cuda {

/// Teams have a chunk each. A chunk's blocks of 256 elements are read as an update reads them, by a warp each; the
/// factors of its products go through shared memory to the threads whose lanes they belong to.
template <class T, class Rule>
struct MeasureSums {
  static constexpr const char* kName = "measure_sums";
  static constexpr int kThreads = kTeam;
  static constexpr int kResidentBlocks = 1;
  static constexpr int kSums = Rule::kSums;
  /// Terms of a program's sums are squared or taken as they are.
  static constexpr bool kHasRight = !IsProgram<Rule>;
  static constexpr int kPlaces = IsProgram<Rule> ? rules::kMaxSums : kSums;
  static constexpr std::int64_t kBlock = kernels::kCodeBlock;
  struct Shared {
    typename Teams<kThreads>::Shared teams;
    T left[std::size_t{kPlaces}][4][kBlock];
    T right[std::size_t{kHasRight ? kSums : 1}][kHasRight ? 4 : 1][kHasRight ? kBlock : 1];
  };

  MeasureArguments arguments;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Teams<kThreads> teams(block);
    const Chunk chunk = block.load(arguments.chunks + block.index());
    const DeviceItem& item = *block.checked(arguments.items + chunk.item);
    const kernels::StepScalars& s = *block.checked(arguments.scalars);
    double sums[rules::kMaxSums] = {};
    if (s.gate != 0 && item.gradient.data != nullptr) {
      const Rule rule = rule_of<Rule>(block, item);
      const auto multiplier = static_cast<T>(arguments.maximize ? -s.grad_multiplier : s.grad_multiplier);
      const auto bound = static_cast<T>(arguments.clip_bound);
      const auto scale = [&](T g) { return kernels::clamp(g * multiplier, bound); };
      for (std::int64_t first = 0; first < kQuarter; first += kBlock) {
        // Each quarter's block, two for each warp.
        for (int quarter = block.thread() / kWarp; quarter < 4; quarter += kThreads / kWarp) {
          const std::int64_t begin = quarter * kQuarter + first;
          const std::int64_t left = chunk.length - begin;
          if (left > 0) {
            write_factors(block, item, chunk.offset + begin, left < kBlock ? left : kBlock, rule, scale, quarter,
                          shared);
          }
        }
        block.sync();
        const int quarter = block.thread() / kLanes;
        const std::int64_t left = chunk.length - quarter * kQuarter - first;
        const std::int64_t count = left < kBlock ? left : kBlock;
        for (std::int64_t i = block.thread() % kLanes; i < count; i += kLanes) {
          for (int k = 0; k < kSums; ++k) {
            const T x = shared.left[k][quarter][i];
            T y = 1;
            if constexpr (kHasRight) {
              y = shared.right[k][quarter][i];
            } else if (Rule::is_of_squares(k)) {
              y = x;
            }
            sums[k] = add_product<T>(sums[k], static_cast<double>(x), static_cast<double>(y));
          }
        }
        block.sync();
      }
    }
    rules::Sums all;
    for (int k = 0; k < kSums; ++k) all.of[k] = teams.fold(block, sums[k], shared.teams);
    if (!teams.is_first) return;
    const std::int64_t place =
        arguments.places != nullptr ? block.load(arguments.places + block.index()) : block.index();
    *block.checked(arguments.sums + place) = all;
  }

  template <class Scale>
  GRADSTEP_DEVICE static void write_factors(Block& block, const DeviceItem& item, std::int64_t begin,
                                            std::int64_t count, const Rule& rule, const Scale& scale, int quarter,
                                            Shared& shared) {
    using Way = StagedWay<T, Rule>;
    T values[kOwn] = {};
    T gradients[kOwn] = {};
    T states[rules::kMaxStates][kOwn] = {};
    std::int64_t places[kOwn];
    OwnPlaces own(block, begin, count, places);
    load_gradients(item.gradient, own, gradients);
    Way::load_values(item, own, values);
    Way::store_masters(item, own, values);
    GRADSTEP_UNROLL
    for (int s = 0; s < Rule::kStates; ++s) Way::load_state(block, item, s, begin, count, states[s]);
    GRADSTEP_UNROLL
    for (int k = 0; k < kOwn; ++k) {
      T own_states[rules::kMaxStates];
      for (int s = 0; s < Rule::kStates; ++s) own_states[s] = states[s][k];
      T left[rules::kMaxSums];
      T right[rules::kMaxSums];
      rule.measure(values[k], scale(gradients[k]), own_states, left, right);
      const int i = k * kWarp + block.thread() % kWarp;
      for (int sum = 0; sum < kSums; ++sum) {
        shared.left[sum][quarter][i] = left[sum];
        if constexpr (kHasRight) shared.right[sum][quarter][i] = right[sum];
      }
    }
  }
};

}  // namespace gradstep::cuda
