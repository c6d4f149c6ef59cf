// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/sgd.h"

#include <array>
#include <limits>

#include "core/error.h"
#include "optim/option_fields.h"

namespace gradstep {

namespace {

using kernels::RuleId;
using Field = kernels::SgdField;
using Options = gradstep_sgd_options;

constexpr OptionFields<Options, Field::count> kFields({
    {Field::learning_rate, &Options::learning_rate, {"learning_rate", 0}},
    {Field::momentum, &Options::momentum, {"momentum", 0}},
    {Field::dampening, &Options::dampening, {"dampening"}},
    {Field::weight_decay, &Options::weight_decay, {"weight_decay", 0}},
});
constexpr std::array<const char*, 1> kStateNames = {"momentum_buffer"};

class Sgd final : public UpdateRule {
 public:
  explicit Sgd(const Options& o)
      : UpdateRule(storage_of(o)),
        defaults_(kFields.values(o)),
        nesterov_(o.nesterov != 0),
        copy_first_(o.first_step == GRADSTEP_SGD_FIRST_STEP_COPY),
        maximize_(o.maximize != 0) {
    check_choice("options.first_step", o.first_step, 2, "0 (dampen) or 1 (copy)");
  }

  const char* name() const override { return "sgd"; }
  std::span<const HyperParameterField> fields() const override { return kFields.fields(); }
  std::span<const double> defaults() const override { return defaults_; }
  std::span<const char* const> state_names() const override { return kStateNames; }
  bool maximize() const override { return maximize_; }

  std::uint32_t states_of(std::span<const Schedule> s) const override { return s[Field::momentum].is_absent() ? 0 : 1; }
  std::uint32_t signed_states() const override { return 1; }

  void check(std::span<const Schedule> s) const override {
    if (!nesterov_) return;
    const double momentum = s[Field::momentum].value(0);
    const double dampening = s[Field::dampening].value(0);
    if (!(momentum > 0) || dampening != 0) {
      fail_argument("nesterov: needs momentum above 0 and dampening 0, found momentum {} and dampening {}", momentum,
                    dampening);
    }
  }

  RuleId kernel(std::span<const Schedule> s) const override {
    const bool decay = !s[Field::weight_decay].is_absent();
    if (s[Field::momentum].is_absent()) return decay ? RuleId::sgd_decay : RuleId::sgd;
    if (nesterov_) return decay ? RuleId::sgd_nesterov_decay : RuleId::sgd_nesterov;
    return decay ? RuleId::sgd_momentum_decay : RuleId::sgd_momentum;
  }

  kernels::RuleForm form() const override {
    kernels::RuleForm form;
    form.family = kernels::RuleForm::Family::sgd;
    form.copies_first = copy_first_;
    return form;
  }

 private:
  std::array<double, Field::count> defaults_;
  bool nesterov_;
  bool copy_first_;
  bool maximize_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_sgd(const gradstep_sgd_options& options) { return std::make_unique<Sgd>(options); }

gradstep_sgd_options default_sgd_options() {
  gradstep_sgd_options options{};
  options.learning_rate = std::numeric_limits<double>::quiet_NaN();
  return options;
}

}  // namespace gradstep
