// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a window leaves behind for the next one: nothing, if its result is not finite; and in the units of a new loss
// scale.
#include <cmath>
#include <limits>
#include <utility>

#include "reduce/reducer_options.h"
#include "unit/memory_stream.h"
#include "unit/reduce/reducer_fixture.h"

namespace gradstep::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Kind {
  const char* name;
  gradstep_reducer_options options;
};

/// Every kind of memory, in several buckets.
std::vector<Kind> kinds() {
  std::vector<Kind> list;
  const auto add = [&](const char* name, std::int32_t mode, auto&& change) {
    auto options = reducer_options(GRADSTEP_AVERAGE_MEAN, 64);
    options.mode = mode;
    options.sparsity = mode == GRADSTEP_REDUCER_SPARSE_THRESHOLD ? 0.5 : 0.05;
    if (mode != GRADSTEP_REDUCER_POWERSGD && !is_coded(mode)) options.nan_policy = GRADSTEP_NAN_SEND;
    change(options);
    list.push_back({name, options});
  };
  add("residual", GRADSTEP_REDUCER_SPARSE_TOPK, [](auto& /*o*/) {});
  add("residual, split", GRADSTEP_REDUCER_SPARSE_TOPK, [](auto& o) {
    o.sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_SPLIT;
    o.selection = GRADSTEP_SELECTION_TENSOR;
  });
  add("residual of a threshold", GRADSTEP_REDUCER_SPARSE_THRESHOLD, [](auto& /*o*/) {});
  add("velocity", GRADSTEP_REDUCER_SPARSE_TOPK, [](auto& o) {
    o.momentum_correction = 0.5;
    o.warmup_steps = 5;
  });
  add("estimate", GRADSTEP_REDUCER_SPARSE_TOPK, [](auto& o) { o.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21; });
  add("factor", GRADSTEP_REDUCER_POWERSGD, [](auto& /*o*/) {});
  for (const std::int32_t mode : kCodedModes) add(mode_name(mode), mode, [](auto& /*o*/) {});
  add("some buckets", GRADSTEP_REDUCER_AUTO, [](auto& o) { o.candidates = 1 << GRADSTEP_REDUCER_SPARSE_TOPK; });
  return list;
}

std::string save(Reducer& reducer) { return saved_bytes("reducer", {{"", reducer.saved().save()}}); }

using Gradients = std::vector<TestTensor<float>>;

Gradients gradients_of(const Communicator& comm, std::int32_t window, float scale = 1) {
  Gradients list = rank_gradients(comm.rank() + 10 * window);
  for (auto& tensor : list) {
    for (float& g : tensor.values) g *= scale;
  }
  return list;
}

std::vector<float> reduce(Reducer& reducer, Gradients gradients) {
  const auto grads = tensors_of(gradients);
  host::reduce(reducer, grads.data(), grads.data(), grads.size(), 1);
  std::vector<float> all;
  for (const auto& tensor : gradients) all.insert(all.end(), tensor.values.begin(), tensor.values.end());
  return all;
}

bool all_finite(const std::vector<float>& numbers) {
  return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
}

// More elements than a selection takes; in one bucket of several; of values whose sums alone overflow, too.
TEST(WindowMemory, AWindowThatIsNotFiniteLeavesEverythingAsItWas) {
  for (const Kind& kind : kinds()) {
    for (const float bad : {kInfinity, kNan, 3e38F}) {
      run_ranks(2, [&](Communicator& comm) {
        const Schema schema = make_schema(kGradientShapes);
        Reducer reducer(make_context(), comm, kind.options, schema);
        Reducer twin(make_context(), comm, kind.options, schema);
        for (std::int32_t window = 0; window < 2; ++window) {
          reduce(reducer, gradients_of(comm, window));
          reduce(twin, gradients_of(comm, window));
        }
        const std::string before = save(reducer);
        Gradients gradients = gradients_of(comm, 2);
        for (float& g : gradients[0].values) {
          if (comm.rank() == 0 || bad == 3e38F) g = bad;
        }
        const bool overflows = kind.options.mode != GRADSTEP_REDUCER_POWERSGD || bad != 3e38F;
        const bool is_finite = all_finite(reduce(reducer, gradients));
        EXPECT_FALSE(overflows && is_finite) << kind.name << ", " << bad;
        if (!is_finite) {
          EXPECT_TRUE(save(reducer) == before) << kind.name << ", " << bad;
          EXPECT_EQ(reduce(reducer, gradients_of(comm, 3)), reduce(twin, gradients_of(comm, 3)))
              << kind.name << ", " << bad;
        }
      });
    }
  }
}

