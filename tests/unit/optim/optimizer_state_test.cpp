// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "unit/allocators.h"
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

/// A parameter of three elements in a group.
gradstep_parameter described(const char* name, std::int32_t group = 0) {
  static const std::int64_t shape[] = {3};
  gradstep_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.name = name;
  parameter.shape = shape;
  parameter.ndim = 1;
  parameter.group = group;
  parameter.dtype = to_dlpack(DType::f32);
  parameter.device = {GRADSTEP_DEVICE_CPU, 0};
  return parameter;
}

Rule rule_of(const char* name, bool counts_each) {
  const auto type =
      std::ranges::find_if(rule_types(), [&](const RuleType& t) { return t.about.name == std::string(name); });
  RuleOptions options;
  for (std::size_t i = 0; i < type->about.fields.size(); ++i) {
    const double initial = type->about.fields[i].initial;
    options.fields[i] = std::isnan(initial) ? 0.125 : initial;
  }
  for (std::size_t i = 0; i < type->about.settings.size(); ++i) options.settings[i] = type->about.settings[i].initial;
  for (std::size_t i = 0; i < type->about.choices.size(); ++i) options.choices[i] = type->about.choices[i].initial;
  options.counts_each = counts_each;
  return {*type, options};
}

/// Steps of parameters that are there from the start, or of which all but the first are added one by one after it.
std::vector<float> stepped(const char* rule, bool counts_each, bool adds) {
  constexpr std::size_t kCount = 40;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kCount; ++i) names.push_back(fmt::format("parameter {}", i));
  std::vector<gradstep_parameter> parameters;
  for (std::size_t i = 0; i < kCount; ++i) {
    parameters.push_back(described(names[i].c_str(), static_cast<std::int32_t>(i % 3)));
  }
  const std::size_t first = adds ? 1 : kCount;
  FirstOrderOptimizer optimizer(make_context(), rule_of(rule, counts_each), Schema(parameters.data(), first));
  for (std::size_t i = first; i < kCount; ++i) optimizer.add_parameters(&parameters[i], 1);
  std::vector<TestTensor<float>> values;
  std::vector<TestTensor<float>> slopes;
  std::vector<gradstep_tensor> p;
  std::vector<gradstep_tensor> g;
  values.reserve(kCount);
  slopes.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    p.push_back(values.emplace_back(std::vector<std::int64_t>{3}, 1.0F).tensor());
    g.push_back(slopes.emplace_back(std::vector<std::int64_t>{3}, 0.5F + static_cast<float>(i)).tensor());
  }
  for (int step = 0; step < 3; ++step) host::step(optimizer, p.data(), g.data(), nullptr, kCount);
  std::vector<float> all;
  for (const auto& each : values) all.insert(all.end(), each.values.begin(), each.values.end());
  return all;
}

TEST(OptimizerState, ParametersThatAreAddedOneByOneStepAsThoseOfTheStart) {
  for (const char* rule : {"sgd", "adam", "prodigy", "adafactor", "lion"}) {
    for (const bool counts_each : {false, true}) {
      if (counts_each && rule == std::string("prodigy")) continue;
      const std::vector<float> expected = stepped(rule, counts_each, /*adds=*/false);
      EXPECT_NE(expected, std::vector<float>(expected.size(), 1.0F)) << rule;
      EXPECT_EQ(stepped(rule, counts_each, /*adds=*/true), expected) << rule << counts_each;
    }
  }
}

