// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A gradient without elements is a gradient: on ranks whose share is empty, for parameters of no elements, and whatever
// address a host gives what has no bytes.
#include <functional>
#include <memory>

#include "accumulate/accumulator.h"
#include "core/absence.h"
#include "reduce/reducer.h"
#include "unit/optim/shampoo/shampoo_fixture.h"
#include "unit/ranks.h"

namespace gradstep::test {
namespace {

/// Each takes one chunk, or none: from three ranks on some have nothing.
const std::vector<std::vector<std::int64_t>> kSmall = {{24, 22}, {300}, {0, 5}, {7}};
constexpr std::uint32_t kSteps = 3;

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;

template <class Options>
MakeOptimizer first_order(Options options) {
  return [options] {
    return std::make_unique<FirstOrderOptimizer>(make_context(), make_rule(options), make_schema(kSmall));
  };
}
MakeOptimizer shampoo(gradstep_shampoo_options options) {
  return [options] { return make_shampoo(options, 1, kSmall); };
}

gradstep_sgd_options copying_sgd() {
  auto o = default_options<gradstep_sgd_options>();
  o.learning_rate = 0.1;
  o.momentum = 0.5;
  o.dampening = 0.5;
  o.first_step = GRADSTEP_SGD_FIRST_STEP_COPY;
  return o;
}

std::vector<MakeOptimizer> rules() {
  auto adam = default_options<gradstep_adam_options>();
  adam.learning_rate = 0.1;
  auto coded = adam;
  coded.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  coded.amsgrad = 1;
  auto rmsprop = default_options<gradstep_rmsprop_options>();
  rmsprop.learning_rate = 0.1;
  rmsprop.momentum = 0.5;
  auto adagrad = default_options<gradstep_adagrad_options>();
  adagrad.learning_rate = 0.1;
  auto lagging = shampoo_options();
  lagging.root_lag = 2;
  return {first_order(copying_sgd()), first_order(adam),          first_order(coded), first_order(rmsprop),
          first_order(adagrad),       shampoo(shampoo_options()), shampoo(lagging)};
}

/// Parameters and whole-numbered gradients, of which every sum and mean over ranks is exact.
struct SmallModel {
  std::vector<TestTensor<float>> params;
  std::vector<TestTensor<float>> grads;

