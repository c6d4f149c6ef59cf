// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From hyper-parameters to what a rule computes with at step t, on every device in the same way.
#pragma once

#include <cstdint>

#include "kernels/adagrad.h"
#include "kernels/adam.h"
#include "kernels/power.h"
#include "kernels/rmsprop.h"
#include "kernels/schedule.h"
#include "kernels/sgd.h"

namespace gradstep::kernels {

/// A rule in its family, with the options that choose among the family's formulas for constants.
struct RuleForm {
  enum class Family : std::int32_t { none, sgd, rmsprop, adagrad, adam };
  Family family = Family::none;
  bool copies_first = false;     ///< SGD: the first gradient goes into the buffer as it is
  bool epsilon_inside = false;   ///< RMSProp, AdaGrad: under the root
  bool epsilon_early = false;    ///< Adam: joins the root before the bias correction (TensorFlow's form)
  bool decoupled_decay = false;  ///< Adam
};

/// Room for the Constants of any rule.
struct alignas(16) RuleConstants {
  unsigned char bytes[64];
};

/// A group's: `first` is for parameters whose state no gradient has gone into.
struct GroupConstants {
  RuleConstants usual;
  RuleConstants first;
};

/// Powers that the last step left behind.
struct Powers {
  Power beta1;
  Power beta2;
};

namespace constants {

template <class Constants>
GRADSTEP_FORMULA Constants& place(RuleConstants& room) {
  static_assert(sizeof(Constants) <= sizeof(RuleConstants) && alignof(Constants) <= alignof(RuleConstants));
  return *reinterpret_cast<Constants*>(room.bytes);
}

GRADSTEP_FORMULA void write_sgd(const RuleForm& form, const double* v, bool first, SgdConstants& c) {
  c.learning_rate = v[SgdField::learning_rate];
  c.momentum = v[SgdField::momentum];
  c.gradient_factor = first && form.copies_first ? 1 : 1 - v[SgdField::dampening];
  c.weight_decay = v[SgdField::weight_decay];
}

GRADSTEP_FORMULA void write_rmsprop(const RuleForm& form, const double* v, RmsPropConstants& c) {
  c.learning_rate = v[RmsPropField::learning_rate];
  c.rho = v[RmsPropField::rho];
  c.inside = form.epsilon_inside ? v[RmsPropField::epsilon] : 0;
  c.outside = form.epsilon_inside ? 0 : v[RmsPropField::epsilon];
  c.weight_decay = v[RmsPropField::weight_decay];
  c.momentum = v[RmsPropField::momentum];
}

GRADSTEP_FORMULA void write_adagrad(const RuleForm& form, const double* v, std::int64_t t, AdaGradConstants& c) {
  c.learning_rate = v[AdaGradField::learning_rate] / (1 + static_cast<double>(t) * v[AdaGradField::lr_decay]);
  c.inside = form.epsilon_inside ? v[AdaGradField::epsilon] : 0;
  c.outside = form.epsilon_inside ? 0 : v[AdaGradField::epsilon];
  c.weight_decay = v[AdaGradField::weight_decay];
}

GRADSTEP_FORMULA void write_adam(const RuleForm& form, const double* v, std::int64_t t, Powers& powers,
                                 AdamConstants& c) {
  const double correction1 = 1 - powers.beta1(v[AdamField::beta1], t + 1);
  const double correction2 = 1 - powers.beta2(v[AdamField::beta2], t + 1);
  const double root2 = square_root(correction2);
  c.beta1 = v[AdamField::beta1];
  c.beta2 = v[AdamField::beta2];
  c.step_size = form.epsilon_early ? v[AdamField::learning_rate] * root2 / correction1
                                   : v[AdamField::learning_rate] / correction1;
  c.root_factor = form.epsilon_early ? 1 : 1 / root2;
  c.epsilon = v[AdamField::epsilon];
  c.weight_decay =
      form.decoupled_decay ? v[AdamField::learning_rate] * v[AdamField::weight_decay] : v[AdamField::weight_decay];
}

}  // namespace constants

GRADSTEP_FORMULA void write_constants(const RuleForm& form, const double* values, std::int64_t t, bool first,
                                      Powers& powers, RuleConstants& to) {
  switch (form.family) {
    case RuleForm::Family::none:
      return;
    case RuleForm::Family::sgd:
      return constants::write_sgd(form, values, first, constants::place<SgdConstants>(to));
    case RuleForm::Family::rmsprop:
      return constants::write_rmsprop(form, values, constants::place<RmsPropConstants>(to));
    case RuleForm::Family::adagrad:
      return constants::write_adagrad(form, values, t, constants::place<AdaGradConstants>(to));
    case RuleForm::Family::adam:
      return constants::write_adam(form, values, t, powers, constants::place<AdamConstants>(to));
  }
}

/// The values of a group's hyper-parameters at t; the position of the first that is out of its range, or `fields`.
GRADSTEP_FORMULA std::int32_t evaluate(const HyperParameterForm* forms, std::int32_t fields, std::int64_t t,
                                       double* values) {
  std::int32_t bad = fields;
  for (std::int32_t i = fields; i-- > 0;) {
    values[i] = scheduled(forms[i].schedule, t);
    if (!(values[i] - values[i] == 0 && values[i] >= forms[i].minimum && values[i] < forms[i].limit)) bad = i;
  }
  return bad;
}

}  // namespace gradstep::kernels
