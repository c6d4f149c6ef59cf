// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/lion.h"

#include "optim/first_order/named_options.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

struct LionOptions {
  double learning_rate = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
  bool maximize = false;
  const char* state_dtype = "native";
};

std::unique_ptr<FirstOrderOptimizer> make_lion(const LionOptions& o, DType dtype = DType::f32) {
  const gradstep_option options[] = {{"learning_rate", o.learning_rate, nullptr},
                                     {"beta1", o.beta1, nullptr},
                                     {"beta2", o.beta2, nullptr},
                                     {"weight_decay", o.weight_decay, nullptr},
                                     {"maximize", o.maximize ? 1.0 : 0.0, nullptr},
                                     {"state_dtype", 0, o.state_dtype}};
  return std::make_unique<FirstOrderOptimizer>(make_context(), make_rule(find_rule("lion"), options),
                                               make_schema(kShapes, dtype));
}

/// A sum near zero has another sign in f32 than in f64 now and then: f64 parameters alone are compared.
ReferenceRule reference(const LionOptions& o) {
  return [o](double p, double g, double* m, std::int64_t) {
    if (o.maximize) g = -g;
    const double u = o.beta1 * m[0] + (1 - o.beta1) * g;
    m[0] = o.beta2 * m[0] + (1 - o.beta2) * g;
    return p * (1 - o.learning_rate * o.weight_decay) - o.learning_rate * (u > 0 ? 1 : u < 0 ? -1 : 0);
  };
}

TEST(Lion, FollowsItsFormulaInEveryCombinationOfOptions) {
  for (const double beta1 : {0.0, 0.9}) {
    for (const double weight_decay : {0.0, 0.1}) {
      for (const bool maximize : {false, true}) {
        const LionOptions o{.beta1 = beta1, .weight_decay = weight_decay, .maximize = maximize};
        EXPECT_LT(run_beside<double>(*make_lion(o, DType::f64), reference(o)), kTolerance64);
      }
    }
  }
}

TEST(Lion, AStepIsAsLongAsTheRateWhateverTheGradient) {
  const LionOptions o{.learning_rate = 0.25};
  const auto optimizer = make_lion(o);
  Model<float> model;
  model.draw_gradients(0);
  model.grads[0].values[0] = 1e30F;
  model.grads[0].values[1] = -1e-30F;
  model.grads[0].values[2] = 0;
  model.params[0].values = std::vector<float>(model.params[0].values.size(), 1);
  model.step(*optimizer);
  EXPECT_EQ(model.params[0].values[0], 0.75F);
  EXPECT_EQ(model.params[0].values[1], 1.25F);
  EXPECT_EQ(model.params[0].values[2], 1);
}

TEST(Lion, ItsMomentumHasSignsInEveryStorage) {
  for (const char* storage : {"native", "bf16", "int8"}) {
    const auto optimizer = make_lion({.state_dtype = storage});
    Model<float> model;
    model.draw_gradients(0);
    model.step(*optimizer);
    TestTensor<float> momentum({1000});
    Array host;
    host.data = momentum.values.data();
    host.size = 1000;
    optimizer->state().get(1, "exp_avg", host);
    for (std::size_t i = 0; i < 1000; ++i) {
      const float expected = 0.01F * model.grads[1].values[i];
      ASSERT_NEAR(momentum.values[i], expected, 0.05F * std::abs(expected) + 1e-4F) << storage << " " << i;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