  SmallModel() {
    for (const auto& shape : kSmall) {
      params.emplace_back(shape, 1.0F);
      grads.emplace_back(shape);
    }
  }
  void step(Optimizer& optimizer, std::uint32_t t) {
    std::vector<gradstep_tensor> p;
    std::vector<gradstep_tensor> g;
    for (std::size_t i = 0; i < params.size(); ++i) {
      auto& values = grads[i].values;
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>((k * 7 + t * 5 + i) % 9) - 4;
      p.push_back(params[i].tensor());
      g.push_back(grads[i].tensor());
    }
    host::step(optimizer, p.data(), g.data(), nullptr, p.size());
  }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    for (const auto& param : params) all.push_back(param.values);
    return all;
  }
};

std::string file_of(Optimizer& optimizer, bool writes) {
  Memory memory;
  write_state_file(writes ? &memory : nullptr, "optimizer", {{"", save_optimizer(optimizer)}});
  return memory.bytes;
}

// What ranks without elements forget shows in the file, or as soon as they get elements.
TEST(EmptyShares, FilesAndLaterStepsDoNotDependOnTheNumberOfRanks) {
  std::size_t rule = 0;
  for (const MakeOptimizer& make : rules()) {
    SmallModel expected;
    const auto alone = make();
    for (std::uint32_t t = 0; t < kSteps; ++t) expected.step(*alone, t);
    const std::string file = file_of(*alone, true);
    for (std::uint32_t t = kSteps; t < kSteps + 4; ++t) expected.step(*alone, t);
    const bool has_blocks = rule >= 5;
    for (std::int32_t variant = 0; variant < (has_blocks ? 16 : 8); ++variant) {
      const std::int32_t ranks = 1 + variant % 4;
      gradstep_sharding_options sharding{};
      sharding.gradients = variant / 4 % 2;
      sharding.preconditioners = variant / 8;
      SCOPED_TRACE(testing::Message() << "rule " << rule << ", " << ranks << " ranks, variant " << variant);
      run_ranks(ranks, [&](Communicator& comm) {
        SmallModel model;
        const auto optimizer = make();
        optimizer->attach(&comm, sharding);
        for (std::uint32_t t = 0; t < kSteps; ++t) model.step(*optimizer, t);
        EXPECT_EQ(optimizer->state().flags(), std::vector<std::uint8_t>(kSmall.size(), 1));
        const std::string own = file_of(*optimizer, comm.rank() == 0);
        EXPECT_TRUE(comm.rank() != 0 || own == file);
        if (rule == 6) return;  // its roots under way are installed by an attach
        const auto reversed = comm.split(0, -comm.rank(), comm.deadline());
        optimizer->attach(reversed.get(), sharding);
        for (std::uint32_t t = kSteps; t < kSteps + 2; ++t) model.step(*optimizer, t);
        optimizer->attach(nullptr, {});
        for (std::uint32_t t = kSteps + 2; t < kSteps + 4; ++t) model.step(*optimizer, t);
        EXPECT_EQ(model.values(), expected.values());
      });
    }
    ++rule;
  }
}

TEST(EmptyShares, AGradientOfNoElementsIsThereWhateverItsAddress) {
  const Schema schema = make_schema({{0}, {3}});
  std::vector<std::string> files;
  float numbers[3] = {1, 2, 3};
  for (void* address : {static_cast<void*>(nullptr), static_cast<void*>(numbers)}) {
    FirstOrderOptimizer optimizer(make_context(), make_rule(copying_sgd()), schema);
    float values[3] = {};
    const gradstep_tensor p[] = {view_of(schema, 0, address, DType::f32), view_of(schema, 1, values, DType::f32)};
    gradstep_tensor g[] = {gradstep_tensor{}, view_of(schema, 1, numbers, DType::f32)};
    host::step(optimizer, p, g, nullptr, 2);
    EXPECT_EQ(optimizer.state().flags(), (std::vector<std::uint8_t>{0, 1})) << "a zeroed struct is no gradient";
    g[0] = view_of(schema, 0, address, DType::f32);
    host::step(optimizer, p, g, nullptr, 2);
    EXPECT_EQ(optimizer.state().flags(), (std::vector<std::uint8_t>{1, 1}));
    files.push_back(file_of(optimizer, true));
  }
  EXPECT_EQ(files[0], files[1]);
}

TEST(EmptyShares, AccumulatorsAndReducersHandItOn) {
  const std::vector<std::vector<std::int64_t>> shapes = {{0}, {3}};
  const Schema schema = make_schema(shapes, DType::f32, GRADSTEP_PARAMETER_MAY_BE_UNUSED);
  auto separate = default_reducer_options();
  separate.fuse_threshold = 1;  // a bucket of its own, without elements
  run_ranks(2, [&](Communicator& comm) {
    float numbers[3] = {1, 2, 3};
    const gradstep_tensor grads[] = {view_of(schema, 0, nullptr, DType::f32),
                                     view_of(schema, 1, comm.rank() == 0 ? numbers : nullptr, DType::f32)};
    auto options = default_accumulator_options();
    options.steps = 1;
    Accumulator accumulator(make_context(), options, std::nullopt, schema);
    host::add(accumulator, grads, 2, 1);
    EXPECT_FALSE(is_absent(accumulator.results()[0]));
    EXPECT_EQ(is_absent(accumulator.results()[1]), comm.rank() != 0);
    for (const auto& fused : {default_reducer_options(), separate}) {
      Reducer reducer(make_context(), comm, fused, schema);
      host::reduce(reducer, grads, nullptr, 2, 1);
      EXPECT_FALSE(is_absent(reducer.gradients()[0]));
      EXPECT_FALSE(is_absent(reducer.gradients()[1]));
      const gradstep_tensor none[] = {gradstep_tensor{}, grads[1]};
      host::reduce(reducer, none, nullptr, 2, 1);
      EXPECT_TRUE(is_absent(reducer.gradients()[0]));
    }
  });
}

}  // namespace
}  // namespace gradstep::test
