// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The trust ratio, of LAMB and as an option of every rule. (Recorded numbers of optax: tests/conformance. Ranks and
// devices: tests/bits.)
#include <numeric>

#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

Rule trusting(const char* rule, std::initializer_list<gradstep_option> more = {}) {
  std::vector<gradstep_option> options = {{"learning_rate", 0.1, nullptr}, {"trust_ratio", 1, nullptr}};
  options.insert(options.end(), more);
  return make_rule(find_rule(rule), options);
}

template <class T>
double length_of(const std::vector<T>& values) {
  return std::sqrt(std::accumulate(values.begin(), values.end(), 0.0, [](double sum, T x) {
    return sum + static_cast<double>(x) * static_cast<double>(x);
  }));
}

TEST(TrustRatio, AChangeIsAsLongAsItsTensorTimesTheRateWhateverTheRule) {
  for (const RuleType& type : rule_types()) {
    if (type.step_scale != nullptr || type.factoring != nullptr || type.average_share != nullptr) continue;
    FirstOrderOptimizer optimizer(make_context(), trusting(type.about.name), make_schema(kShapes, DType::f64));
    Model<double> model;
    model.draw_gradients(0);
    model.step(optimizer);  // ADOPT's first one moves nothing
    model.draw_gradients(1);
    const Model<double> before = model;
    model.step(optimizer);
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      std::vector<double> change = model.params[i].values;
      for (std::size_t k = 0; k < change.size(); ++k) change[k] -= before.params[i].values[k];
      const double expected = 0.1 * length_of(before.params[i].values);
      EXPECT_NEAR(length_of(change), expected, 1e-12 * expected) << type.about.name;
    }
  }
}

TEST(TrustRatio, IsOneForATensorOfZerosAndForNoChange) {
  FirstOrderOptimizer optimizer(make_context(), trusting("sgd"), make_schema(kShapes));
  Model<float> model;
  model.params[0].values.assign(35, 0.0F);
  model.grads[0].values.assign(35, 2.0F);
  model.grads[1].values.assign(1000, 0.0F);
  const std::vector<float> before = model.params[1].values;
  model.step(optimizer);
  EXPECT_EQ(model.params[0].values, std::vector<float>(35, -0.2F));
  EXPECT_EQ(model.params[1].values, before);
}

TEST(TrustRatio, UpdatesAreWhatAStepAdds) {
  FirstOrderOptimizer stepping(make_context(), trusting("adam"), make_schema(kShapes, DType::f64));
  FirstOrderOptimizer giving(make_context(), trusting("adam"), make_schema(kShapes, DType::f64));
  Model<double> model;
  Model<double> other;
  for (std::uint32_t t = 0; t < 3; ++t) {
    model.draw_gradients(t);
    other.draw_gradients(t);
    model.step(stepping);
    other.update(giving);
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      for (std::size_t k = 0; k < other.params[i].values.size(); ++k) {
        other.params[i].values[k] += other.updates[i].values[k];
      }
      EXPECT_EQ(model.params[i].values, other.params[i].values) << t;
    }
  }
}

TEST(TrustRatio, ASkippedStepAndAMissingGradientChangeNothing) {
  FirstOrderOptimizer optimizer(make_context(), trusting("lamb"), make_schema(kShapes));
  Model<float> model;
  model.draw_gradients(0);
  model.step(optimizer);
  const Model<float> before = model;
  model.grads[0].values[0] = std::numeric_limits<float>::infinity();
  StepGuards guards;
  guards.skip_nonfinite = true;
  EXPECT_FALSE(model.step(optimizer, guards).applied);
  for (auto& update : model.updates) update.values.assign(update.values.size(), 7.0F);
  EXPECT_FALSE(model.update(optimizer, guards).applied);
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    EXPECT_EQ(model.params[i].values, before.params[i].values);
    EXPECT_EQ(model.updates[i].values, std::vector<float>(model.updates[i].values.size(), 0.0F));
  }
  model.draw_gradients(1);
  const auto params = Model<float>::tensors(model.params);
  auto grads = Model<float>::tensors(model.grads);
  grads[1].data = nullptr;
  host::step(optimizer, params.data(), grads.data(), nullptr, 2);
  EXPECT_NE(model.params[0].values, before.params[0].values);
  EXPECT_EQ(model.params[1].values, before.params[1].values);
}

TEST(TrustRatio, WhatHasAScaleOfItsOwnRefusesIt) {
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "options.trust_ratio: muon has a scale of its own, step_scale",
               [] { trusting("muon"); });
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "options.trust_ratio: dion has a scale of its own, sqrt(rows / columns)",
               [] { trusting("dion"); });
}

}  // namespace
}  // namespace gradstep::test
