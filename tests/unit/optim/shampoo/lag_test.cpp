// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Roots that serve some steps later: which ones do is a matter of the step count alone.
#include "unit/optim/shampoo/shampoo_fixture.h"

namespace gradstep::test {
namespace {

gradstep_shampoo_options lagging(std::int32_t lag, std::int64_t root_steps = 1) {
  auto o = shampoo_options();
  o.root_lag = lag;
  o.preconditioning_compute_steps = root_steps;
  return o;
}

std::unique_ptr<Shampoo> with_background_threads(const gradstep_shampoo_options& o, int threads) {
  auto options = default_context_options();
  options.num_threads = 2;
  options.background_threads = threads;
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  return std::make_unique<Shampoo>(std::move(context), o, make_schema(kShapes));
}

TEST(ShampooLag, ALagOfOneIsAStaleRefresh) {
  auto o = shampoo_options();
  o.refresh = GRADSTEP_REFRESH_STALE;
  Model<float> a;
  Model<float> b;
  run(a, *make_shampoo(o), 0, 5);
  run(b, *make_shampoo(lagging(1)), 0, 5);
  expect_equal_params(a, b);
  Model<float> fresh;
  run(fresh, *make_shampoo(shampoo_options()), 0, 5);
  EXPECT_NE(a.params[0].values, fresh.params[0].values);
}

TEST(ShampooLag, RootsOfAStepServeExactlyLagStepsLater) {
  // Statistics do not depend on the parameters, so a fresh optimizer tells what the roots of every step are.
  for (const std::int64_t root_steps : {1, 2, 3}) {
    std::vector<std::vector<float>> roots;  // by number of steps done
    Model<float> fresh_model;
    auto fresh = make_shampoo(lagging(0, root_steps));
    roots.push_back(copy_of_state(*fresh, 0, "preconditioners.0.0"));
    for (std::uint32_t t = 0; t < 12; ++t) {
      run(fresh_model, *fresh, t, t + 1);
      roots.push_back(copy_of_state(*fresh, 0, "preconditioners.0.0"));
    }
    for (const std::int32_t lag : {1, 2, 3, 5}) {
      Model<float> model;
      auto optimizer = make_shampoo(lagging(lag, root_steps));
      for (std::uint32_t t = 0; t < 12; ++t) {
        // The next step uses the roots of step t - lag and earlier: those of the first t - lag + 1 steps.
        const std::size_t done = t + 1 > static_cast<std::uint32_t>(lag) ? t + 1 - static_cast<std::uint32_t>(lag) : 0;
        EXPECT_EQ(copy_of_state(*optimizer, 0, "preconditioners.0.0"), roots[done]) << lag << ", step " << t;
        run(model, *optimizer, t, t + 1);
      }
    }
  }
}

TEST(ShampooLag, NoNumberOfThreadsChangesABit) {
  for (const std::int32_t lag : {1, 3}) {
    Model<float> expected;
    run(expected, *with_background_threads(lagging(lag, 2), 0), 0, 9);
    for (const int threads : {1, 3}) {
      Model<float> model;
      run(model, *with_background_threads(lagging(lag, 2), threads), 0, 9);
      expect_equal_params(model, expected);
    }
  }
}

TEST(ShampooLag, RootsUnderWayAreSavedAndResumed) {
  for (const std::int64_t root_steps : {1, 2}) {
    for (const std::uint32_t until : {1U, 4U, 7U}) {
      const auto o = lagging(3, root_steps);
      auto first = make_shampoo(o);
      Model<float> model;
      run(model, *first, 0, until);
      Model<float> resumed = model;
      Model<float> copied = model;
      auto second = make_shampoo(o, 2);
      Model<float> other;
      run(other, *second, 50, 54);  // has rounds of its own under way
      resume(*first, *second);
      auto third = make_shampoo(o);
      third->copy_state(*first);
      run(model, *first, until, until + 5);
      run(resumed, *second, until, until + 5);
      run(copied, *third, until, until + 5);
      expect_equal_params(resumed, model);
      expect_equal_params(copied, model);
    }
  }
}

TEST(ShampooLag, PendingRootsCountAsState) {
  for (const std::int32_t lag : {1, 2, 4}) {
    const auto o = lagging(lag, 2);
    std::int64_t bytes = 0;
    for (const StoredState& stored : make_shampoo(o)->state().stored()) bytes += stored.array.bytes();
    EXPECT_EQ(bytes, Shampoo::state_bytes(o, make_schema(kShapes))) << lag;
  }
}

TEST(ShampooLag, ASetStepCountInstallsWhatIsPending) {
  auto lagged = make_shampoo(lagging(4));
  auto fresh = make_shampoo(lagging(0));
  Model<float> a;
  Model<float> b;
  run(a, *lagged, 0, 3);
  run(b, *fresh, 0, 3);
  lagged->set_step_count(100);
  EXPECT_EQ(copy_of_state(*lagged, 0, "preconditioners.0.0"), copy_of_state(*fresh, 0, "preconditioners.0.0"));
  run(a, *lagged, 3, 6);
  EXPECT_EQ(metric_of(*lagged, "root_failures"), 0);
}

/// Adds a parameter of 3 x 3.
void add_a_matrix(Shampoo& optimizer) {
  std::int64_t shape[] = {3, 3};
  gradstep_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.name = "added";
  parameter.dtype = to_dlpack(DType::f32);
  parameter.device = {GRADSTEP_DEVICE_CPU, 0};
  parameter.ndim = 2;
  parameter.shape = shape;
  optimizer.add_parameters(&parameter, 1);
}

TEST(ShampooLag, ParametersThatAreAddedDoNotDisturbTheOthersRoots) {
  auto first = make_shampoo(lagging(3));
  auto grown = make_shampoo(lagging(3));
  Model<float> a;
  Model<float> b;
  run(a, *first, 0, 4);
  run(b, *grown, 0, 4);
  add_a_matrix(*grown);
  TestTensor<float> value({3, 3});
  TestTensor<float> grad({3, 3});
  for (std::uint32_t t = 4; t < 9; ++t) {
    run(a, *first, t, t + 1);
    b.draw_gradients(t);
    grad.values = random_values<float>(9, t);
    auto p = Model<float>::tensors(b.params);
    auto g = Model<float>::tensors(b.grads);
    p.push_back(value.tensor());
    g.push_back(grad.tensor());
    host::step(*grown, p.data(), g.data(), nullptr, p.size());
  }
  expect_equal_params(a, b);
}

// What is asked before the next step plans for them finds the roots that are under way.
TEST(ShampooLag, StateIsReadBehindParametersThatAreAdded) {
  auto first = make_shampoo(lagging(1));
  auto grown = make_shampoo(lagging(1));
  Model<float> a;
  Model<float> b;
  run(a, *first, 0, 3);
  run(b, *grown, 0, 3);
  add_a_matrix(*grown);
  EXPECT_EQ(metric_of(*grown, "root_failures"), metric_of(*first, "root_failures"));
  EXPECT_EQ(copy_of_state(*grown, 0, "preconditioners.0.0"), copy_of_state(*first, 0, "preconditioners.0.0"));
}

TEST(ShampooLag, PreconditioningMayBeSwitchedOffAndOnMeanwhile) {
  Model<float> models[2];
  for (const int threads : {0, 2}) {
    Model<float>& model = models[threads / 2];
    auto optimizer = with_background_threads(lagging(3), threads);
    run(model, *optimizer, 0, 3);
    optimizer->set_schedule(-1, "precondition", Schedule(0));
    run(model, *optimizer, 3, 5);
    optimizer->set_schedule(-1, "precondition", Schedule(1));
    run(model, *optimizer, 5, 9);
    EXPECT_EQ(metric_of(*optimizer, "root_failures"), 0);
  }
  expect_equal_params(models[0], models[1]);
}

TEST(ShampooLag, CanBeDestroyedWhileRootsAreUnderWay) {
  for (int k = 0; k < 20; ++k) {
    Model<float> model;
    auto optimizer = with_background_threads(lagging(5), 2);
    run(model, *optimizer, 0, 3);
  }
}

}  // namespace
}  // namespace gradstep::test
