// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo.h"

#include "kernels/convert.h"
#include "unit/optim/shampoo/shampoo_fixture.h"
#include "unit/recorded_log.h"

namespace gradstep::test {
namespace {

TEST(Shampoo, TheNumberOfThreadsChangesNoBit) {
  Model<float> one;
  Model<float> three;
  run(one, *make_shampoo(shampoo_options(), 1), 0, 6);
  run(three, *make_shampoo(shampoo_options(), 3), 0, 6);
  for (std::size_t k = 0; k < kShapes.size(); ++k) EXPECT_EQ(one.params[k].values, three.params[k].values);
}

TEST(Shampoo, ThreadsThatShareABlockChangeNoBit) {
  auto o = shampoo_options();
  o.block_size = 1024;
  o.root_precision = GRADSTEP_ROOT_PRECISION_F32;
  // The small ones are tasks of their own beside it.
  const std::vector<std::vector<std::int64_t>> shapes = {{40, 30}, {520, 540}, {64, 64}};
  for (const int eigenvalue_corrected : {0, 1}) {
    o.eigenvalue_corrected = eigenvalue_corrected;
    const auto stepped = [&](int threads) {
      Model<float> model;
      model.params.clear();
      model.grads.clear();
      for (const std::vector<std::int64_t>& shape : shapes) {
        model.params.emplace_back(shape, random_values<float>(static_cast<std::size_t>(shape[0] * shape[1]), 1));
        model.grads.emplace_back(shape);
      }
      const auto optimizer = make_shampoo(o, threads, shapes);
      run(model, *optimizer, 0, 2);  // first bases, then refined ones
      const std::int64_t held = optimizer->other_bytes();
      run(model, *optimizer, 2, 5);
      EXPECT_EQ(optimizer->other_bytes(), held) << threads;
      std::vector<std::vector<float>> values;
      for (const TestTensor<float>& param : model.params) values.push_back(param.values);
      return values;
    };
    EXPECT_TRUE(stepped(1) == stepped(5)) << eigenvalue_corrected;
  }
}

TEST(Shampoo, AModelWithoutPreconditionedParametersSteps) {
  auto o = shampoo_options();
  o.skip_preconditioning_dim_size_gt = 2;
  o.beta1 = 0;
  o.graft_type = GRADSTEP_GRAFT_TYPE_SGD;
  o.nesterov = 0;
  auto optimizer = make_shampoo(o);
  // Without a preconditioner, SGD grafting is SGD.
  const ReferenceRule sgd = [&](double p, double g, double*, std::int64_t) { return p - o.learning_rate * g; };
  EXPECT_LT(run_beside<float>(*optimizer, sgd), kTolerance32);
  EXPECT_EQ(optimizer->state().stored().size(), kShapes.size());
}

TEST(Shampoo, MaximizeNegatesGradients) {
  for (const std::int32_t eigenvalue_corrected : {0, 1}) {
    auto o = shampoo_options();
    o.eigenvalue_corrected = eigenvalue_corrected;
    o.weight_decay = 0.1;
    const auto minimizing = make_shampoo(o);
    o.maximize = 1;
    const auto maximizing = make_shampoo(o);
    Model<float> down;
    Model<float> up;
    for (std::uint32_t t = 0; t < 4; ++t) {
      down.draw_gradients(t);
      up.draw_gradients(t);
      for (auto& gradient : down.grads) {
        for (float& g : gradient.values) g = -g;
      }
      down.step(*minimizing);
      up.step(*maximizing);
    }
    expect_equal_params(down, up);
  }
}

TEST(Shampoo, AGroupWithoutPreconditioningRunsTheGraftingRule) {
  auto o = shampoo_options();
  o.graft_type = GRADSTEP_GRAFT_TYPE_ADAM;
  o.precondition = 0;
  o.beta1 = 0;
  o.nesterov = 0;
  o.weight_decay = 0.1;
  o.decoupled_weight_decay = 1;
  o.diagonal_epsilon = 1e-8;
  const ReferenceRule adamw = [&](double p, double g, double* s, std::int64_t t) {
    s[0] = 0.9 * s[0] + 0.1 * g;
    s[1] = 0.999 * s[1] + 0.001 * g * g;
    const double n = static_cast<double>(t + 1);
    const double direction = s[0] / (1 - std::pow(0.9, n)) / (std::sqrt(s[1] / (1 - std::pow(0.999, n))) + 1e-8);
    return p - o.learning_rate * (direction + o.weight_decay * p);
  };
  // 1 - 0.999 and its like are rounded to f32.
  EXPECT_LT(run_beside<float>(*make_shampoo(o), adamw), 10 * kTolerance32);
}

TEST(Shampoo, PreconditioningCanBeSwitchedOnByGroup) {
  auto o = shampoo_options();
  o.precondition = 0;
  auto optimizer = make_shampoo(o);
  Model<float> model;
  run(model, *optimizer, 0, 2);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "statistics.0.0", [&] { optimizer->state().view(0, "statistics.0.0"); });
  optimizer->set_schedule(-1, "precondition", Schedule(1));
  run(model, *optimizer, 2, 4);
  EXPECT_EQ(optimizer->state().view(0, "statistics.0.0").size, 16);
  EXPECT_EQ(metric_of(*optimizer, "root_failures"), 0);
}

TEST(Shampoo, StatesAreShapedAsTheyAre) {
  auto optimizer = make_shampoo(shampoo_options());
  EXPECT_EQ(optimizer->state().view(0, "momentum").size, 35);
  EXPECT_EQ(optimizer->state().view(0, "statistics.1.1").size, 1);  // 5 = 4 + 1
  EXPECT_EQ(optimizer->state().shape(0, "preconditioners.2.0")[0], 3);
  EXPECT_EQ(optimizer->state().shape(0, "momentum").size(), 2U);
  EXPECT_EQ(static_cast<const float*>(optimizer->state().view(0, "preconditioners.0.0").data)[0], 1.0F);
  EXPECT_EQ(static_cast<const float*>(optimizer->state().view(0, "statistics.0.0").data)[5], 1e-6F);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "statistics.4.0", [&] { optimizer->state().view(0, "statistics.4.0"); });
  expect_error(GRADSTEP_ERR_INVALID_STATE, "statistics.00.0", [&] { optimizer->state().view(0, "statistics.00.0"); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "exp_avg", [&] { optimizer->state().view(0, "exp_avg"); });
}

TEST(Shampoo, StateBytesAreThoseOfTheStoredState) {
  for (const std::int32_t coded : {0, 1}) {
    for (const std::int32_t graft : {GRADSTEP_GRAFT_TYPE_SGD, GRADSTEP_GRAFT_TYPE_SQRT_N, GRADSTEP_GRAFT_TYPE_ADAM}) {
      for (const double precondition : {0.0, 1.0}) {
        auto o = shampoo_options();
        o.graft_type = graft;
        o.precondition = precondition;
        o.quantize_momentum = o.quantize_statistics = coded;
        EXPECT_EQ(bytes_held(*make_shampoo(o)), Shampoo::state_bytes(o, make_schema(kShapes)));
      }
    }
  }
}

TEST(Shampoo, AfterThreeStepsNothingIsAllocatedAndNothingGrows) {
  gradstep_shampoo_options modes[7];
  std::fill(std::begin(modes), std::end(modes), shampoo_options());
  modes[1].root_lag = 2;
  modes[2].quantize_momentum = modes[2].quantize_statistics = 1;
  modes[3].eigenvalue_corrected = 1;
  modes[4].root_method = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
  modes[5].statistics = modes[5].ridge = 1;
  modes[6].statistics = modes[6].quantize_statistics = 1;
  for (const gradstep_shampoo_options& o : modes) {
    int allocations = 0;
    Shampoo optimizer(make_counting_context(&allocations, 1), o, make_schema(kShapes));
    Model<float> model;
    run(model, optimizer, 0, 3);
    const int allocations_before = allocations;
    const std::int64_t bytes_before = optimizer.other_bytes();
    run(model, optimizer, 3, 100);
    EXPECT_EQ(allocations, allocations_before);
    EXPECT_EQ(optimizer.other_bytes(), bytes_before);
  }
}

TEST(Shampoo, TheCpuComputesProductsInF32WhateverTheyMayBe) {
  auto o = shampoo_options();
  auto exact = make_shampoo(o);
  o.product_precision = GRADSTEP_PRODUCT_PRECISION_TF32;
  auto rounding = make_shampoo(o);
  Model<float> a;
  Model<float> b;
  run(a, *exact, 0, 4);
  run(b, *rounding, 0, 4);
  for (std::size_t k = 0; k < kShapes.size(); ++k) EXPECT_EQ(a.params[k].values, b.params[k].values);
}

TEST(Shampoo, ResumesFromASavedStateWithTheSameBits) {
  for (const std::int32_t coded : {0, 1}) {
    auto o = shampoo_options();
    o.quantize_momentum = o.quantize_statistics = coded;
    o.preconditioning_compute_steps = 2;
    auto first = make_shampoo(o);
    Model<float> model;
    run(model, *first, 0, 3);
    const std::string bytes = saved_bytes("optimizer", {{"", save_optimizer(*first)}});
    auto second = make_shampoo(o, 2);
    const StateFile file = read_bytes(bytes);
    LoadedPart part(file, "");
    load_optimizer(part, *second)();
    Model<float> resumed = model;
    run(model, *first, 3, 6);
    run(resumed, *second, 3, 6);
    for (std::size_t k = 0; k < kShapes.size(); ++k) EXPECT_EQ(model.params[k].values, resumed.params[k].values);
    auto third = make_shampoo(o);
    third->copy_state(*first);
    run(model, *first, 6, 7);
    run(resumed, *third, 6, 7);
    for (std::size_t k = 0; k < kShapes.size(); ++k) EXPECT_EQ(model.params[k].values, resumed.params[k].values);
  }
}

TEST(Shampoo, StateOfOtherBlocksIsRefused) {
  auto small = make_shampoo(shampoo_options());
  auto o = shampoo_options();
  o.block_size = 5;
  auto large = make_shampoo(o);
  const StateFile file = read_bytes(saved_bytes("optimizer", {{"", save_optimizer(*small)}}));
  LoadedPart part(file, "");
  expect_error(GRADSTEP_ERR_MISMATCH, "statistics", [&] { load_optimizer(part, *large); });
}

TEST(Shampoo, CodedStateIsReadAndWrittenByCopy) {
  auto o = shampoo_options();
  o.quantize_momentum = o.quantize_statistics = 1;
  auto optimizer = make_shampoo(o);
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "codes", [&] { optimizer->state().view(0, "momentum"); });
  TestTensor<float> values({4, 4});
  for (std::size_t i = 0; i < 16; ++i) values.values[i] = i % 5 == 0 ? 0.1234567F : static_cast<float>(i) * 0.01F;
  Array host{values.values.data(), 16, DType::f32, 0, nullptr, nullptr};
  optimizer->state().set(0, "statistics.0.0", host);
  const std::vector<float> before = values.values;
  values.values.assign(16, 0.0F);
  optimizer->state().get(0, "statistics.0.0", host);
  for (std::size_t i = 0; i < 16; ++i) {
    if (i % 5 == 0) {
      EXPECT_EQ(values.values[i], before[i]);  // the diagonal is exact
    } else {
      EXPECT_NEAR(values.values[i], before[i], 0.14 / 32767);
    }
  }
}

