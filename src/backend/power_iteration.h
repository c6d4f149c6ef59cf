// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

namespace gradstep {

/// The vector that power iteration starts from, on every device: NumPy's RandomState(1729).uniform(-1, 1), 53 bits from
/// two words of MT19937 each.
class PowerIterationStart {
 public:
  double next() {
    const auto high = static_cast<std::uint32_t>(generator_()) >> 5;
    const auto low = static_cast<std::uint32_t>(generator_()) >> 6;
    return -1 + 2 * ((high * 67108864.0 + low) / 9007199254740992.0);
  }

 private:
  std::mt19937 generator_{1729};
};

}  // namespace gradstep
