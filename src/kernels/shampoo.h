// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a step of Shampoo computes with: the hyper-parameters of a group at t, with bias corrections by squaring.
#pragma once

#include <cstdint>

#include "kernels/grafting.h"
#include "kernels/power.h"

namespace gradstep::kernels {

/// The hyper-parameters of a group, in the order of gradstep_shampoo_options.
struct ShampooValues {
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double diagonal_epsilon = 0;
  double matrix_epsilon = 0;
  double weight_decay = 0;
  double failure_threshold = 0;
  double clip_scaled_norm = 0;
  double graft_beta1 = 0;
  double graft_beta2 = 0;
  double precondition = 0;
};

/// The options that choose among formulas.
struct ShampooForm {
  Graft graft = Graft::sgd;
  bool nesterov = true;
  bool moving_average = false;
  bool decoupled_decay = false;
  bool eigenvalue_corrected = false;
  std::int64_t start_step = 0;
};

struct ShampooConstants {
  // Statistics become keep * s + add * (g contracted with itself).
  float keep = 0;
  float add = 0;
  double clip_scaled_norm = 0;
  RootConstants root;       ///< grafting by AdaGrad and RMSProp
  MomentConstants moments;  ///< grafting by Adam; eigenvalue-corrected: Adam in the basis
  FinishConstants finish;   ///< a tensor's own scales come to it
  CorrectedConstants corrected;
};

/// The weight of what is added to an average; sums (beta = 1) take all of it.
constexpr double added_weight(double beta) { return beta == 1 ? 1 : 1 - beta; }

namespace shampoo {

/// Bias corrections come with the learning rate.
GRADSTEP_FORMULA MomentConstants corrected_moments(const ShampooValues& v) {
  return {static_cast<float>(v.beta1),
          static_cast<float>(v.beta2),
          static_cast<float>(1 - v.beta1),
          static_cast<float>(added_weight(v.beta2)),
          1,
          1,
          static_cast<float>(v.diagonal_epsilon)};
}

GRADSTEP_FORMULA MomentConstants graft_moments(const ShampooValues& v, std::int64_t t) {
  const double correction1 = 1 / (1 - Power()(v.graft_beta1, t + 1));
  const double correction2 = 1 / (1 - Power()(v.graft_beta2, t + 1));
  return {static_cast<float>(v.graft_beta1),     static_cast<float>(v.graft_beta2),
          static_cast<float>(1 - v.graft_beta1), static_cast<float>(1 - v.graft_beta2),
          static_cast<float>(correction1),       static_cast<float>(correction2),
          static_cast<float>(v.diagonal_epsilon)};
}

GRADSTEP_FORMULA CorrectedConstants corrected_step(const ShampooValues& v, std::int64_t t) {
  const std::int64_t n = t > 1 ? t : 1;  // the first gradient only makes the basis
  const double correction1 = 1 - Power()(v.beta1, n);
  const double correction2 = v.beta2 == 1 ? 1 : 1 - Power()(v.beta2, n);
  return {static_cast<float>(v.learning_rate * square_root(correction2) / correction1),
          static_cast<float>(v.learning_rate * v.weight_decay)};
}

GRADSTEP_FORMULA FinishConstants finish_step(const ShampooForm& form, const ShampooValues& v, std::int64_t t,
                                             bool adds) {
  const auto rate = static_cast<float>(v.learning_rate);
  const auto decay = static_cast<float>(v.weight_decay);
  FinishConstants c;
  c.beta1 = static_cast<float>(v.beta1);
  c.added = form.moving_average ? static_cast<float>(1 - v.beta1) : 1.0F;
  c.coupled_decay = form.decoupled_decay ? 0.0F : decay;
  c.decoupled_decay = form.decoupled_decay ? rate * decay : 0.0F;
  c.rate = rate;
  c.selects_preconditioned = t >= form.start_step;
  c.nesterov = form.nesterov;
  c.adds = adds;
  return c;
}

}  // namespace shampoo

/// `adds`: outcomes are new parameters; else they are changes.
GRADSTEP_FORMULA void set_shampoo_constants(const ShampooForm& form, const ShampooValues& v, std::int64_t t, bool adds,
                                            ShampooConstants& c) {
  const bool averages = is_rmsprop(form.graft);
  c.keep = static_cast<float>(v.beta2);
  c.add = static_cast<float>(added_weight(v.beta2));
  c.clip_scaled_norm = v.clip_scaled_norm;
  c.root.keep = averages ? c.keep : 1.0F;
  c.root.add = averages ? c.add : 1.0F;
  c.root.epsilon = static_cast<float>(v.diagonal_epsilon);
  c.finish = shampoo::finish_step(form, v, t, adds);
  if (form.eigenvalue_corrected) {
    c.moments = shampoo::corrected_moments(v);
    c.corrected = shampoo::corrected_step(v, t);
  } else if (form.graft == Graft::adam) {
    c.moments = shampoo::graft_moments(v, t);
  }
}

}  // namespace gradstep::kernels
