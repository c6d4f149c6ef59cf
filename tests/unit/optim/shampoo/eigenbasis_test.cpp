// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The eigenvalue-corrected mode. Its numbers are held against an f64 reading of the source in
// tests/python/test_shampoo_eigenbasis.py.
#include "unit/optim/shampoo/shampoo_fixture.h"

namespace gradstep::test {
namespace {

gradstep_shampoo_options soap() {
  auto o = shampoo_options();
  o.eigenvalue_corrected = 1;
  o.beta1 = 0.95;
  o.beta2 = 0.95;
  o.diagonal_epsilon = 1e-8;
  o.weight_decay = 0.01;
  return o;
}

ReferenceRule adam_after_a_first_look(const gradstep_shampoo_options& o) {
  return [o](double p, double g, double* s, std::int64_t t) {
    if (t == 0) return p;
    const double n = static_cast<double>(t);
    s[0] = o.beta1 * s[0] + (1 - o.beta1) * g;
    s[1] = o.beta2 * s[1] + (1 - o.beta2) * g * g;
    const double rate = o.learning_rate * std::sqrt(1 - std::pow(o.beta2, n)) / (1 - std::pow(o.beta1, n));
    const double moved = p - rate * s[0] / (std::sqrt(s[1]) + o.diagonal_epsilon);
    return moved - o.learning_rate * o.weight_decay * moved;
  };
}

TEST(ShampooEigenbasis, WithoutPreconditioningItIsAdam) {
  auto o = soap();
  o.precondition = 0;
  EXPECT_LT(run_beside<float>(*make_shampoo(o), adam_after_a_first_look(o)), kTolerance32);
}

TEST(ShampooEigenbasis, VectorsHaveNoBasis) {
  auto optimizer = make_shampoo(soap());
  EXPECT_EQ(copy_of_state(*optimizer, 0, "statistics.0.0").size(), 16U);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "statistics.0.0", [&] { optimizer->state().view(1, "statistics.0.0"); });
}

TEST(ShampooEigenbasis, TheFirstGradientMakesTheBasisAndNothingElse) {
  auto optimizer = make_shampoo(soap());
  Model<float> model;
  const auto before = model.params[0].values;
  run(model, *optimizer, 0, 1);
  EXPECT_EQ(model.params[0].values, before);
  const std::vector<float> basis = copy_of_state(*optimizer, 0, "preconditioners.0.0");
  const std::vector<float> statistic = copy_of_state(*optimizer, 0, "statistics.0.0");
  double previous = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < 4; ++j) {
    double square = 0;
    double quotient = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      square += static_cast<double>(basis[a * 4 + j]) * basis[a * 4 + j];
      for (std::size_t b = 0; b < 4; ++b) {
        quotient += static_cast<double>(basis[a * 4 + j]) * statistic[a * 4 + b] * basis[b * 4 + j];
      }
    }
    EXPECT_NEAR(square, 1, 1e-6);
    EXPECT_LE(quotient, previous);  // largest eigenvalue first
    previous = quotient;
  }
  run(model, *optimizer, 1, 2);
  EXPECT_NE(model.params[0].values, before);
}

TEST(ShampooEigenbasis, AParameterThatJoinsLateGetsItsBasisThen) {
  auto o = soap();
  o.preconditioning_compute_steps = 5;
  o.statistics_compute_steps = 5;
  auto optimizer = make_shampoo(o);
  Model<float> model;
  for (std::uint32_t t = 0; t < 4; ++t) {
    model.draw_gradients(t);
    const auto p = Model<float>::tensors(model.params);
    auto g = Model<float>::tensors(model.grads);
    const auto before = model.params[0].values;
    if (t < 2) g[0].data = nullptr;
    host::step(*optimizer, p.data(), g.data(), nullptr, p.size());
    EXPECT_EQ(model.params[0].values == before, t <= 2) << t;
  }
}

TEST(ShampooEigenbasis, ThreadsAndResumingChangeNoBit) {
  auto o = soap();
  o.preconditioning_compute_steps = 3;
  auto first = make_shampoo(o, 1);
  Model<float> model;
  run(model, *first, 0, 5);
  auto second = make_shampoo(o, 3);
  resume(*first, *second);
  Model<float> resumed = model;
  run(model, *first, 5, 10);
  run(resumed, *second, 5, 10);
  expect_equal_params(model, resumed);
}

TEST(ShampooEigenbasis, StateBytesAreThoseOfTheStoredState) {
  std::int64_t bytes = 0;
  for (const StoredState& stored : make_shampoo(soap())->state().stored()) bytes += stored.array.bytes();
  EXPECT_EQ(bytes, Shampoo::state_bytes(soap(), make_schema(kShapes)));
}

TEST(ShampooEigenbasis, ANonFiniteGradientKeepsTheBasis) {
  auto optimizer = make_shampoo(soap());
  Model<float> model;
  run(model, *optimizer, 0, 2);
  const auto basis = copy_of_state(*optimizer, 0, "preconditioners.0.0");
  model.draw_gradients(2);
  model.grads[0].values[0] = std::numeric_limits<float>::quiet_NaN();
  model.step(*optimizer);
  EXPECT_EQ(copy_of_state(*optimizer, 0, "preconditioners.0.0"), basis);
  EXPECT_EQ(metric_of(*optimizer, "root_failures"), 2);
}

}  // namespace
}  // namespace gradstep::test