TEST(Shampoo, AnAbsentGradientLeavesParameterAndStateAlone) {
  auto optimizer = make_shampoo(shampoo_options());
  Model<float> model;
  run(model, *optimizer, 0, 2);
  const auto before = model.params[0].values;
  std::vector<float> statistic(16);
  const Array host{statistic.data(), 16, DType::f32, 0, nullptr, nullptr};
  optimizer->state().get(0, "statistics.0.0", host);
  const std::vector<float> statistic_before = statistic;
  const auto p = Model<float>::tensors(model.params);
  auto g = Model<float>::tensors(model.grads);
  g[0].data = nullptr;
  host::step(*optimizer, p.data(), g.data(), nullptr, p.size());
  EXPECT_EQ(model.params[0].values, before);
  optimizer->state().get(0, "statistics.0.0", host);
  EXPECT_EQ(statistic, statistic_before);
  EXPECT_EQ(optimizer->step_count(), 3);
}

TEST(Shampoo, StepInPlaceIsParameterPlusUpdate) {
  Model<float> stepped;
  Model<float> updated;
  auto a = make_shampoo(shampoo_options());
  auto b = make_shampoo(shampoo_options());
  for (std::uint32_t t = 0; t < 4; ++t) {
    stepped.draw_gradients(t);
    updated.draw_gradients(t);
    stepped.step(*a);
    updated.update(*b);
    for (std::size_t k = 0; k < kShapes.size(); ++k) {
      for (std::size_t i = 0; i < updated.params[k].values.size(); ++i) {
        updated.params[k].values[i] += updated.updates[k].values[i];
      }
      EXPECT_EQ(stepped.params[k].values, updated.params[k].values);
    }
  }
}

