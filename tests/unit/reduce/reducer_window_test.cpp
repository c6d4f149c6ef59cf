// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls out of turn, bad input, and failures in the middle of a window.
#include <future>

#include "unit/failing_loops.h"
#include "unit/ranks.h"
#include "unit/reduce/reducer_fixture.h"

namespace gradstep::test {
namespace {

class Window : public ::testing::Test {
 protected:
  Window() : comm(make_self_communicator(make_context(), {})) {}

  std::unique_ptr<Reducer> make() {
    return std::make_unique<Reducer>(make_context(), *comm, reducer_options(), make_schema({{3}, {2}}));
  }

  std::shared_ptr<Communicator> comm;
  TestTensor<float> a{{3}, 1.0F};
  TestTensor<float> b{{2}, 2.0F};
};

TEST_F(Window, PushesOutOfTurnAreInvalidState) {
  auto reducer = make();
  const gradstep_tensor ta = a.tensor();
  std::vector<gradstep_tensor> views(2);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "no finished window", [&] { host::read_gradients(*reducer, views); });
  reducer->begin(1);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "begin", [&] { reducer->begin(1); });
  host::push(*reducer, 0, ta);
  expect_error(GRADSTEP_ERR_INVALID_STATE, "parameter 0 ('p0') was pushed already",
               [&] { host::push(*reducer, 0, ta); });
  const gradstep_tensor both[] = {a.tensor(), b.tensor()};
  expect_error(GRADSTEP_ERR_INVALID_STATE, "pending", [&] { host::reduce(*reducer, both, nullptr, 2, 1); });
  host::wait(*reducer, nullptr, 0);
  host::read_gradients(*reducer, views);
  EXPECT_EQ(static_cast<const float*>(views[0].data)[0], 1);
  EXPECT_EQ(static_cast<const float*>(views[1].data)[0], 0) << "not pushed counts as zeros";
}

TEST_F(Window, BadInputIsNamedAndLeavesTheWindowAsItWas) {
  auto reducer = make();
  const gradstep_tensor ta = a.tensor();
  const gradstep_tensor tb = b.tensor();
  host::push(*reducer, 0, ta);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grad[1]: shape (3)", [&] { host::push(*reducer, 1, ta); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "results: n is 1", [&] { host::wait(*reducer, &ta, 1); });
  host::push(*reducer, 1, tb);
  const gradstep_tensor both[] = {ta, tb};
  host::wait(*reducer, both, 2);
  EXPECT_EQ(b.values[1], 2);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "weight: is -1", [&] { reducer->begin(-1); });
}

TEST_F(Window, CancelBeforeAnythingLeftKeepsTheChannel) {
  auto reducer = make();
  const gradstep_tensor ta = a.tensor();
  host::push(*reducer, 0, ta);
  reducer->cancel();
  EXPECT_EQ(reducer->comm().status().code, GRADSTEP_OK);
  const gradstep_tensor both[] = {a.tensor(), b.tensor()};
  EXPECT_NO_THROW(host::reduce(*reducer, both, nullptr, 2, 1));
}

// Else its peers would add the first bucket of its next window to the second one of theirs.
TEST(Windows, ARankThatFailsWhenABucketHasLeftEndsItForItsPeers) {
  constexpr std::int64_t kSize = 40000;  // enough for loops of the host
  enum class Way : std::uint8_t { reduces, pushes, takes_one_bucket };
  for (const Way way : {Way::reduces, Way::pushes, Way::takes_one_bucket}) {
    run_ranks(2, [&](Communicator& comm) {
      FailingLoops loops;
      auto options = reducer_options(GRADSTEP_AVERAGE_SUM);
      options.fuse_threshold = kSize / 2;
      Reducer reducer(loops.make(), comm, options, make_schema({{kSize}, {kSize}, {kSize}}));
      std::vector<TestTensor<float>> grads;
      for (int i = 0; i < 3; ++i) grads.emplace_back(std::vector<std::int64_t>{kSize}, 1.0F + static_cast<float>(i));
      std::vector<gradstep_tensor> tensors;
      std::vector<Array> arrays;
      for (auto& grad : grads) {
        tensors.push_back(grad.tensor());
        arrays.push_back(compact_array(grad.values.data(), kSize, DType::f32));
      }
      const auto window = [&] {
        if (way == Way::pushes) {
          for (std::size_t i = tensors.size(); i-- > 0;) host::push(reducer, i, tensors[i]);
          host::wait(reducer, nullptr, 0);
        } else if (way == Way::reduces) {
          host::reduce(reducer, tensors.data(), nullptr, tensors.size(), 1);
        } else {
          reducer.send({0, 1}, {arrays, /*version=*/0}, 1);
          reducer.receive({arrays, /*version=*/0});
        }
      };
      window();
      const int loops_of_a_window = loops.calls;
      if (comm.rank() == 1) {
        // With a single bucket the last loop is the one that writes the result.
        loops.failing = loops.calls + (way == Way::takes_one_bucket ? loops_of_a_window : 2);
        expect_error(GRADSTEP_ERR_CALLBACK, "parallel_for", window);
        if (way == Way::pushes) {
          loops.failing = loops.calls + 1;
          expect_error(GRADSTEP_ERR_CALLBACK, "parallel_for", [&] { host::wait(reducer, nullptr, 0); });
        }
      }
      // The peer learns it in this window or, where its own had come to an end, in the next.
      const auto two_windows = [&] {
        for (int k = 0; k < 2; ++k) window();
      };
      EXPECT_THROW(two_windows(), Error) << "rank " << comm.rank();
    });
  }
}