/// The allocator refuses the first allocation of an addition, then the second, and so on until there is memory for all.
TEST(OptimizerState, AnAdditionWithoutMemoryChangesNothing) {
  for (const bool counts_each : {false, true}) {
    std::int64_t left = -1;
    const Rule rule = rule_of("adam", counts_each);
    FirstOrderOptimizer optimizer(make_short_of_memory(&left), rule, make_schema({{7, 5}, {1000}}));
    FirstOrderOptimizer expected(make_context(), rule, make_schema({{7, 5}, {1000}}));
    Model<float> x;
    Model<float> y;
    const gradstep_parameter added[] = {described("first", 1), described("second", 2)};
    std::int64_t refused = 0;
    for (bool fails = true; fails; ++refused) {
      left = refused;
      gradstep_status status = GRADSTEP_OK;
      try {
        optimizer.add_parameters(added, 2);
      } catch (const Error& error) {
        status = error.status();
      }
      left = -1;
      fails = status != GRADSTEP_OK;
      if (!fails) break;
      EXPECT_EQ(status, GRADSTEP_ERR_OUT_OF_MEMORY);
      EXPECT_EQ(optimizer.schema().size(), 2U);
      EXPECT_EQ(optimizer.hyper_parameters().group_count(), 1);
      x.draw_gradients(static_cast<std::uint32_t>(refused));
      y.draw_gradients(static_cast<std::uint32_t>(refused));
      x.step(optimizer);
      y.step(expected);
      for (std::size_t i = 0; i < x.params.size(); ++i) EXPECT_EQ(x.params[i].values, y.params[i].values);
    }
    EXPECT_GE(refused, 2);
    EXPECT_EQ(optimizer.schema().size(), 4U);
    EXPECT_EQ(optimizer.hyper_parameters().group_count(), 3);
  }
}

// The tensors are those of the step before, so that nothing but the failure could make the plan anew. Address sanitizer
// finds what the plan should no longer point to.
TEST(OptimizerState, AfterAnAdditionWithoutMemoryTheTensorsOfTheLastStepAreSteppedAgain) {
  std::int64_t left = -1;
  FirstOrderOptimizer optimizer(make_short_of_memory(&left), rule_of("adam", false), make_schema({{7, 5}, {1000}}));
  FirstOrderOptimizer expected(make_context(), rule_of("adam", false), make_schema({{7, 5}, {1000}}));
  Model<float> x;
  Model<float> y;
  const auto params = x.tensors(x.params);
  const auto grads = x.tensors(x.grads);
  const gradstep_parameter one = described("one", 0);
  {
    Trip trip;
    const gradstep_tensor* p = trip.take(params.data(), params.size());
    const gradstep_tensor* g = trip.take(grads.data(), grads.size());
    trip.begin();
    StepBinding binding;
    for (int round = 0; round < 3; ++round) {
      optimizer.step(binding.bind(optimizer.schema(), p, g, nullptr, params.size()), {});
      left = 0;
      expect_error(GRADSTEP_ERR_OUT_OF_MEMORY, "", [&] { optimizer.add_parameters(&one, 1); });
      left = -1;
    }
  }
  for (int round = 0; round < 3; ++round) y.step(expected);
  EXPECT_EQ(x.params[1].values, y.params[1].values);
}

TEST(OptimizerState, AFailedAdditionChangesNothing) {
  auto optimizer = make_optimizer(adam());
  const std::int64_t before = optimizer->other_bytes();
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back(fmt::format("a name of more than fifteen letters {}", i));
  std::vector<gradstep_parameter> parameters;
  for (const std::string& name : names) parameters.push_back(described(name.c_str(), 7));
  parameters.push_back(described(names[4].c_str()));
  for (int round = 0; round < 3; ++round) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "already taken by parameter 6",
                 [&] { optimizer->add_parameters(parameters.data(), parameters.size()); });
    EXPECT_EQ(optimizer->schema().size(), 2U);
    EXPECT_EQ(optimizer->schema().group_count(), 1);
    EXPECT_EQ(optimizer->hyper_parameters().group_count(), 1);
  }
  EXPECT_LT(optimizer->other_bytes() - before, 50'000);
  Model<float> model;
  model.draw_gradients(0);
  model.step(*optimizer);
  optimizer->add_parameters(parameters.data(), 100);
  EXPECT_EQ(optimizer->schema().size(), 102U);
  EXPECT_EQ(optimizer->hyper_parameters().group_count(), 8);
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
