// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that a parameter keeps for its rule, and rules with what their constants depend on, on the device.
#pragma once

#include "device/block.h"
#include "rules/constants.h"
#include "runtime/table.h"

namespace gradstep::cuda {

template <>
inline constexpr bool kHasNoPadding<rules::RuleForm> =
    sizeof(rules::RuleForm) ==
    (4 + rules::kMaxChoices) * sizeof(std::int32_t) + (1 + rules::kMaxSettings) * sizeof(double);

/// 0 in place of those that a parameter does not have.
struct KeptNumbers {
  double of[rules::kMaxNumbers] = {};

  GRADSTEP_DEVICE KeptNumbers() {}
  GRADSTEP_DEVICE KeptNumbers(const Block& block, const rules::NumberPlaces& places) {
    for (int k = 0; k < rules::kMaxNumbers; ++k) {
      if (places.of[k] != nullptr) of[k] = block.load(places.of[k]);
    }
  }
  GRADSTEP_DEVICE void store(const Block& block, const rules::NumberPlaces& places) const {
    for (int k = 0; k < rules::kMaxNumbers; ++k) {
      if (places.of[k] != nullptr) block.store(places.of[k], of[k]);
    }
  }
};

}  // namespace gradstep::cuda
