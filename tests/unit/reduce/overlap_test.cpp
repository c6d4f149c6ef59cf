// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Exchanges that run while the host computes: that they do, and that nothing else shows.
#include <algorithm>
#include <atomic>

#include "unit/reduce/gated_host.h"
#include "unit/reduce/reducer_fixture.h"

namespace gradstep::test {
namespace {

// Every parameter is a bucket of its own; they leave from the last to the first.
const std::vector<std::vector<std::int64_t>> kThree = {{40}, {50}, {60}};

gradstep_reducer_options one_by_one() { return reducer_options(GRADSTEP_AVERAGE_SUM, 1); }

struct Gradients {
  std::vector<TestTensor<float>> values;
  std::vector<gradstep_tensor> tensors;

  explicit Gradients(float fill) {
    for (const auto& shape : kThree) values.emplace_back(shape, fill);
    tensors = tensors_of(values);
  }
  void expect(float value) const {
    for (const auto& tensor : values) {
      for (const float number : tensor.values) ASSERT_EQ(number, value);
    }
  }
};

TEST(Overlap, APushReturnsWhileItsBucketIsExchangedOnTheChannelsOwnThread) {
  run_gated(2, [](Communicator& comm, Gate& gate) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
    for (int window = 0; window < 2; ++window) {
      Gradients g(1.0F + static_cast<float>(comm.rank()));
      gate.close();
      host::push(reducer, 2, g.tensors[2]);
      gate.await_calls(1);  // in progress, and stays so
      host::push(reducer, 0, g.tensors[0]);
      host::push(reducer, 1, g.tensors[1]);
      EXPECT_EQ(reducer.bucket_stats()[0].exchanges, window);
      EXPECT_EQ(gate.calls().size(), 1U) << "one bucket at a time";
      gate.open();
      host::wait(reducer, g.tensors.data(), g.tensors.size());
      g.expect(3);
      const auto calls = gate.calls();
      EXPECT_EQ(calls.size(), kThree.size());
      EXPECT_NE(calls[0], std::this_thread::get_id());
    }
    for (const auto& bucket : reducer.bucket_stats()) {
      EXPECT_EQ(bucket.exchanges, 2);
      EXPECT_GT(bucket.exchange_nanoseconds, 0);
    }
  });
}

TEST(Overlap, WhatWaitFindsLeftToDoIsDoneThere) {
  run_gated(3, [](Communicator& comm, Gate& gate) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
    Gradients g(1);
    gate.close();
    if (comm.rank() == 0) host::push(reducer, 2, g.tensors[2]);
    if (comm.rank() == 1) host::push(reducer, 0, g.tensors[0]);
    if (comm.rank() == 0) gate.await_calls(1);
    gate.open();
    host::wait(reducer, nullptr, 0);
    std::vector<gradstep_tensor> views(kThree.size());
    host::read_gradients(reducer, views);
    EXPECT_EQ(*static_cast<const float*>(views[0].data), 1);
    EXPECT_EQ(*static_cast<const float*>(views[1].data), 0);
    EXPECT_EQ(*static_cast<const float*>(views[2].data), 1);
    const std::vector<std::thread::id> calls = gate.calls();
    // Rank 0's first bucket is in progress; whether it still is when wait begins, chance decides.
    if (comm.rank() == 0) {
      EXPECT_NE(calls.front(), std::this_thread::get_id());
    } else {
      EXPECT_EQ(calls.back(), std::this_thread::get_id()) << "nothing was in progress";
    }
  });
}

TEST(Overlap, TheGradientMayBeReusedOncePushHasReturned) {
  run_gated(2, [](Communicator& comm, Gate& gate) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
    Gradients g(2);
    gate.close();
    for (const std::size_t i : {2U, 1U, 0U}) {
      host::push(reducer, i, g.tensors[i]);
      std::fill(g.values[i].values.begin(), g.values[i].values.end(), -7.0F);
    }
    gate.open();
    host::wait(reducer, g.tensors.data(), g.tensors.size());
    g.expect(4);
  });
}

TEST(Overlap, WithoutAnyThreadDupOrAbortTheBucketIsExchangedInsidePush) {
  for (const GatedParts parts : {GatedParts{false, true, true}, GatedParts{true, false, true},
                                 GatedParts{true, true, false}, GatedParts{false, false, false}}) {
    run_gated(
        2,
        [](Communicator& comm, Gate& gate) {
          Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
          Gradients g(1);
          gate.close();
          gate.open();
          host::push(reducer, 2, g.tensors[2]);
          EXPECT_EQ(gate.calls().size(), 1U);
          const auto stats = reducer.bucket_stats()[0];
          EXPECT_EQ(stats.exchanges, 1);
          EXPECT_GE(stats.wait_nanoseconds, stats.exchange_nanoseconds) << "nothing was hidden";
          host::wait(reducer, g.tensors.data(), g.tensors.size());
          for (const std::thread::id id : gate.calls()) EXPECT_EQ(id, std::this_thread::get_id());
        },
        parts);
  }
}

