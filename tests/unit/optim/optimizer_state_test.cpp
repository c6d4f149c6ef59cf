// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

gradstep_adam_options adam() {
  auto o = default_options<gradstep_adam_options>();
  o.learning_rate = 0.1;
  return o;
}

TEST(OptimizerState, ACopiedStateContinuesWithTheSameBits) {
  auto a = make_optimizer(adam());
  auto b = make_optimizer(adam());
  Model<float> x;
  for (std::uint32_t t = 0; t < 3; ++t) {
    x.draw_gradients(t);
    x.step(*a);
  }
  Model<float> y = x;
  b->copy_state(*a);
  EXPECT_EQ(b->step_count(), 3);
  for (std::uint32_t t = 3; t < 6; ++t) {
    x.draw_gradients(t);
    y.draw_gradients(t);
    x.step(*a);
    y.step(*b);
  }
  EXPECT_EQ(x.params[0].values, y.params[0].values);
  EXPECT_EQ(x.params[1].values, y.params[1].values);
}

TEST(OptimizerState, CopyBetweenDifferentOptimizersIsAMismatchInWords) {
  auto a = make_optimizer(adam());
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.learning_rate = 1;
  auto b = make_optimizer(sgd);
  expect_error(GRADSTEP_ERR_MISMATCH, "source: is sgd, destination is adam", [&] { a->copy_state(*b); });
  FirstOrderOptimizer other(make_context(), make_rule(adam()), make_schema({{7, 5}, {999}}));
  expect_error(GRADSTEP_ERR_MISMATCH, "parameter 'p1' has shape (1000) against (999)", [&] { a->copy_state(other); });
  sgd.momentum = 0.9;
  auto c = make_optimizer(sgd);
  expect_error(GRADSTEP_ERR_MISMATCH, "state buffers", [&] { b->copy_state(*c); });
}

TEST(OptimizerState, AddedParametersStartAtZeroAndOldStateStaysWhereItIs) {
  auto optimizer = make_optimizer(adam());
  Model<float> model;
  model.draw_gradients(0);
  model.step(*optimizer);
  const void* address = optimizer->state().view(0, "exp_avg").data;
  const gradstep_tensor view = view_of(optimizer->schema(), 0, nullptr, DType::f32);
  const std::vector<std::int64_t> shape = {3};
  gradstep_parameter added{};
  added.struct_size = sizeof added;
  added.name = "new";
  added.shape = shape.data();
  added.ndim = 1;
  added.group = 1;
  added.dtype = to_dlpack(DType::f32);
  added.device = {GRADSTEP_DEVICE_CPU, 0};
  optimizer->add_parameters(&added, 1);
  EXPECT_EQ(optimizer->state().view(0, "exp_avg").data, address);
  EXPECT_EQ(view_of(optimizer->schema(), 0, nullptr, DType::f32).shape, view.shape) << "views' shapes must stay valid";
  EXPECT_EQ(optimizer->hyper_parameters().group_count(), 2);
  EXPECT_EQ(static_cast<const float*>(optimizer->state().view(2, "exp_avg").data)[2], 0);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "'new' is already taken", [&] { optimizer->add_parameters(&added, 1); });
  EXPECT_EQ(optimizer->schema().size(), 3U);

  TestTensor<float> extra({3}), gradient({3}, 1.0F);
  auto p = Model<float>::tensors(model.params);
  auto g = Model<float>::tensors(model.grads);
  p.push_back(extra.tensor());
  g.push_back(gradient.tensor());
  host::step(*optimizer, p.data(), g.data(), nullptr, 3);
  EXPECT_NE(extra.values[0], 0);
}

TEST(OptimizerState, UnknownStatesAndIndicesAreNamed) {
  auto optimizer = make_optimizer(adam());
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "'moment' is not a state of adam, expected one of exp_avg, exp_avg_sq",
               [&] { optimizer->state().view(0, "moment"); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "index: is 2", [&] { optimizer->state().view(2, "exp_avg"); });
}

TEST(OptimizerState, BytesBeforeCreationEqualWhatIsHeldAfter) {
  auto o = default_options<gradstep_sgd_options>();
  o.learning_rate = 1;
  for (const double momentum : {0.0, 0.9}) {
    o.momentum = momentum;
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Schema schema = make_schema(kShapes, dtype);
      auto optimizer = make_optimizer(o, dtype);
      std::int64_t held = 0;
      for (const StoredState& stored : optimizer->state().stored()) held += stored.array.bytes();
      EXPECT_EQ(held, FirstOrderOptimizer::state_bytes(make_rule(o), schema));
      EXPECT_EQ(held, momentum == 0 ? 0 : 1035 * (dtype == DType::f64 ? 8 : 4));
    }
  }
}

TEST(OptimizerState, ParametersOfNoElementsAreLegal) {
  FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), make_schema({{0, 4}, {2}}));
  TestTensor<float> empty({0, 4}), p({2}), g({2}, 1.0F);
  const gradstep_tensor params[] = {empty.absent(), p.tensor()};
  const gradstep_tensor grads[] = {empty.absent(), g.tensor()};
  EXPECT_TRUE(host::step(optimizer, params, grads, nullptr, 2).applied);
  EXPECT_LT(p.values[0], 0);
}

TEST(OptimizerState, TheHotPathCallsTheAllocatorNoMore) {
  int allocations = 0;
  FirstOrderOptimizer optimizer(make_counting_context(&allocations, 2), make_rule(adam()), make_schema(kShapes));
  Model<float> model;
  model.draw_gradients(0);
  StepGuards guards;
  guards.max_norm = 1;
  model.step(optimizer, guards);
  const int after_first = allocations;
  for (int t = 0; t < 10; ++t) model.step(optimizer, guards);
  EXPECT_EQ(allocations, after_first);
}

}  // namespace
}  // namespace gradstep::test
