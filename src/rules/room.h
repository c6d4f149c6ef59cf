// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Room for any rule, on hosts and devices.
#pragma once

namespace gradstep::rules {

inline constexpr int kMaxFields = 16;
inline constexpr int kMaxSettings = 8;
inline constexpr int kMaxChoices = 10;
inline constexpr int kMaxStates = 4;
inline constexpr int kMaxNumbers = 4;
inline constexpr int kMaxSums = 4;

/// The sums that a rule measures before a step, of a chunk or of whole tensors.
struct Sums {
  double of[kMaxSums] = {};
};

/// The constants of any rule.
struct alignas(16) RuleConstants {
  double numbers[14];
  double decay;  ///< decay_factor()
  // What a kernel of every kind of decay adds to the gradient, and subtracts from the parameter, times p.
  double coupled;
  double decoupled;
  double learning_rate;
};

/// The constants of a parameter group. `first` is for parameters whose state no gradient has gone into.
struct GroupConstants {
  RuleConstants usual;
  RuleConstants first;
};

}  // namespace gradstep::rules