TEST(Overlap, WhatWasHiddenIsExchangeWithoutWait) {
  run_gated(2, [](Communicator& comm, Gate& gate) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
    Gradients g(1);
    gate.close();
    for (const std::size_t i : {2U, 1U, 0U}) host::push(reducer, i, g.tensors[i]);
    gate.await_calls(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the host computes
    gate.open();
    while (reducer.bucket_stats()[2].exchanges == 0) std::this_thread::yield();
    host::wait(reducer, nullptr, 0);
    std::int64_t exchanged = 0;
    std::int64_t waited = 0;
    for (const auto& bucket : reducer.bucket_stats()) {
      exchanged += bucket.exchange_nanoseconds;
      waited += bucket.wait_nanoseconds;
    }
    EXPECT_GE(exchanged, 20'000'000);
    EXPECT_EQ(waited, 0) << "all was exchanged before wait was called";
  });
}

TEST(Overlap, AnErrorOfTheExchangeComesOutOfLaterPushesAndOfWait) {
  const std::vector<std::vector<std::int64_t>> many(2000, {1});
  run_gated(2, [&](Communicator& comm, Gate& gate) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(many));
    TestTensor<float> g({1}, 1.0F);
    const gradstep_tensor tensor = g.tensor();
    gate.close();
    host::push(reducer, many.size() - 1, tensor);
    gate.await_calls(1);
    host::push(reducer, 0, tensor);  // not known yet
    gate.fail_with(GRADSTEP_ERR_PEER_LOST);
    gate.open();
    std::size_t i = 1;
    try {
      for (; i + 1 < many.size(); ++i) {
        host::push(reducer, i, tensor);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      ADD_FAILURE() << "no push failed";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), GRADSTEP_ERR_PEER_LOST);
    }
    expect_error(GRADSTEP_ERR_PEER_LOST, "the gate", [&] { host::push(reducer, i, tensor); });
    EXPECT_EQ(gate.calls().size(), 1U) << "nothing leaves after an error";
    expect_error(GRADSTEP_ERR_PEER_LOST, "the gate", [&] { host::wait(reducer, nullptr, 0); });
    reducer.begin(1);  // the window has ended
    reducer.cancel();
  });
}

TEST(Overlap, WaitReturnsTheErrorOfAnExchangeInProgress) {
  run_gated(2, [](Communicator& comm, Gate& gate) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
    Gradients g(5);
    gate.close();
    host::push(reducer, 2, g.tensors[2]);
    gate.await_calls(1);
    gate.fail_with(GRADSTEP_ERR_CALLBACK);
    std::thread opener([&] { gate.open(); });
    expect_error(GRADSTEP_ERR_CALLBACK, "the gate", [&] { host::wait(reducer, g.tensors.data(), g.tensors.size()); });
    opener.join();
    g.expect(5);
    EXPECT_EQ(gate.calls().size(), 1U);
  });
}

TEST(Overlap, CancelEndsAnExchangeInProgress) {
  run_gated(2, [](Communicator& comm, Gate& gate) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
    Gradients g(1);
    gate.close();
    host::push(reducer, 2, g.tensors[2]);
    host::push(reducer, 1, g.tensors[1]);
    gate.await_calls(1);
    reducer.cancel();  // the gate never opens
    EXPECT_EQ(gate.calls().size(), 1U);
    EXPECT_EQ(reducer.comm().status().code, GRADSTEP_ERR_ABORTED);
    EXPECT_EQ(comm.status().code, GRADSTEP_OK) << "the channel is the reducer's own";
    expect_error(GRADSTEP_ERR_ABORTED, "",
                 [&] { host::reduce(reducer, g.tensors.data(), nullptr, g.tensors.size(), 1); });
  });
}

TEST(Overlap, APeerThatCancelsIsAnErrorNotAHang) {
  run_ranks(2, [](Communicator& comm) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
    Gradients g(1);
    host::push(reducer, 2, g.tensors[2]);
    if (comm.rank() == 1) {
      reducer.cancel();
    } else {
      expect_error(GRADSTEP_ERR_PEER_LOST, "", [&] { host::wait(reducer, g.tensors.data(), g.tensors.size()); });
      g.expect(1);
    }
  });
}

TEST(Overlap, DestroyInAnOpenWindowEndsTheExchange) {
  run_gated(2, [](Communicator& comm, Gate& gate) {
    auto reducer = std::make_unique<Reducer>(make_context(), comm, one_by_one(), make_schema(kThree));
    Gradients g(1);
    gate.close();
    for (const std::size_t i : {2U, 1U, 0U}) host::push(*reducer, i, g.tensors[i]);
    gate.await_calls(1);
    reducer.reset();  // the gate never opens
    EXPECT_EQ(gate.calls().size(), 1U);
    EXPECT_EQ(comm.status().code, GRADSTEP_OK);
  });
}

