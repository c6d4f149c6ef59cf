// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a rule adds epsilon to the root of a sum of squares.
#pragma once

#include <cstdint>

#include "kernels/macros.h"
#include "rules/description.h"

namespace gradstep::rules {

enum EpsilonPlacement : std::uint8_t { kInside, kOutside };
inline constexpr const char* kEpsilonPlacements[] = {"inside", "outside"};
inline constexpr Choice kEpsilonPlacementChoice = {
    "epsilon_placement", kEpsilonPlacements,
    "inside: sqrt(a + epsilon), as SINGA; outside: sqrt(a) + epsilon, as PyTorch"};

template <class T>
struct Epsilon {
  T inside, outside;

  template <class V>
  GRADSTEP_FORMULA V root(V a) const {
    return kernels::square_root(a + inside) + outside;
  }
};

GRADSTEP_FORMULA Epsilon<double> place_epsilon(std::int32_t placement, double epsilon) {
  return placement == kInside ? Epsilon<double>{epsilon, 0} : Epsilon<double>{0, epsilon};
}

}  // namespace gradstep::rules
