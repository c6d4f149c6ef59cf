// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace gradstep {

/// Elements [begin, begin + size) of a tensor.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  bool operator==(const Slice&) const = default;
};

/// The size of each of `parts` equal slices of `size` elements, in multiples of `grain`. The last slices may be
/// shorter, or empty.
constexpr std::int64_t equal_share(std::int64_t size, std::int64_t parts, std::int64_t grain) {
  const std::int64_t grains = (size + grain - 1) / grain;
  return (grains + parts - 1) / parts * grain;
}

/// By rank, then parameter.
using RankSlices = std::vector<std::vector<Slice>>;

/// What ranks have of a model.
struct DealtSlices {
  RankSlices slices;
  std::vector<bool> is_undivided;  ///< by parameter: one rank has all of it
};

}  // namespace gradstep
