// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes that wait until their tensor is known: cautious updates and decay, with masters and stochastic rounding, by
// group. (Recorded numbers of other systems: tests/conformance/rules. Ranks: sharding_test. Devices: tests/bits.)
#include "optim/first_order/finish_phases.h"

#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

using Options = std::vector<gradstep_option>;

Rule rule_of(const char* name, Options more) {
  more.push_back({"learning_rate", 0.125, nullptr});
  return make_rule(find_rule(name), more);
}

/// A step of SGD with momentum from the same state with and without `options`, over gradients of any sign.
struct Pair {
  Model<double> plain;
  Model<double> changed;

  explicit Pair(const Options& options, const Options& both = {}) {
    Options all = both;
    all.push_back({"momentum", 0.9, nullptr});
    FirstOrderOptimizer without(make_context(), rule_of("sgd", all), make_schema(kShapes, DType::f64));
    all.insert(all.end(), options.begin(), options.end());
    FirstOrderOptimizer with(make_context(), rule_of("sgd", all), make_schema(kShapes, DType::f64));
    for (std::uint32_t t = 0; t < 2; ++t) {
      plain.draw_gradients(t);
      changed.draw_gradients(t);
      changed.params = plain.params;
      before = plain;
      plain.step(without);
      changed.step(with);
    }
  }

  Model<double> before;
};

TEST(CautiousUpdate, LeavesOutWhatHasTheSignOfTheGradientAndScalesTheRest) {
  for (const char* form : {"mean", "sum"}) {
    const Pair pair({{"cautious_update", 0, form}});
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      const auto& g = pair.before.grads[i].values;
      const auto& p = pair.before.params[i].values;
      const auto n = static_cast<double>(p.size());
      std::vector<double> change(p.size());
      double stay = 0;
      for (std::size_t k = 0; k < p.size(); ++k) {
        change[k] = pair.plain.params[i].values[k] - p[k];
        if (change[k] * g[k] < 0) ++stay;
      }
      ASSERT_GT(stay, 0);
      ASSERT_LT(stay, n);
      const double factor = *form == 'm' ? n / stay : n / (stay + 1);
      for (std::size_t k = 0; k < p.size(); ++k) {
        const double expected = p[k] + (change[k] * g[k] < 0 ? factor * change[k] : 0);
        EXPECT_NEAR(pair.changed.params[i].values[k], expected, 1e-14) << form;
      }
    }
  }
}

TEST(CautiousUpdate, FollowsTheSignThatTheRuleSaw) {
  for (const double scale : {1.0, -1.0}) {
    FirstOrderOptimizer up(make_context(), rule_of("sgd", {{"cautious_update", 0, "mean"}, {"maximize", 1, nullptr}}),
                           make_schema(kShapes));
    Model<float> model;
    model.draw_gradients(3);
    const Model<float> before = model;
    StepGuards guards;
    guards.grad_scale = scale;
    model.step(up, guards);
    for (std::size_t k = 0; k < 35; ++k) {  // plain SGD never goes against its gradient
      const float expected =
          before.params[0].values[k] + 0.125F * static_cast<float>(scale) * before.grads[0].values[k];
      EXPECT_FLOAT_EQ(model.params[0].values[k], expected);
    }
  }
}

TEST(CautiousDecay, DecaysWhereThatDoesNotOpposeTheChange) {
  const Options both = {{"weight_decay", 0.25, nullptr}, {"decay_mode", 0, "decoupled"}};
  const Pair pair({{"cautious_decay", 1, nullptr}}, both);
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    for (std::size_t k = 0; k < pair.before.params[i].values.size(); ++k) {
      const double p = pair.before.params[i].values[k];
      const double decayed = pair.plain.params[i].values[k];
      const double change = decayed + 0.125 * 0.25 * p - p;
      EXPECT_NEAR(pair.changed.params[i].values[k], change * p > 0 ? p + change : decayed, 1e-14);
    }
  }
}

TEST(CautiousDecay, NeedsADecayThatIsSubtracted) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
               "options.cautious_decay: needs a decay that is subtracted from p, found one that joins the gradient",
               [] { rule_of("sgd", {{"cautious_decay", 1, nullptr}}); });
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "options.cautious_decay: with a trust ratio the decay is part of the change",
               [] { rule_of("lamb", {{"cautious_decay", 1, nullptr}}); });
}

/// Options that make changes wait.
const Options kWaiting[] = {
    {{"trust_ratio", 1, nullptr}},
    {{"cautious_update", 0, "mean"}},
    {{"weight_decay", 0.1, nullptr}, {"decay_mode", 0, "decoupled"}, {"cautious_decay", 1, nullptr}}};

TEST(FinishPhases, AMasterIsSteppedAsAnF32Parameter) {
  for (Options options : kWaiting) {
    options.push_back({"master_weights", 1, nullptr});
    const Rule rule = rule_of("adam", options);
    FirstOrderOptimizer narrow(make_context(), rule, make_schema({{300}}, DType::bf16));
    FirstOrderOptimizer wide(make_context(), rule, make_schema({{300}}, DType::f32));
    NarrowModel model({300});
    for (std::uint32_t t = 0; t < 4; ++t) {
      model.step(narrow, t);
      model.step_twin(wide, t);
      EXPECT_EQ(bits_of(model.param.values), bits_of(to_bfloat16(model.twin.values))) << rule.key() << " " << t;
    }
  }
}

TEST(FinishPhases, StochasticRoundingIsExactOnAverage) {
  constexpr double kStart = 1.0078125;
  for (Options options : kWaiting) {
    options.push_back({"stochastic_rounding", 1, nullptr});
    FirstOrderOptimizer narrow(make_context(), rule_of("sgd", options), make_schema({{4096}}, DType::bf16));
    TestTensor<kernels::BFloat16> param({4096});
    TestTensor<float> grad({4096});
    param.values.assign(4096, kernels::to_bfloat16(static_cast<float>(kStart)));
    grad.values.assign(4096, 0.001F);
    const gradstep_tensor p = param.tensor();
    const gradstep_tensor g = grad.tensor();
    host::step(narrow, &p, &g, nullptr, 1);
    const std::vector<float> values = widen(param.values);
    const float first = values.front();
    double sum = 0;
    bool differ = false;
    for (const float value : values) {
      sum += value;
      differ = differ || value != first;
    }
    EXPECT_TRUE(differ);
    const bool is_ratio = std::string(options.front().name) == "trust_ratio";
    const bool decays = std::string(options.front().name) == "weight_decay";
    const double expected = is_ratio ? kStart * (1 - 0.125)
                            : decays ? kStart - 0.125 * (0.001 + 0.1 * kStart)
                                     : kStart - 0.125 * 0.001;
    EXPECT_NEAR(sum / 4096, expected, 3e-4) << rule_of("sgd", options).key();
  }
}

}  // namespace
}  // namespace gradstep::test