TEST(WindowMemory, WindowsOfPushesAndOfOneBucketLeaveNothingEither) {
  for (const Kind& kind : kinds()) {
    run_ranks(2, [&](Communicator& comm) {
      Reducer reducer(make_context(), comm, kind.options, make_schema(kGradientShapes));
      reduce(reducer, gradients_of(comm, 0));
      const std::string before = save(reducer);
      Gradients gradients = gradients_of(comm, 1);
      if (comm.rank() == 1) gradients[3].values[5] = kInfinity;
      const auto grads = tensors_of(gradients);
      for (std::size_t i = grads.size(); i-- > 0;) host::push(reducer, i, grads[i]);
      host::wait(reducer, nullptr, grads.size());
      EXPECT_TRUE(save(reducer) == before) << kind.name;
      EXPECT_FALSE(std::isfinite(*reducer.norm())) << kind.name;
    });
  }
}

// What is kept is finite, the result is not once it is divided by a weight far below 1 or rounded to f16.
TEST(WindowMemory, TheResultIsLookedAtAsTheHostGetsIt) {
  run_ranks(2, [&](Communicator& comm) {
    auto options = reducer_options(GRADSTEP_AVERAGE_WEIGHTED);
    options.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
    options.sparsity = 0.5;
    Reducer weighted(make_context(), comm, options, make_schema({{4}}));
    const auto window = [](Reducer& reducer, const gradstep_tensor& grad, const gradstep_tensor& result,
                           double weight) {
      host::reduce(reducer, &grad, &result, 1, weight);
      const auto* residual = static_cast<const float*>(reducer.memory().residual(0).data);
      return std::vector<float>(residual, residual + 4);
    };
    TestTensor<float> g({4}, {4e30F, 3e30F, 2e30F, 1e30F});
    TestTensor<float> result({4});
    const std::vector<float> kept = {0, 0, 2e30F, 1e30F};
    EXPECT_EQ(window(weighted, g.tensor(), result.tensor(), 1), kept);
    EXPECT_EQ(window(weighted, g.tensor(), result.tensor(), 1e-10), kept);
    EXPECT_EQ(result.values[2], kInfinity);

    options.average = GRADSTEP_AVERAGE_MEAN;
    Reducer halves(make_context(), comm, options, make_schema({{4}}));
    TestTensor<float> large({4}, {4e4F, 3e4F, 2e4F, 1e4F});
    TestTensor<kernels::Float16> rounded({4});
    const std::vector<float> rest = {0, 0, 2e4F, 1e4F};
    EXPECT_EQ(window(halves, large.tensor(), rounded.tensor(), 1), rest);
    large.values = {9e4F, 0, 0, 0};
    EXPECT_EQ(window(halves, large.tensor(), rounded.tensor(), 1), rest);
    EXPECT_EQ(window(halves, large.tensor(), result.tensor(), 1), (std::vector<float>{0, 0, 0, 1e4F}))
        << "as f32 it is finite";
  });
}

// The right factor of a window starts the next one; its length does not count.
TEST(WindowMemory, LargeFiniteGradientsDoNotMakeTheNextWindowInfinite) {
  run_ranks(2, [](Communicator& comm) {
    auto options = reducer_options();
    options.mode = GRADSTEP_REDUCER_POWERSGD;
    const Schema schema = make_schema(kGradientShapes);
    Reducer large(make_context(), comm, options, schema);
    Reducer plain(make_context(), comm, options, schema);
    for (std::int32_t window = 0; window < 3; ++window) {
      std::vector<float> expected = reduce(plain, gradients_of(comm, window));
      for (float& x : expected) x *= 0x1p80F;
      EXPECT_EQ(reduce(large, gradients_of(comm, window, 0x1p80F)), expected);
    }
  });
}

