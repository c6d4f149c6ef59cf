// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What Shampoo keeps and computes in: f64 for f64 parameters, bf16 state, rounding at random. (Numbers of f64 beside a
// reference: tests/python/test_shampoo.py and test_shampoo_eigenbasis.py.)
#include "unit/optim/shampoo/shampoo_fixture.h"
#include "unit/ranks.h"

namespace gradstep::test {
namespace {

/// The modes that keep state in different ways, and compute roots in different ways.
std::vector<gradstep_shampoo_options> modes() {
  std::vector<gradstep_shampoo_options> all(6, shampoo_options());
  for (auto& o : all) o.weight_decay = 0.1;
  all[1].graft_type = GRADSTEP_GRAFT_TYPE_ADAM;
  all[1].root_method = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
  all[2].graft_type = GRADSTEP_GRAFT_TYPE_SQRT_N;
  all[2].root_lag = 2;
  all[3].graft_type = GRADSTEP_GRAFT_TYPE_ADAGRAD_NORMALIZED;
  all[3].root_retries = 0;
  all[4].eigenvalue_corrected = 1;
  all[4].preconditioning_compute_steps = 2;
  all[5].root_precision = GRADSTEP_ROOT_PRECISION_F32;
  return all;
}

TEST(ShampooStorage, F64ParametersHaveTheirStateInF64) {
  for (const auto& o : modes()) {
    const auto optimizer = make_shampoo(o, 1, kShapes, DType::f64);
    for (const StoredState& stored : optimizer->state().stored()) EXPECT_EQ(stored.array.dtype, DType::f64);
    EXPECT_EQ(bytes_held(*optimizer), Shampoo::state_bytes(o, make_schema(kShapes, DType::f64)));
  }
}

TEST(ShampooStorage, AfterThreeStepsNothingIsAllocated) {
  for (auto o : modes()) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      o.state_dtype = dtype == DType::f32 ? GRADSTEP_STATE_DTYPE_BF16 : GRADSTEP_STATE_DTYPE_NATIVE;
      int allocations = 0;
      Shampoo optimizer(make_counting_context(&allocations, 1), o, make_schema(kShapes, dtype));
      Model<double> wide;
      Model<float> narrow;
      int allocations_before = 0;
      std::int64_t bytes_before = 0;
      for (std::uint32_t t = 0; t < 20; ++t) {
        if (t == 3) {
          allocations_before = allocations;
          bytes_before = optimizer.other_bytes();
        }
        if (dtype == DType::f64) {
          wide.draw_gradients(t);
          wide.step(optimizer);
        } else {
          narrow.draw_gradients(t);
          narrow.step(optimizer);
        }
      }
      EXPECT_EQ(allocations, allocations_before) << o.graft_type;
      EXPECT_EQ(optimizer.other_bytes(), bytes_before) << o.graft_type;
    }
  }
}

TEST(ShampooStorage, F64StepsAreWhereF32StepsAre) {
  // f32 rounds to 6e-8 and its roots amplify that; f64 that were f32 somewhere would be equal.
  for (const auto& o : modes()) {
    if (o.eigenvalue_corrected != 0) continue;  // any basis is one of the zeros of a statistic short of rank
    Model<float> narrow;
    Model<double> wide;
    const auto narrow_optimizer = make_shampoo(o);
    const auto wide_optimizer = make_shampoo(o, 1, kShapes, DType::f64);
    for (std::size_t k = 0; k < kShapes.size(); ++k) {
      wide.params[k].values.assign(narrow.params[k].values.begin(), narrow.params[k].values.end());
    }
    for (std::uint32_t t = 0; t < 6; ++t) {
      narrow.draw_gradients(t);
      for (std::size_t k = 0; k < kShapes.size(); ++k) {
        wide.grads[k].values.assign(narrow.grads[k].values.begin(), narrow.grads[k].values.end());
      }
      narrow.step(*narrow_optimizer);
      wide.step(*wide_optimizer);
    }
    double worst = 0;
    for (std::size_t k = 0; k < kShapes.size(); ++k) {
      for (std::size_t i = 0; i < wide.params[k].values.size(); ++i) {
        worst = std::max(worst, std::abs(wide.params[k].values[i] - static_cast<double>(narrow.params[k].values[i])));
      }
    }
    EXPECT_LT(worst, 1e-3) << o.graft_type;
    EXPECT_GT(worst, 1e-9) << o.graft_type;
  }
}

