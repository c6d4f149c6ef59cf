// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a step of Shampoo computes with: the hyper-parameters of a group at t, with bias corrections by squaring, and
// the directions of grafting and of Adam in an eigenbasis, which are those of the rules.
#pragma once

#include <cstdint>

#include "kernels/grafting.h"
#include "kernels/power.h"
#include "rules/kernels.h"

namespace gradstep::rules {

using kernels::Graft;

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

/// What enters the statistic of an axis, contracted with itself over the other axes.
enum class Statistics : std::uint8_t {
  gradients,  ///< the gradient
  kl,         ///< the gradient multiplied by the present preconditioners of the other axes
  kl_mean,    ///< the same, divided by the number of elements of the other axes
};

/// The options that choose among formulas.
struct ShampooForm {
  Graft graft = Graft::sgd;
  bool nesterov = true;
  bool moving_average = false;
  bool decoupled_decay = false;
  bool eigenvalue_corrected = false;
  std::int64_t start_step = 0;
  Statistics statistics = Statistics::gradients;

  bool is_kl() const { return statistics != Statistics::gradients; }
};

/// What the end of a step computes with, in the arithmetic of T.
template <class T>
struct ShampooFinish {
  kernels::FinishConstants<T> grafted;  ///< a tensor's own scales come to it
  kernels::CorrectedConstants<T> corrected;
};

struct ShampooConstants {
  // Statistics become keep * s + add * (g contracted with itself).
  double keep = 0;
  double add = 0;
  double clip_scaled_norm = 0;
  RuleConstants direction = {};  ///< of the grafting rule; eigenvalue-corrected: of Adam in the basis
  ShampooFinish<float> f32;
  ShampooFinish<double> f64;

  template <class T>
  GRADSTEP_FORMULA const ShampooFinish<T>& in() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return f64;
    } else {
      return f32;
    }
  }
};

/// The change of p by a rule at learning rate 1, negated.
template <class T, class Rule>
class Direction {
  using Change = Kernel<T, Rule, 0, Decay::none>;

 public:
  static constexpr int kStates = Change::kStates;
  static constexpr bool kWritesStates = true;

  GRADSTEP_FORMULA explicit Direction(const RuleConstants& constants) : change_(constants) {}

  GRADSTEP_FORMULA T operator()(T p, T g, T* state) const { return -change_(p, g, state); }

 private:
  Change change_;
};

/// Signs (SQRT_N).
template <class T>
struct SignDirection {
  static constexpr int kStates = 0;
  static constexpr bool kWritesStates = false;

  GRADSTEP_FORMULA T operator()(T /*p*/, T g, T* /*state*/) const { return kernels::sign<T>(g); }
};

/// The weight of what is added to an average; sums (beta = 1) take all of it.
constexpr double added_weight(double beta) { return beta == 1 ? 1 : 1 - beta; }

namespace shampoo {

GRADSTEP_FORMULA void set_direction(const ShampooForm& form, const ShampooValues& v, std::int64_t t,
                                    RuleConstants& to) {
  const Epsilon<double> epsilon = place_epsilon(kOutside, v.diagonal_epsilon);
  if (form.eigenvalue_corrected) {  // bias corrections come with the learning rate
    store<Adam>({v.beta1, 1 - v.beta1, v.beta2, added_weight(v.beta2), 1, 1, v.diagonal_epsilon}, to);
  } else if (form.graft == Graft::adam) {
    const double values[] = {1, v.graft_beta1, v.graft_beta2, v.diagonal_epsilon, 0};
    Powers powers;
    kernels::Fold none;
    write<Adam>(RuleForm{}, values, Clock{t, false, powers, none}, to);
  } else if (kernels::is_rmsprop(form.graft)) {
    store<RmsProp>({1, v.beta2, added_weight(v.beta2), 0, epsilon}, to);
  } else if (kernels::is_adagrad(form.graft)) {
    store<AdaGrad>({1, epsilon}, to);
  }
}

template <class T>
GRADSTEP_FORMULA kernels::CorrectedConstants<T> corrected_step(const ShampooValues& v, std::int64_t t) {
  const std::int64_t n = t > 1 ? t : 1;  // the first gradient only makes the basis
  const double correction1 = 1 - kernels::Power()(v.beta1, n);
  const double correction2 = v.beta2 == 1 ? 1 : 1 - kernels::Power()(v.beta2, n);
  return {static_cast<T>(v.learning_rate * kernels::square_root(correction2) / correction1),
          static_cast<T>(v.learning_rate * v.weight_decay)};
}

template <class T>
GRADSTEP_FORMULA kernels::FinishConstants<T> finish_step(const ShampooForm& form, const ShampooValues& v,
                                                         std::int64_t t, bool adds) {
  const auto rate = static_cast<T>(v.learning_rate);
  const auto decay = static_cast<T>(v.weight_decay);
  kernels::FinishConstants<T> c;
  c.beta1 = static_cast<T>(v.beta1);
  c.added = form.moving_average ? static_cast<T>(1 - v.beta1) : T{1};
  c.coupled_decay = form.decoupled_decay ? T{0} : decay;
  c.decoupled_decay = form.decoupled_decay ? rate * decay : T{0};
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
  c.keep = v.beta2;
  c.add = added_weight(v.beta2);
  c.clip_scaled_norm = v.clip_scaled_norm;
  shampoo::set_direction(form, v, t, c.direction);
  c.f32.grafted = shampoo::finish_step<float>(form, v, t, adds);
  c.f64.grafted = shampoo::finish_step<double>(form, v, t, adds);
  if (!form.eigenvalue_corrected) return;
  c.f32.corrected = shampoo::corrected_step<float>(v, t);
  c.f64.corrected = shampoo::corrected_step<double>(v, t);
}

}  // namespace gradstep::rules