TEST(Shampoo, UpdatesMayBeTheGradients) {
  for (const std::int32_t graft :
       {GRADSTEP_GRAFT_TYPE_SGD, GRADSTEP_GRAFT_TYPE_ADAGRAD, GRADSTEP_GRAFT_TYPE_RMSPROP_NORMALIZED,
        GRADSTEP_GRAFT_TYPE_SQRT_N, GRADSTEP_GRAFT_TYPE_ADAM, GRADSTEP_GRAFT_TYPE_NONE}) {
    gradstep_shampoo_options o = shampoo_options();
    o.graft_type = graft;
    Model<float> apart;
    Model<float> same;
    auto a = make_shampoo(o);
    auto b = make_shampoo(o);
    for (std::uint32_t t = 0; t < 3; ++t) {
      apart.draw_gradients(t);
      same.draw_gradients(t);
      apart.update(*a);
      const auto grads = Model<float>::tensors(same.grads);
      host::step(*b, Model<float>::tensors(same.params).data(), grads.data(), grads.data(), grads.size(), StepGuards{});
      for (std::size_t k = 0; k < kShapes.size(); ++k) {
        EXPECT_EQ(same.grads[k].values, apart.updates[k].values) << "graft " << graft;
      }
    }
  }
}

TEST(Shampoo, ANonFiniteStatisticKeepsThePreconditionerAndIsCounted) {
  for (const std::int32_t method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    auto o = shampoo_options();
    o.root_method = method;
    auto optimizer = make_shampoo(o);
    Model<float> model;
    run(model, *optimizer, 0, 2);
    const Array root = optimizer->state().view(0, "preconditioners.0.0");
    const std::vector<float> before(static_cast<float*>(root.data), static_cast<float*>(root.data) + root.size);
    model.draw_gradients(2);
    model.grads[0].values[0] = std::numeric_limits<float>::quiet_NaN();
    model.step(*optimizer);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), static_cast<const float*>(root.data)));
    EXPECT_EQ(metric_of(*optimizer, "root_failures"), 2);  // both axes of the first block
    EXPECT_EQ(metric_of(*optimizer, "preconditioner_age"), 2);
  }
}

