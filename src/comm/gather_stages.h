// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gathers of few bytes between many ranks over Gloo. In stages they take few messages where a direct gather takes one
// for each two ranks, but a delay of the network for each stage.
#pragma once

#include <cstdint>

#include "comm/call.h"

namespace gradstep {

class Engine;

/// Two stages of up to 64 ranks, of 14 messages a rank. Measured: a message takes 20 us of the processors of both
/// ranks, so that delays up to a millisecond are made up for.
inline constexpr std::int32_t kStageRadix = 8;
/// The size of all ranks' blocks together.
inline constexpr std::int64_t kMostStagedBytes = std::int64_t{1} << 20;

/// How many stages a gather of `bytes` of each rank takes; 1 = it is direct.
constexpr std::int32_t gather_stages(std::int64_t ranks, std::int64_t bytes) {
  if (ranks <= kMostRanksThatHearAll || bytes * ranks > kMostStagedBytes) return 1;
  std::int32_t stages = 0;
  for (std::int64_t width = 1; width < ranks; width *= kStageRadix) ++stages;
  return stages;
}

/// Rounds of a gather of `bytes` of each of the engine's ranks.
std::int32_t gather_rounds(const Engine& engine, std::int64_t bytes);

}  // namespace gradstep
