// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/adam.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "optim/option_fields.h"

namespace gradstep {

namespace {

using kernels::RuleId;
using Field = kernels::AdamField;
using Options = gradstep_adam_options;

constexpr OptionFields<Options, Field::count> kFields({
    {Field::learning_rate, &Options::learning_rate, {"learning_rate", 0}},
    {Field::beta1, &Options::beta1, {"beta1", 0, 1}},
    {Field::beta2, &Options::beta2, {"beta2", 0, 1}},
    {Field::epsilon, &Options::epsilon, {"epsilon", 0}},
    {Field::weight_decay, &Options::weight_decay, {"weight_decay", 0}},
});
constexpr std::array<const char*, 3> kStateNames = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

class Adam final : public UpdateRule {
 public:
  explicit Adam(const Options& o)
      : UpdateRule(storage_of(o)),
        defaults_(kFields.values(o)),
        tf_(o.bias_correction == GRADSTEP_BIAS_CORRECTION_TF),
        decoupled_(o.decoupled_weight_decay != 0),
        amsgrad_(o.amsgrad != 0),
        maximize_(o.maximize != 0) {
    check_choice("options.bias_correction", o.bias_correction, 2, "0 (standard) or 1 (tf)");
  }

  const char* name() const override { return "adam"; }
  std::span<const HyperParameterField> fields() const override { return kFields.fields(); }
  std::span<const double> defaults() const override { return defaults_; }
  std::span<const char* const> state_names() const override { return {kStateNames.data(), amsgrad_ ? 3U : 2U}; }
  bool maximize() const override { return maximize_; }

  std::uint32_t states_of(std::span<const Schedule> /*schedules*/) const override { return amsgrad_ ? 0b111 : 0b11; }
  std::uint32_t signed_states() const override { return 0b001; }
  void check(std::span<const Schedule> /*schedules*/) const override {}

  RuleId kernel(std::span<const Schedule> s) const override {
    if (s[Field::weight_decay].is_absent()) return amsgrad_ ? RuleId::amsgrad : RuleId::adam;
    if (decoupled_) return amsgrad_ ? RuleId::amsgrad_decoupled : RuleId::adam_decoupled;
    return amsgrad_ ? RuleId::amsgrad_coupled : RuleId::adam_coupled;
  }

  kernels::RuleForm form() const override {
    kernels::RuleForm form;
    form.family = kernels::RuleForm::Family::adam;
    form.epsilon_early = tf_;
    form.decoupled_decay = decoupled_;
    return form;
  }

 private:
  std::array<double, Field::count> defaults_;
  bool tf_;
  bool decoupled_;
  bool amsgrad_;
  bool maximize_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_adam(const gradstep_adam_options& options) { return std::make_unique<Adam>(options); }

gradstep_adam_options default_adam_options() {
  gradstep_adam_options options{};
  options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  options.beta1 = 0.9;
  options.beta2 = 0.999;
  options.epsilon = 1e-8;
  return options;
}

}  // namespace gradstep