TEST(Shampoo, AccessoryTensorTypesAreConverted) {
  auto o = shampoo_options();
  auto optimizer = make_shampoo(o, 2, {{6, 5}}, DType::bf16);
  const kernels::BFloat16 one = kernels::to_bfloat16(1);
  TestTensor<kernels::BFloat16> param({6, 5}, one);
  TestTensor<kernels::BFloat16> grad({6, 5}, one);
  const gradstep_tensor p = param.tensor();
  const gradstep_tensor g = grad.tensor();
  EXPECT_TRUE(host::step(*optimizer, &p, &g, nullptr, 1).applied);
  for (const float value : widen(param.values)) EXPECT_LT(value, 1);
}

TEST(Shampoo, MasterWeightsStepAsF32ParametersDo) {
  for (const std::int32_t corrected : {0, 1}) {
    auto o = shampoo_options();
    o.learning_rate = 1e-4;  // less than bf16 resolves
    o.eigenvalue_corrected = corrected;
    auto wide = make_shampoo(o, 1, {{6, 5}});
    o.master_weights = 1;
    auto narrow = make_shampoo(o, 1, {{6, 5}}, DType::bf16);
    NarrowModel pair({6, 5});
    for (std::uint32_t t = 0; t < 6; ++t) {
      pair.step_twin(*wide, t);
      pair.step(*narrow, t);
      EXPECT_EQ(copy_of_state(*narrow, 0, "master_weights"), pair.twin.values);
      EXPECT_EQ(bits_of(pair.param.values), bits_of(to_bfloat16(pair.twin.values)));
    }
    // What the host writes, the master takes over.
    pair.param.values[7] = kernels::to_bfloat16(3);
    pair.twin.values[7] = 3;
    pair.step_twin(*wide, 7);
    pair.step(*narrow, 7);
    EXPECT_EQ(copy_of_state(*narrow, 0, "master_weights"), pair.twin.values);
    auto resumed = make_shampoo(o, 2, {{6, 5}}, DType::bf16);
    resume(*narrow, *resumed);
    pair.step_twin(*wide, 8);
    pair.step(*resumed, 8);
    EXPECT_EQ(copy_of_state(*resumed, 0, "master_weights"), pair.twin.values);
    EXPECT_EQ(bytes_held(*narrow), Shampoo::state_bytes(o, make_schema({{6, 5}}, DType::bf16)));
  }
}