TEST(ShampooStorage, ThreadsAndRanksChangeNoBitOfF64) {
  for (const auto& o : modes()) {
    const auto stepped = [&](Optimizer& optimizer) {
      Model<double> model;
      for (std::uint32_t t = 0; t < 5; ++t) {
        model.draw_gradients(t);
        model.step(optimizer);
      }
      return std::vector{model.params[0].values, model.params[1].values};
    };
    const auto expected = stepped(*make_shampoo(o, 1, kShapes, DType::f64));
    EXPECT_EQ(stepped(*make_shampoo(o, 3, kShapes, DType::f64)), expected);
    for (const std::int32_t what :
         {GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED, GRADSTEP_SHARDED_PRECONDITIONERS_OWNED}) {
      if (o.eigenvalue_corrected != 0 && what == GRADSTEP_SHARDED_PRECONDITIONERS_OWNED) continue;
      run_ranks(3, [&](Communicator& comm) {
        gradstep_sharding_options options{};
        options.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
        options.preconditioners = what;
        const auto optimizer = make_shampoo(o, 1, kShapes, DType::f64);
        optimizer->attach(&comm, options);
        EXPECT_EQ(stepped(*optimizer), expected);
      });
    }
  }
}

/// p0 (7, 5) in f64, p1 (9, 3) in f32, p2 (5, 5) in f64, p3 (3) in bf16.
struct MixedModel {
  TestTensor<double> first{{7, 5}, random_values<double>(35, 1)};
  TestTensor<float> second{{9, 3}, random_values<float>(27, 2)};
  TestTensor<double> third{{5, 5}, random_values<double>(25, 3)};
  TestTensor<kernels::BFloat16> fourth{{3}, kernels::to_bfloat16(1)};

  static Schema schema() {
    std::vector<gradstep_parameter> parameters(4, gradstep_parameter{});
    static const std::int64_t shapes[4][2] = {{7, 5}, {9, 3}, {5, 5}, {3, 1}};
    static const char* const names[] = {"p0", "p1", "p2", "p3"};
    static const DType dtypes[] = {DType::f64, DType::f32, DType::f64, DType::bf16};
    for (std::size_t i = 0; i < 4; ++i) {
      gradstep_parameter& p = parameters[i];
      p.struct_size = sizeof p;
      p.name = names[i];
      p.ndim = i < 3 ? 2 : 1;
      p.shape = shapes[i];
      p.dtype = to_dlpack(dtypes[i]);
      p.device = kDeviceOfHandles;
    }
    return Schema(parameters.data(), parameters.size());
  }
  void step(Optimizer& optimizer, std::uint32_t seed) {
    TestTensor<double> g0({7, 5}, random_values<double>(35, seed));
    TestTensor<float> g1({9, 3}, random_values<float>(27, seed + 1));
    TestTensor<double> g2({5, 5}, random_values<double>(25, seed + 2));
    TestTensor<float> g3({3}, random_values<float>(3, seed + 3));
    const gradstep_tensor p[] = {first.tensor(), second.tensor(), third.tensor(), fourth.tensor()};
    const gradstep_tensor g[] = {g0.tensor(), g1.tensor(), g2.tensor(), g3.tensor()};
    host::step(optimizer, p, g, nullptr, 4);
  }
  bool operator==(const MixedModel& other) const {
    return first.values == other.first.values && second.values == other.second.values &&
           third.values == other.third.values && bits_of(fourth.values) == bits_of(other.fourth.values);
  }
};

TEST(ShampooStorage, DtypesMixInOneModelOverRanksAndSavedState) {
  for (const auto& o : modes()) {
    MixedModel expected;
    Shampoo alone(make_context(), o, MixedModel::schema());
    for (std::uint32_t t = 0; t < 6; ++t) expected.step(alone, 10 * t);
    for (const std::int32_t what :
         {GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED, GRADSTEP_SHARDED_PRECONDITIONERS_OWNED}) {
      if (o.eigenvalue_corrected != 0 && what == GRADSTEP_SHARDED_PRECONDITIONERS_OWNED) continue;
      run_ranks(3, [&](Communicator& comm) {
        gradstep_sharding_options options{};
        options.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
        options.preconditioners = what;
        MixedModel model;
        Shampoo optimizer(make_context(), o, MixedModel::schema());
        optimizer.attach(&comm, options);
        for (std::uint32_t t = 0; t < 6; ++t) model.step(optimizer, 10 * t);
        EXPECT_TRUE(model == expected) << comm.rank() << " " << what;
      });
    }
    MixedModel resumed;
    Shampoo before(make_context(), o, MixedModel::schema());
    for (std::uint32_t t = 0; t < 3; ++t) resumed.step(before, 10 * t);
    Shampoo after(make_context(), o, MixedModel::schema());
    resume(before, after);
    for (std::uint32_t t = 3; t < 6; ++t) resumed.step(after, 10 * t);
    EXPECT_TRUE(resumed == expected);
  }
}

TEST(ShampooStorage, Bf16IsForWhatIsElementWise) {
  for (auto o : modes()) {
    o.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
    const auto optimizer = make_shampoo(o);
    for (const StoredState& stored : optimizer->state().stored()) {
      const bool is_matrix = stored.name.find('.') != std::string::npos;
      EXPECT_EQ(stored.array.dtype, is_matrix ? DType::f32 : DType::bf16) << stored.name;
    }
    EXPECT_EQ(bytes_held(*optimizer), Shampoo::state_bytes(o, make_schema(kShapes)));
  }
}