TEST_F(Window, ARankThatFailsAloneTriesAgain) {
  FailingLoops loops;
  constexpr std::int64_t kSize = 40000;
  auto options = reducer_options(GRADSTEP_AVERAGE_SUM);
  options.fuse_threshold = kSize / 2;
  Reducer reducer(loops.make(), *comm, options, make_schema({{kSize}, {kSize}}));
  TestTensor<float> first({kSize}, 1.0F), second({kSize}, 2.0F);
  const gradstep_tensor both[] = {first.tensor(), second.tensor()};
  loops.failing = 2;
  expect_error(GRADSTEP_ERR_CALLBACK, "parallel_for", [&] { host::reduce(reducer, both, nullptr, 2, 1); });
  EXPECT_NO_THROW(host::reduce(reducer, both, both, 2, 1));
  EXPECT_EQ(second.values[7], 2);
}

/// What a window of this gradient of one parameter writes over the -1 in `target`; no numbers = this rank has none.
float written(Reducer& reducer, TestTensor<float>& gradient, TestTensor<float>& target, std::uint64_t version) {
  target.values.assign(target.values.size(), -1.0F);
  const Array grad = compact_array(gradient.values.data(), 3, DType::f32);
  const Array result = compact_array(target.values.data(), 3, DType::f32);
  const Array absent = compact_array(nullptr, 3, DType::f32);
  reducer.reduce({{gradient.values.empty() ? &absent : &grad, 1}, 0}, {{&result, 1}, version}, 1);
  return target.values[2];
}

TEST_F(Window, GradientsComeFromWhereEachWindowHasThem) {
  for (const std::int32_t mode :
       {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_POWERSGD, GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_REDUCER_INT8}) {
    auto options = reducer_options();
    options.mode = mode;
    options.sparsity = 1;
    options.average = GRADSTEP_AVERAGE_WEIGHTED;
    Reducer reducer(make_context(), *comm, options, make_schema({{3}}));
    TestTensor<float> first({3}, {1, 1, 1});
    TestTensor<float> second({3}, {2, 2, 2});
    TestTensor<float> target({3});
    const Array result = compact_array(target.values.data(), 3, DType::f32);
    const auto reduced = [&](TestTensor<float>& gradient, std::uint64_t version, double weight) {
      const Array grad = compact_array(gradient.values.data(), 3, DType::f32);
      reducer.reduce({{&grad, 1}, version}, {{&result, 1}, 0}, weight);
      return target.values[2];
    };
    for (int window = 0; window < 3; ++window) EXPECT_EQ(reduced(first, 7, 1), 1);
    first.values.assign(3, 3.0F);
    for (int window = 0; window < 3; ++window) EXPECT_EQ(reduced(first, 7, 1), 3);
    EXPECT_EQ(reduced(first, 7, 0), 0) << "a weight that has changed";
    for (int window = 0; window < 3; ++window) EXPECT_EQ(reduced(second, 8, 1), 2) << "a version that has changed";
    EXPECT_EQ(reduced(first, 0, 1), 3) << "no version";
    EXPECT_EQ(reduced(second, 0, 1), 2);
    EXPECT_EQ(reduced(first, 7, 1), 3);
  }
}

TEST_F(Window, ResultsGoWhereEachWindowWantsThem) {
  Reducer reducer(make_context(), *comm, reducer_options(), make_schema({{3}}));
  TestTensor<float> first({3});
  TestTensor<float> second({3});
  const std::uint64_t of_first = new_version();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(written(reducer, a, first, of_first), 1);
  EXPECT_EQ(written(reducer, a, second, new_version()), 1) << "other tensors than in the window before";
  EXPECT_EQ(written(reducer, a, first, of_first), 1) << "and back";
  EXPECT_EQ(written(reducer, a, second, /*version=*/0), 1) << "a list that nobody vouches for";
  EXPECT_EQ(written(reducer, a, first, /*version=*/0), 1);
}

TEST_F(Window, ResultsOfWhatNoRankHadAreLeftAloneThoughTheTensorsAreTheSame) {
  Reducer reducer(make_context(), *comm, reducer_options(),
                  make_schema({{3}}, DType::f32, GRADSTEP_PARAMETER_MAY_BE_UNUSED));
  TestTensor<float> target({3});
  TestTensor<float> none({0});
  const std::uint64_t version = new_version();
  EXPECT_EQ(written(reducer, a, target, version), 1);
  EXPECT_EQ(written(reducer, none, target, version), -1);
  EXPECT_EQ(written(reducer, a, target, version), 1);
}

TEST(WindowFailure, AMissingPeerEndsTheWindowAtTheDeadlineAndTouchesNothing) {
  std::promise<void> seen;
  std::shared_future<void> done = seen.get_future().share();
  run_ranks(
      2,
      [&](Communicator& comm) {
        Reducer reducer(make_context(), comm, reducer_options(), make_schema({{3}}));
        TestTensor<float> g({3}, 5.0F);
        const gradstep_tensor tensor = g.tensor();
        host::reduce(reducer, &tensor, nullptr, 1, 1);
        if (comm.rank() == 1) {
          done.wait();  // alive, and never comes to the second window
          return;
        }
        const auto start = std::chrono::steady_clock::now();
        expect_error(GRADSTEP_ERR_TIMEOUT, "", [&] { host::reduce(reducer, &tensor, &tensor, 1, 1); });
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2000 + 1000));
        EXPECT_EQ(g.values, std::vector<float>(3, 5));
        std::vector<gradstep_tensor> views(1);
        expect_error(GRADSTEP_ERR_INVALID_STATE, "no finished window", [&] { host::read_gradients(reducer, views); });
        expect_error(GRADSTEP_ERR_TIMEOUT, "", [&] { host::reduce(reducer, &tensor, &tensor, 1, 1); });
        seen.set_value();
      },
      2000);
}

}  // namespace
}  // namespace gradstep::test