TEST(Shampoo, MasterWeightsGiveNoUpdates) {
  auto o = shampoo_options();
  o.master_weights = 1;
  auto optimizer = make_shampoo(o, 1, {{6, 5}}, DType::bf16);
  NarrowModel model({6, 5});
  TestTensor<kernels::BFloat16> update({6, 5});
  const gradstep_tensor p = model.param.tensor();
  const gradstep_tensor grad = model.grad.tensor();
  const gradstep_tensor updates = update.tensor();
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "master weights", [&] { host::step(*optimizer, &p, &grad, &updates, 1); });
}

TEST(Shampoo, ScalarsAndEmptyParametersStep) {
  auto optimizer = make_shampoo(shampoo_options(), 2, {{}, {0, 3}, {2}});
  TestTensor<float> scalar({}, 1.0F);
  TestTensor<float> empty({0, 3});
  TestTensor<float> vector({2}, 1.0F);
  TestTensor<float> one({}, 1.0F);
  TestTensor<float> ones({2}, 1.0F);
  const gradstep_tensor p[] = {scalar.tensor(), empty.tensor(), vector.tensor()};
  const gradstep_tensor g[] = {one.tensor(), empty.tensor(), ones.tensor()};
  host::step(*optimizer, p, g, nullptr, 3);
  EXPECT_LT(scalar.values[0], 1);
  EXPECT_LT(vector.values[1], 1);
  auto o = shampoo_options();
  o.quantize_momentum = 1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "scalar", [&] { make_shampoo(o, 1, {{}}); });
}

