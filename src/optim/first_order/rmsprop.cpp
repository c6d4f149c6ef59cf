// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/rmsprop.h"

#include <array>
#include <limits>

#include "optim/option_fields.h"

namespace gradstep {

namespace {

using kernels::RuleId;
using Field = kernels::RmsPropField;
using Options = gradstep_rmsprop_options;

constexpr OptionFields<Options, Field::count> kFields({
    {Field::learning_rate, &Options::learning_rate, {"learning_rate", 0}},
    {Field::rho, &Options::rho, {"rho", 0, 1}},
    {Field::epsilon, &Options::epsilon, {"epsilon", 0}},
    {Field::weight_decay, &Options::weight_decay, {"weight_decay", 0}},
    {Field::momentum, &Options::momentum, {"momentum", 0}},
});
constexpr std::array<const char*, 3> kStateNames = {"square_avg", "grad_avg", "momentum_buffer"};

class RmsProp final : public UpdateRule {
 public:
  explicit RmsProp(const Options& o)
      : UpdateRule(storage_of(o)),
        defaults_(kFields.values(o)),
        inside_(o.epsilon_placement == GRADSTEP_EPSILON_PLACEMENT_INSIDE),
        centered_(o.centered != 0),
        maximize_(o.maximize != 0) {
    check_choice("options.epsilon_placement", o.epsilon_placement, 2, "0 (inside) or 1 (outside)");
  }

  const char* name() const override { return "rmsprop"; }
  std::span<const HyperParameterField> fields() const override { return kFields.fields(); }
  std::span<const double> defaults() const override { return defaults_; }
  std::span<const char* const> state_names() const override { return kStateNames; }
  bool maximize() const override { return maximize_; }

  std::uint32_t states_of(std::span<const Schedule> s) const override {
    return 0b001U | (centered_ ? 0b010U : 0U) | (s[Field::momentum].is_absent() ? 0U : 0b100U);
  }
  std::uint32_t signed_states() const override { return 0b110; }
  void check(std::span<const Schedule> /*schedules*/) const override {}

  RuleId kernel(std::span<const Schedule> s) const override {
    const bool decay = !s[Field::weight_decay].is_absent();
    if (s[Field::momentum].is_absent()) {
      if (centered_) return decay ? RuleId::rmsprop_centered_decay : RuleId::rmsprop_centered;
      return decay ? RuleId::rmsprop_decay : RuleId::rmsprop;
    }
    if (centered_) return decay ? RuleId::rmsprop_centered_momentum_decay : RuleId::rmsprop_centered_momentum;
    return decay ? RuleId::rmsprop_momentum_decay : RuleId::rmsprop_momentum;
  }

  kernels::RuleForm form() const override {
    kernels::RuleForm form;
    form.family = kernels::RuleForm::Family::rmsprop;
    form.epsilon_inside = inside_;
    return form;
  }

 private:
  std::array<double, Field::count> defaults_;
  bool inside_;
  bool centered_;
  bool maximize_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_rmsprop(const gradstep_rmsprop_options& options) {
  return std::make_unique<RmsProp>(options);
}

gradstep_rmsprop_options default_rmsprop_options() {
  gradstep_rmsprop_options options{};
  options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  options.rho = 0.9;
  options.epsilon = 1e-8;
  return options;
}

}  // namespace gradstep
