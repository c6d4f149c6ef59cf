// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/adam.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "kernels/power.h"

namespace gradstep {

namespace {

using kernels::RuleId;

enum Field : std::size_t { kLearningRate, kBeta1, kBeta2, kEpsilon, kWeightDecay, kFields };

constexpr std::array<HyperParameterField, kFields> kFieldTable = {
    {{"learning_rate", 0}, {"beta1", 0, 1}, {"beta2", 0, 1}, {"epsilon", 0}, {"weight_decay", 0}}};
constexpr std::array<const char*, 3> kStateNames = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};

class Adam final : public UpdateRule {
 public:
  explicit Adam(const gradstep_adam_options& o)
      : UpdateRule(storage_of(o)),
        defaults_{o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay},
        tf_(o.bias_correction == GRADSTEP_BIAS_CORRECTION_TF),
        decoupled_(o.decoupled_weight_decay != 0),
        amsgrad_(o.amsgrad != 0),
        maximize_(o.maximize != 0) {
    check_choice("options.bias_correction", o.bias_correction, 2, "0 (standard) or 1 (tf)");
  }

  const char* name() const override { return "adam"; }
  std::span<const HyperParameterField> fields() const override { return kFieldTable; }
  std::span<const double> defaults() const override { return defaults_; }
  std::span<const char* const> state_names() const override { return {kStateNames.data(), amsgrad_ ? 3U : 2U}; }
  bool maximize() const override { return maximize_; }

  std::uint32_t states_of(std::span<const Schedule> /*schedules*/) const override { return amsgrad_ ? 0b111 : 0b11; }
  std::uint32_t signed_states() const override { return 0b001; }
  void check(std::span<const Schedule> /*schedules*/) const override {}

  RuleId kernel(std::span<const Schedule> s) const override {
    if (s[kWeightDecay].is_absent()) return amsgrad_ ? RuleId::amsgrad : RuleId::adam;
    if (decoupled_) return amsgrad_ ? RuleId::amsgrad_decoupled : RuleId::adam_decoupled;
    return amsgrad_ ? RuleId::amsgrad_coupled : RuleId::adam_coupled;
  }

  void write_constants(std::span<const double> v, std::int64_t step, bool /*first*/, void* constants) override {
    auto& c = *static_cast<kernels::AdamConstants*>(constants);
    const double correction1 = 1 - beta1_power_(v[kBeta1], step + 1);
    const double correction2 = 1 - beta2_power_(v[kBeta2], step + 1);
    const double root2 = std::sqrt(correction2);
    c.beta1 = v[kBeta1];
    c.beta2 = v[kBeta2];
    c.step_size = tf_ ? v[kLearningRate] * root2 / correction1 : v[kLearningRate] / correction1;
    c.root_factor = tf_ ? 1 : 1 / root2;
    c.epsilon = v[kEpsilon];
    c.weight_decay = decoupled_ ? v[kLearningRate] * v[kWeightDecay] : v[kWeightDecay];
  }

 private:
  std::array<double, kFields> defaults_;
  bool tf_;
  bool decoupled_;
  bool amsgrad_;
  bool maximize_;
  kernels::Power beta1_power_;
  kernels::Power beta2_power_;
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