TEST(Shampoo, IllegalOptionsAreRefused) {
  const auto refuses = [](gradstep_status status, const char* part, const auto& change) {
    auto o = shampoo_options();
    change(o);
    expect_error(status, part, [&] { make_shampoo(o); });
  };
  constexpr auto kBad = GRADSTEP_ERR_INVALID_ARGUMENT;
  constexpr auto kMissing = GRADSTEP_ERR_UNSUPPORTED;
  refuses(kBad, "learning_rate", [](auto& o) { o.learning_rate = NAN; });
  refuses(kBad, "exponent_override: is -1, expected 0 to 1024", [](auto& o) { o.exponent_override = -1; });
  refuses(kBad, "exponent_override: is 1025, expected 0 to 1024", [](auto& o) { o.exponent_override = 1025; });
  refuses(kBad, "beta1", [](auto& o) { o.beta1 = 1; });
  refuses(kBad, "beta2", [](auto& o) { o.beta2 = 1.5; });
  refuses(kBad, "matrix_epsilon", [](auto& o) { o.matrix_epsilon = -1; });
  refuses(kBad, "diagonal_epsilon", [](auto& o) { o.diagonal_epsilon = NAN; });
  refuses(kBad, "weight_decay", [](auto& o) { o.weight_decay = -1; });
  refuses(kBad, "inverse_failure_threshold", [](auto& o) { o.inverse_failure_threshold = -1; });
  refuses(kBad, "clip_by_scaled_gradient_norm", [](auto& o) { o.clip_by_scaled_gradient_norm = -1; });
  refuses(kBad, "graft_beta1", [](auto& o) { o.graft_beta1 = 1; });
  refuses(kBad, "graft_beta2", [](auto& o) { o.graft_beta2 = -1; });
  refuses(kBad, "precondition", [](auto& o) { o.precondition = -1; });
  refuses(kBad, "graft_type", [](auto& o) { o.graft_type = 8; });
  refuses(kBad, "block_size", [](auto& o) { o.block_size = 0; });
  refuses(kBad, "start_preconditioning_step", [](auto& o) { o.start_preconditioning_step = -1; });
  refuses(kBad, "preconditioning_compute_steps", [](auto& o) { o.preconditioning_compute_steps = 0; });
  refuses(kBad, "statistics_compute_steps", [](auto& o) { o.statistics_compute_steps = 0; });
  refuses(kBad, "skip_preconditioning_dim_size_gt", [](auto& o) { o.skip_preconditioning_dim_size_gt = 0; });
  refuses(kBad, "exponent_override", [](auto& o) { o.exponent_override = -1; });
  refuses(kBad, "root_method", [](auto& o) { o.root_method = 3; });
  refuses(kBad, "root_precision", [](auto& o) { o.root_precision = -1; });
  refuses(kBad, "product_precision", [](auto& o) { o.product_precision = 2; });
  refuses(kBad, "root_padding", [](auto& o) { o.root_padding = 2; });
  refuses(kBad, "root_retries", [](auto& o) { o.root_retries = -1; });
  refuses(kBad, "root_lag", [](auto& o) { o.root_lag = -1; });
  refuses(kBad, "refresh", [](auto& o) { o.refresh = 2; });
  refuses(kBad, "one_sided", [](auto& o) { o.one_sided = 3; });
  refuses(kBad, "statistics: is 3, expected 0 (gradients), 1 (kl) or 2 (kl_mean)", [](auto& o) { o.statistics = 3; });
  refuses(kBad, "ridge: is -1, expected 0 (relative) or 1 (absolute)", [](auto& o) { o.ridge = -1; });
  refuses(kBad, "root_lag", [](auto& o) { o.root_lag = 1001; });
  refuses(kMissing, "root_lag", [](auto& o) { o.eigenvalue_corrected = o.root_lag = 1; });
  refuses(kMissing, "quantize_momentum", [](auto& o) { o.eigenvalue_corrected = o.quantize_momentum = 1; });
  refuses(kMissing, "quantize_statistics", [](auto& o) { o.eigenvalue_corrected = o.quantize_statistics = 1; });
  refuses(kMissing, "options.statistics: does not go with options.eigenvalue_corrected",
          [](auto& o) { o.eigenvalue_corrected = o.statistics = 1; });
}

TEST(Shampoo, RefusedRootsAreInTheLog) {
  RecordedLog records;
  Shampoo optimizer(records.context(), shampoo_options(), make_schema(kShapes));
  Model<float> model;
  run(model, optimizer, 0, 2);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, ""), 0);
  model.draw_gradients(2);
  model.grads[0].values[0] = std::numeric_limits<float>::quiet_NaN();
  model.step(optimizer);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "the root of 'p0', block 0, axis 0, after step 3 was refused"), 1);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "was refused"), 2);  // both axes of the first block
}

}  // namespace
}  // namespace gradstep::test