TEST(Overlap, AbortFromAnotherThreadEndsAWait) {
  run_gated(2, [](Communicator& comm, Gate& gate) {
    Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
    Gradients g(3);
    gate.close();
    host::push(reducer, 2, g.tensors[2]);
    std::thread other([&] {
      gate.await_calls(1);
      reducer.comm().abort();
    });
    expect_error(GRADSTEP_ERR_ABORTED, "", [&] { host::wait(reducer, g.tensors.data(), g.tensors.size()); });
    other.join();
    g.expect(3);
  });
}

TEST(Overlap, TheInterruptIsPolledByTheThreadThatWaitsAndByNoOther) {
  struct Host {
    std::mutex mutex;
    std::vector<std::thread::id> polls;
    std::atomic<bool> interrupted{false};
  } host;
  auto options = default_context_options();
  options.interrupt_user = &host;
  options.interrupt = [](void* user) -> std::int32_t {
    auto& self = *static_cast<Host*>(user);
    const std::lock_guard lock(self.mutex);
    self.polls.push_back(std::this_thread::get_id());
    return self.interrupted ? 1 : 0;
  };
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  const auto main_thread = std::this_thread::get_id();
  std::mutex hosts_mutex;
  std::vector<std::thread::id> host_threads;
  run_gated(
      2,
      [&](Communicator& comm, Gate& gate) {
        {
          const std::lock_guard lock(hosts_mutex);
          host_threads.push_back(std::this_thread::get_id());
        }
        Reducer reducer(context, comm, one_by_one(), make_schema(kThree));
        Gradients g(1);
        gate.close();
        host::push(reducer, 2, g.tensors[2]);
        gate.await_calls(1);
        host.interrupted = true;
        expect_error(GRADSTEP_ERR_ABORTED, "interrupted", [&] { host::wait(reducer, nullptr, 0); });
      },
      {}, context);
  EXPECT_FALSE(host.polls.empty());
  for (const std::thread::id id : host.polls) {
    EXPECT_TRUE(id == main_thread || std::count(host_threads.begin(), host_threads.end(), id) == 1);
  }
}

TEST(Overlap, AWaitKeepsItsDeadlineHoweverManyBucketsAreLeft) {
  constexpr std::int64_t kTimeoutMs = 400;
  std::atomic<bool> over{false};
  run_gated(
      2,
      [&](Communicator& comm, Gate& gate) {
        Reducer reducer(make_context(), comm, one_by_one(), make_schema(kThree));
        if (comm.rank() == 1) {
          while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return;
        }
        Gradients g(1);
        gate.close();
        gate.open();
        for (const std::size_t i : {2U, 1U, 0U}) host::push(reducer, i, g.tensors[i]);
        const auto begin = Deadline::Clock::now();
        expect_error(GRADSTEP_ERR_TIMEOUT, "", [&] { host::wait(reducer, nullptr, 0); });
        EXPECT_LT(Deadline::Clock::now() - begin, std::chrono::milliseconds(kTimeoutMs + 1000));
        over = true;
      },
      {}, make_context(), kTimeoutMs);
}

TEST(Overlap, AHostsParallelForIsNotCalledOnTheChannelsThread) {
  struct Host {
    std::mutex mutex;
    std::vector<std::thread::id> callers;
  } host;
  auto options = default_context_options();
  options.parallel_for_user = &host;
  options.parallel_for = [](void* user, std::int64_t n, void (*body)(void*, std::int64_t),
                            void* body_user) -> gradstep_status {
    auto& self = *static_cast<Host*>(user);
    {
      const std::lock_guard lock(self.mutex);
      self.callers.push_back(std::this_thread::get_id());
    }
    for (std::int64_t i = 0; i < n; ++i) body(body_user, i);
    return GRADSTEP_OK;
  };
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  const World world = make_world("local", 2, {}, context);
  std::vector<std::thread::id> host_threads(2);
  run(world, [&](Communicator& comm) {
    host_threads[static_cast<std::size_t>(comm.rank())] = std::this_thread::get_id();
    auto half = one_by_one();
    half.mode = GRADSTEP_REDUCER_HALF;
    Reducer reducer(context, comm, half, make_schema({{300000}, {300000}}));
    TestTensor<float> g({300000}, 1.0F);
    const gradstep_tensor tensor = g.tensor();
    host::push(reducer, 1, tensor);
    while (reducer.bucket_stats()[0].exchanges == 0) std::this_thread::yield();
    host::push(reducer, 0, tensor);
    host::wait(reducer, nullptr, 0);
  });
  EXPECT_FALSE(host.callers.empty());
  for (const std::thread::id id : host.callers) EXPECT_EQ(std::count(host_threads.begin(), host_threads.end(), id), 1);
}

}  // namespace
}  // namespace gradstep::test