TEST(ShampooStorage, Bf16StaysNearTheWideTrajectory) {
  // A momentum in bf16 is off by 2^-9 at most, so a step of 0.01 of a direction of about 10 is by some 2e-4 of what it
  // moves; second moments under a root by half as much.
  for (auto o : modes()) {
    Model<float> exact;
    run(exact, *make_shampoo(o), 0, 8);
    o.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
    for (const std::int32_t stochastic : {0, 1}) {
      o.stochastic_rounding = stochastic;
      Model<float> model;
      run(model, *make_shampoo(o), 0, 8);
      const Model<float> start;
      double error = 0;
      double moved = 0;
      for (std::size_t i = 0; i < 35; ++i) {
        error = std::max(error, std::abs(double{model.params[0].values[i]} - double{exact.params[0].values[i]}));
        moved = std::max(moved, std::abs(double{exact.params[0].values[i]} - double{start.params[0].values[i]}));
      }
      EXPECT_LT(error, 0.02 * moved) << o.graft_type << stochastic;
      EXPECT_GT(error, 0) << o.graft_type << stochastic;
    }
  }
}

TEST(ShampooStorage, RoundingAtRandomRepeatsBySeedOnAnyThreadsAndRanks) {
  for (auto o : modes()) {
    o.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
    o.stochastic_rounding = 1;
    const std::vector<std::int64_t> shape = {40, 26};
    const auto stepped = [&](Optimizer& optimizer) {
      NarrowModel model(shape);
      for (std::uint32_t t = 0; t < 5; ++t) model.step(optimizer, t);
      return bits_of(model.param.values);
    };
    o.seed = 1;
    const auto expected = stepped(*make_shampoo(o, 1, {shape}, DType::bf16));
    EXPECT_EQ(stepped(*make_shampoo(o, 5, {shape}, DType::bf16)), expected);
    run_ranks(2, [&](Communicator& comm) {
      const auto optimizer = make_shampoo(o, 1, {shape}, DType::bf16);
      gradstep_sharding_options options{};
      options.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
      optimizer->attach(&comm, options);
      EXPECT_EQ(stepped(*optimizer), expected);
    });
    o.seed = 2;
    EXPECT_NE(stepped(*make_shampoo(o, 1, {shape}, DType::bf16)), expected);
  }
}

// Without it, steps that are smaller than half the distance of neighbours change nothing at all.
TEST(ShampooStorage, RoundingAtRandomLetsSmallStepsMoveNarrowParameters) {
  const auto moved = [](std::int32_t stochastic) {
    auto o = shampoo_options();
    o.graft_type = GRADSTEP_GRAFT_TYPE_SQRT_N;  // steps of about the learning rate
    o.beta1 = 0;
    o.precondition = 0;
    o.learning_rate = 1e-4;
    o.stochastic_rounding = stochastic;
    const auto optimizer = make_shampoo(o, 1, {{1000}}, DType::bf16);
    TestTensor<kernels::BFloat16> param({1000}, kernels::to_bfloat16(1));
    TestTensor<float> grad({1000}, 1.0F);
    const gradstep_tensor p = param.tensor();
    const gradstep_tensor g = grad.tensor();
    for (int t = 0; t < 50; ++t) host::step(*optimizer, &p, &g, nullptr, 1);
    double sum = 0;
    for (const float value : widen(param.values)) sum += 1 - double{value};
    return sum / 1000;
  };
  EXPECT_EQ(moved(0), 0);
  // 50 steps of 1e-4. A step moves by 2^-8 or not at all: of 1000 elements the mean is off by 1.4e-4, one in three.
  EXPECT_NEAR(moved(1), 5e-3, 6e-4);
}

TEST(ShampooStorage, WhatDoesNotGoTogetherIsRefused) {
  const auto refuse = [](const char* text, DType dtype, auto change) {
    auto o = shampoo_options();
    change(o);
    expect_error(GRADSTEP_ERR_UNSUPPORTED, text, [&] { make_shampoo(o, 1, {{6, 5}}, dtype); });
    expect_error(GRADSTEP_ERR_UNSUPPORTED, text, [&] { Shampoo::state_bytes(o, make_schema({{6, 5}}, dtype)); });
  };
  refuse("int8", DType::f32, [](auto& o) { o.state_dtype = GRADSTEP_STATE_DTYPE_INT8; });
  refuse("'p0' is f64", DType::f64, [](auto& o) { o.state_dtype = GRADSTEP_STATE_DTYPE_BF16; });
  refuse("quantize_momentum", DType::f64, [](auto& o) { o.quantize_momentum = 1; });
  refuse("quantize_statistics", DType::f64, [](auto& o) { o.quantize_statistics = 1; });
  auto o = shampoo_options();
  o.state_dtype = 9;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "state_dtype", [&] { make_shampoo(o); });
}

}  // namespace
}  // namespace gradstep::test