// 3e38 less a mean of -1e38 is beyond f32, on one rank alone.
TEST(WindowMemory, AResidualThatIsTooLargeForItsDtypeIsCutOff) {
  auto options = reducer_options();
  options.mode = GRADSTEP_REDUCER_POWERSGD;
  options.rank = 1;
  std::vector<std::vector<float>> results(3);
  run_ranks(3, [&](Communicator& comm) {
    Reducer reducer(make_context(), comm, options, make_schema({{8, 8}}));
    const auto reduce_one = [&](float first) {
      TestTensor<float> g({8, 8}, 0.0F);
      g.values[0] = first;
      g.values[9] = 1;
      const gradstep_tensor tensor = g.tensor();
      host::reduce(reducer, &tensor, &tensor, 1, 1);
      return g.values;
    };
    EXPECT_NEAR(reduce_one(comm.rank() == 0 ? 3e38F : -3e38F)[0], -1e38F, 1e33F);
    const auto* residual = static_cast<const float*>(reducer.memory().residual(0).data);
    EXPECT_TRUE(all_finite({residual, residual + 64}));
    if (comm.rank() == 0) {
      EXPECT_EQ(residual[0], 0x1p100F);
    }
    results[static_cast<std::size_t>(comm.rank())] = reduce_one(0);
  });
  EXPECT_TRUE(all_finite(results[0]));
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

// Powers of two change no bit of what is neither tiny nor huge.
TEST(WindowMemory, ANewLossScaleChangesTheUnitsAlone) {
  for (const Kind& kind : kinds()) {
    if (kind.options.mode == GRADSTEP_REDUCER_SPARSE_THRESHOLD) continue;  // which is in units of gradients
    run_ranks(2, [&](Communicator& comm) {
      const Schema schema = make_schema(kGradientShapes);
      Reducer scaled(make_context(), comm, kind.options, schema);
      Reducer plain(make_context(), comm, kind.options, schema);
      std::int32_t window = 0;
      for (const float scale : {65536.0F, 65536.0F, 256.0F, 1024.0F, 1.0F}) {
        scaled.memory().set_loss_scale(scale);
        std::vector<float> expected = reduce(plain, gradients_of(comm, window));
        for (float& x : expected) x *= scale;
        EXPECT_EQ(reduce(scaled, gradients_of(comm, window, scale)), expected) << kind.name << ", window " << window;
        ++window;
      }
      EXPECT_TRUE(save(scaled) == save(plain)) << kind.name;
    });
  }
}

TEST(WindowMemory, ALossScaleIsSavedAndBeyondTheDtypeSaturates) {
  run_ranks(1, [](Communicator& comm) {
    const auto options = kinds()[0].options;
    const Schema schema = make_schema(kGradientShapes);
    Reducer first(make_context(), comm, options, schema);
    first.memory().set_loss_scale(65536);
    reduce(first, gradients_of(comm, 0, 65536));
    const std::string bytes = save(first);
    Reducer second(make_context(), comm, options, schema);
    const StateFile file = read_bytes(bytes);
    LoadedPart part(file, "");
    second.saved().load(part)();
    EXPECT_TRUE(save(second) == bytes);
    first.memory().set_loss_scale(256);
    second.memory().set_loss_scale(256);
    EXPECT_TRUE(save(second) == save(first));
    first.memory().set_loss_scale(0x1p120);
    first.memory().set_loss_scale(0x1p130);
    const auto* residual = static_cast<const float*>(first.memory().residual(3).data);
    EXPECT_TRUE(all_finite({residual, residual + 1000}));
  });
}

TEST(WindowMemory, AScaleThatIsNoneOrComesInsideAWindowIsRefused) {
  run_ranks(1, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, kinds()[0].options, make_schema(kGradientShapes));
    for (const double scale : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
      expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "scale: is", [&] { reducer.memory().set_loss_scale(scale); });
    }
    reducer.begin(1);
    expect_error(GRADSTEP_ERR_INVALID_STATE, "pending", [&] { reducer.memory().set_loss_scale(2); });
    reducer.cancel();
    reducer.memory().set_loss_scale(2);
  });
}

}  // namespace
}  // namespace gradstep::test
