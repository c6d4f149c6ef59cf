// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// shampoo.hpp: Shampoo's options by those of another rule.
#pragma once

#include <gradstep/rule_options.hpp>

namespace gradstep::inline cpp_v0 {

/// Shampoo in the place of a tuned AdamW, by its learning rate, betas, epsilon and decay: a step keeps AdamW's length,
/// and only its direction is another (docs/shampoo.md). Other options are the defaults, and may be set in the result:
/// with eigenvalue_corrected it is SOAP.
///
///     ShampooOptions options = shampoo_from_adamw({.learning_rate = 1e-3, .weight_decay = 0.1});
inline ShampooOptions shampoo_from_adamw(const AdamWOptions& adamw) {
  ShampooOptions options;
  options.learning_rate = adamw.learning_rate;
  options.beta1 = adamw.beta1;
  options.beta2 = adamw.beta2;
  options.diagonal_epsilon = adamw.epsilon;
  options.weight_decay = adamw.weight_decay;
  options.graft_beta1 = 0;
  options.graft_beta2 = adamw.beta2;
  options.graft_type = GraftType::kAdam;
  options.decoupled_weight_decay = true;
  options.moving_average_for_momentum = true;
  options.nesterov = false;
  return options;
}

}  // namespace gradstep::inline cpp_v0
