// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Option decay_mode: each kind of weight decay around each rule. A gradient of 0 leaves the decay alone, or, coupled,
// makes it the gradient. (Recorded numbers of another system: tests/conformance.)
#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

constexpr double kLearningRate = 0.125;
constexpr double kPeak = 0.5;
constexpr double kWeightDecay = 0.25;

Rule decaying(const char* rule, const char* mode, double decay = kWeightDecay) {
  const gradstep_option options[] = {{"learning_rate", kLearningRate, nullptr},
                                     {"weight_decay", decay, nullptr},
                                     {"decay_mode", 0, mode},
                                     {"peak_learning_rate", kPeak, nullptr}};
  return make_rule(find_rule(rule), options);
}

/// f64 parameters after steps with gradients that are those of `model`, or 0.
std::vector<double> stepped(const Rule& rule, int steps, const std::function<double(double p)>& gradient_of) {
  FirstOrderOptimizer optimizer(make_context(), rule, make_schema(kShapes, DType::f64));
  Model<double> model;
  for (int t = 0; t < steps; ++t) {
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      for (std::size_t k = 0; k < model.params[i].values.size(); ++k) {
        model.grads[i].values[k] = gradient_of(model.params[i].values[k]);
      }
    }
    model.step(optimizer);
  }
  return model.params[1].values;
}

TEST(DecayMode, SubtractsItsShareOfTheParameterWhateverTheRule) {
  const std::vector<double> before = Model<double>().params[1].values;
  for (const RuleType& type : rule_types()) {
    if (type.about.trust_ratio) continue;                                           // its change has another length
    if (type.orthogonalization != nullptr || type.projection != nullptr) continue;  // needs matrices
    if (type.average_share != nullptr) continue;                                    // refuses it
    if (std::string(type.about.name) == "yogi") continue;  // its state moves it without a gradient
    for (const auto& [mode, share] :
         {std::pair("decoupled", kLearningRate * kWeightDecay), std::pair("independent", kWeightDecay),
          std::pair("relative", kLearningRate / kPeak * kWeightDecay),
          std::pair("corrected", kLearningRate * kLearningRate / kPeak * kWeightDecay)}) {
      const std::vector<double> after = stepped(decaying(type.about.name, mode), 1, [](double) { return 0.0; });
      for (std::size_t k = 0; k < before.size(); ++k) {
        EXPECT_NEAR(after[k], before[k] * (1 - share), 1e-15) << type.about.name << " " << mode;
      }
    }
  }
}

TEST(DecayMode, CoupledIsAGradientOfItsOwn) {
  for (const RuleType& type : rule_types()) {
    if (type.orthogonalization != nullptr || type.projection != nullptr) continue;  // needs matrices
    const auto gradient = [](double p) { return 0.3 + 0.1 * p; };
    const std::vector<double> coupled = stepped(decaying(type.about.name, "coupled"), 3, gradient);
    const std::vector<double> by_hand =
        stepped(decaying(type.about.name, "rule", 0), 3, [&](double p) { return gradient(p) + kWeightDecay * p; });
    for (std::size_t k = 0; k < coupled.size(); ++k) EXPECT_NEAR(coupled[k], by_hand[k], 1e-12) << type.about.name;
  }
}

TEST(DecayMode, TheRulesOwnIsTheDefault) {
  const auto gradient = [](double p) { return 0.3 + 0.1 * p; };
  EXPECT_EQ(stepped(decaying("adam", "rule"), 3, gradient), stepped(decaying("adam", "coupled"), 3, gradient));
  EXPECT_EQ(stepped(decaying("lion", "rule"), 3, gradient), stepped(decaying("lion", "decoupled"), 3, gradient));
}

TEST(DecayMode, WhatDividesByThePeakNeedsIt) {
  const gradstep_option options[] = {{"learning_rate", kLearningRate, nullptr}, {"decay_mode", 0, "corrected"}};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
               "options.peak_learning_rate: is 0, expected above 0, for decay_mode divides by it",
               [&] { make_rule(find_rule("adam"), options); });
}

}  // namespace
}  // namespace gradstep::test
