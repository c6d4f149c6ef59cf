// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/adagrad.h"

#include <array>
#include <cmath>
#include <limits>

#include "optim/option_fields.h"

namespace gradstep {

namespace {

using kernels::RuleId;
using Field = kernels::AdaGradField;
using Options = gradstep_adagrad_options;

constexpr OptionFields<Options, Field::count> kFields({
    {Field::learning_rate, &Options::learning_rate, {"learning_rate", 0}},
    {Field::epsilon, &Options::epsilon, {"epsilon", 0}},
    {Field::weight_decay, &Options::weight_decay, {"weight_decay", 0}},
    {Field::lr_decay, &Options::lr_decay, {"lr_decay", 0}},
});
constexpr std::array<const char*, 1> kStateNames = {"sum"};

class AdaGrad final : public UpdateRule {
 public:
  explicit AdaGrad(const Options& o)
      : UpdateRule(storage_of(o)),
        defaults_(kFields.values(o)),
        initial_accumulator_(o.initial_accumulator),
        inside_(o.epsilon_placement == GRADSTEP_EPSILON_PLACEMENT_INSIDE),
        maximize_(o.maximize != 0) {
    check_choice("options.epsilon_placement", o.epsilon_placement, 2, "0 (inside) or 1 (outside)");
    if (!(initial_accumulator_ >= 0) || !std::isfinite(initial_accumulator_)) {
      fail_argument("options.initial_accumulator: is {}, expected a finite number of at least 0", initial_accumulator_);
    }
  }

  const char* name() const override { return "adagrad"; }
  std::span<const HyperParameterField> fields() const override { return kFields.fields(); }
  std::span<const double> defaults() const override { return defaults_; }
  std::span<const char* const> state_names() const override { return kStateNames; }
  bool maximize() const override { return maximize_; }

  std::uint32_t states_of(std::span<const Schedule> /*schedules*/) const override { return 1; }
  std::uint32_t signed_states() const override { return 0; }
  double initial_value(std::size_t /*state*/) const override { return initial_accumulator_; }
  void check(std::span<const Schedule> /*schedules*/) const override {}

  RuleId kernel(std::span<const Schedule> s) const override {
    return s[Field::weight_decay].is_absent() ? RuleId::adagrad : RuleId::adagrad_decay;
  }

  kernels::RuleForm form() const override {
    kernels::RuleForm form;
    form.family = kernels::RuleForm::Family::adagrad;
    form.epsilon_inside = inside_;
    return form;
  }

 private:
  std::array<double, Field::count> defaults_;
  double initial_accumulator_;
  bool inside_;
  bool maximize_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adagrad(const gradstep_adagrad_options& options) {
  return std::make_unique<AdaGrad>(options);
}

gradstep_adagrad_options default_adagrad_options() {
  gradstep_adagrad_options options{};
  options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  options.epsilon = 1e-8;
  return options;
}

}  // namespace gradstep
