// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gradstep/gradstep.hpp>
#include <map>
#include <mutex>
#include <thread>

namespace gradstep {
namespace {

using namespace std::chrono_literals;

/// Runs a function for each rank on a thread of its own.
template <class F>
void on_ranks(std::int32_t world_size, F&& function) {
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < world_size; ++rank) threads.emplace_back([&, rank] { function(rank); });
  for (std::thread& thread : threads) thread.join();
}

TEST(CppCommunicator, ThreadsOfAProcessReduceGatherAndBroadcast) {
  const Context context;
  auto comms = Communicator::local(context, 3);
  on_ranks(3, [&](std::int32_t rank) {
    Communicator& comm = comms[static_cast<std::size_t>(rank)];
    EXPECT_EQ(comm.rank(), rank);
    EXPECT_EQ(comm.world_size(), 3);
    EXPECT_EQ(comm.local_rank(), rank);
    EXPECT_EQ(comm.engine(), "local");
    std::vector<float> sum{static_cast<float>(rank), 1};
    comm.all_reduce(sum);
    EXPECT_EQ(sum, (std::vector<float>{3, 3}));
    std::vector<std::int32_t> own{rank};
    std::vector<std::int32_t> all(3);
    comm.all_gather(own, all);
    EXPECT_EQ(all, (std::vector<std::int32_t>{0, 1, 2}));
    const std::vector<std::int64_t> counts{1, 1, 1};
    comm.all_gather(own, all, counts);
    std::vector<float> blocks{1, 2, 3};
    std::vector<float> block(1);
    comm.reduce_scatter(blocks, block, ReduceOp::kMax);
    EXPECT_EQ(block[0], static_cast<float>(rank + 1));
    comm.broadcast(own, 2);
    EXPECT_EQ(own[0], 2);
    if (rank == 0) comm.send(blocks, 1);
    if (rank == 1) comm.recv(blocks, 0);
    comm.barrier();
    EXPECT_FALSE(comm.vote(rank != 1));
    const auto half = comm.split(rank == 2 ? -1 : 0);
    EXPECT_EQ(half.has_value(), rank != 2);
    EXPECT_EQ(half ? half->world_size() : 2, 2);
    EXPECT_EQ(comm.dup().rank(), rank);
    EXPECT_EQ(comm.statistics().all_reduces, 1);
    EXPECT_EQ(comm.error(), nullptr);
  });
}

TEST(CppCommunicator, CountsForAnotherNumberOfRanksAreNotRead) {
  const Context context;
  auto comms = Communicator::local(context, 1);
  std::vector<float> own(1);
  std::vector<float> all(1);
  const std::vector<std::int64_t> none;
  EXPECT_THROW(comms[0].all_gather(own, all, none), InvalidArgument);
}

TEST(CppCommunicator, AnAbortEndsACallThatWaitsAndTheReasonStays) {
  const Context context;
  auto comms = Communicator::local(context, 2);
  std::thread waits([&] { EXPECT_THROW(comms[0].barrier(), Aborted); });
  std::this_thread::sleep_for(20ms);
  comms[0].abort();
  waits.join();
  EXPECT_THROW(std::rethrow_exception(comms[0].error()), Aborted);
}

// The text grows between the question for its length and the one for it.
TEST(CppCommunicator, WhatBreaksItWhileItIsAskedIsTheErrorItself) {
  const Context context;
  for (int k = 0; k < 200; ++k) {
    auto comms = Communicator::local(context, 2);
    std::atomic<bool> begins = false;
    std::thread aborts([&] {
      begins = true;
      comms[0].abort();
    });
    while (!begins) {
    }
    std::exception_ptr broken;
    while (broken == nullptr) broken = comms[0].error();
    aborts.join();
    EXPECT_THROW(std::rethrow_exception(broken), Aborted);
  }
}

TEST(CppCommunicator, AMissingPeerIsATimeout) {
  const Context context;
  auto comms = Communicator::local(context, 2, {.timeout = 30ms});
  EXPECT_THROW(comms[0].barrier(), Timeout);
}

/// A store in memory.
class MapStore : public Store {
 public:
  void set(const std::string& key, std::span<const std::byte> value) override {
    const std::lock_guard lock(mutex_);
    values_[key].assign(value.begin(), value.end());
  }
  std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (const auto found = values_.find(key); found != values_.end()) return found->second;
      }
      if (std::chrono::steady_clock::now() >= deadline) throw Timeout("no key " + key);
      std::this_thread::sleep_for(1ms);
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<std::byte>> values_;
};

TEST(CppCommunicator, RanksMeetThroughTheHostsStoreOrAnId) {
  const Context context;
  MapStore store;
  const std::vector<std::byte> id = Communicator::unique_id("shm");
  on_ranks(2, [&](std::int32_t rank) {
    Communicator by_store(context, {.engine = "shm", .rank = rank, .world_size = 2, .store = &store});
    Communicator by_id(context, {.engine = "shm", .rank = rank, .world_size = 2, .id = id});
    EXPECT_EQ(by_store.engine(), "shm");
    EXPECT_TRUE(by_store.vote(true) && by_id.vote(true));
  });
}

TEST(CppCommunicator, AStoreThatThrowsFailsTheCreationWithItsWords) {
  class Broken : public Store {
    void set(const std::string&, std::span<const std::byte>) override { throw std::runtime_error("the store is gone"); }
    std::vector<std::byte> get(const std::string&, std::chrono::milliseconds) override { return {}; }
  } store;
  const Context context;
  try {
    const Communicator comm(context, {.engine = "shm", .rank = 0, .world_size = 2, .timeout = 2s, .store = &store});
    FAIL() << "two ranks met in no store";
  } catch (const CallbackError& error) {
    EXPECT_NE(std::string(error.what()).find("the store is gone"), std::string::npos) << error.what();
  }
}

/// What the threads of a test share to gather.
struct Board {
  explicit Board(std::int32_t ranks) : sent(static_cast<std::size_t>(ranks)) {}
  std::mutex mutex;
  std::condition_variable moved;
  std::size_t arrived = 0;
  std::vector<const void*> sent;
};

// docs:begin collectives
class ThreadCollectives : public gradstep::HostCollectives {
 public:
  ThreadCollectives(Board& board, std::int32_t rank) : board_(board), rank_(rank) {}
  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] std::int32_t world_size() const override { return static_cast<std::int32_t>(board_.sent.size()); }
  [[nodiscard]] gradstep::Provided provided() const override { return {.barrier = true}; }
  void all_gather(const void* send, void* receive, std::int64_t bytes, const Call& call) override {
    const auto deadline = std::chrono::steady_clock::now() + call.timeout;
    const auto size = static_cast<std::size_t>(bytes);
    board_.sent[static_cast<std::size_t>(rank_)] = send;
    meet(deadline);  // all have sent
    for (std::size_t r = 0; r < board_.sent.size(); ++r) {
      std::memcpy(static_cast<char*>(receive) + r * size, board_.sent[r], size);
    }
    meet(deadline);  // all have received
  }
  void barrier(const Call& call) override { meet(std::chrono::steady_clock::now() + call.timeout); }

 private:
  void meet(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(board_.mutex);
    const std::size_t ranks = board_.sent.size();
    const std::size_t complete = (board_.arrived++ / ranks + 1) * ranks;
    board_.moved.notify_all();
    if (!board_.moved.wait_until(lock, deadline, [&] { return board_.arrived >= complete; })) {
      throw gradstep::Timeout("a rank did not come");
    }
  }

  Board& board_;
  std::int32_t rank_;
};
// docs:end collectives

/// Counts barriers, and fails when told so.
class WatchedCollectives : public ThreadCollectives {
 public:
  using ThreadCollectives::ThreadCollectives;
  void all_gather(const void* send, void* receive, std::int64_t bytes, const Call& call) override {
    EXPECT_GT(call.timeout, 0ms);
    if (fails) throw PeerLost("the cable is out");
    ThreadCollectives::all_gather(send, receive, bytes, call);
  }
  void barrier(const Call& call) override {
    ++barriers;
    ThreadCollectives::barrier(call);
  }
  bool fails = false;
  int barriers = 0;
};

TEST(CppCommunicator, CollectivesOfTheHostCarryAReduction) {
  const Context context;
  Board board(2);
  on_ranks(2, [&](std::int32_t rank) {
    const auto host = std::make_shared<WatchedCollectives>(board, rank);
    {
      Communicator comm = Communicator::host(context, host);
      Reducer reducer(context, comm, {.average = Average::kSum}, {{.shape = {2}}});
      std::vector<float> gradient{1, static_cast<float>(rank)};
      const TensorList grads{gradient};
      reducer.reduce(grads, grads);
      EXPECT_EQ(gradient, (std::vector<float>{2, 1}));
      comm.barrier();
    }
    EXPECT_EQ(host->barriers, 1);
    EXPECT_EQ(host.use_count(), 1) << "the library has not given the collectives back";
  });
}

TEST(CppCommunicator, WhatCollectivesOfTheHostThrowIsTheCallsError) {
  const Context context;
  Board board(2);
  const auto host = std::make_shared<WatchedCollectives>(board, 0);
  host->fails = true;
  try {
    const Communicator comm = Communicator::host(context, host);
    FAIL() << "a communicator was made over a broken cable";
  } catch (const PeerLost& error) {
    EXPECT_NE(std::string(error.what()).find("the cable is out"), std::string::npos) << error.what();
  }
  EXPECT_EQ(host.use_count(), 1);
  EXPECT_THROW(Communicator::host(context, nullptr), InvalidArgument);
}

TEST(CppCommunicator, CollectivesOfTheHostGiveUpAtTheDeadline) {
  const Context context;
  Board board(2);
  const auto host = std::make_shared<ThreadCollectives>(board, 0);
  EXPECT_THROW(Communicator::host(context, host, {.timeout = 30ms}), Timeout);
}

TEST(CppCommunicator, ALauncherSaysTheRank) {
  const Context context;
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) unsetenv(name);
  EXPECT_THROW(Communicator::from_environment(context), InvalidArgument);
  setenv("PMI_RANK", "0", 1);
  setenv("PMI_SIZE", "1", 1);
  // docs:begin launched
  gradstep::Communicator comm = gradstep::Communicator::from_environment(context, {.timeout = std::chrono::minutes(5)});
  // docs:end launched
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_EQ(comm.world_size(), 1);
  comm.barrier();
  EXPECT_NE(comm.counters("job=\"7\"").find("gradstep_comm_calls_total{call=\"barrier\",job=\"7\"} 1\n"),
            std::string::npos);
  EXPECT_THROW(static_cast<void>(comm.counters("{")), InvalidArgument);
}

TEST(CppTrace, CallsAreInTheFile) {
  const Context context;
  const std::string path = testing::TempDir() + "cpp_trace.json";
  auto comms = Communicator::local(context, 1);
  trace_start(path);
  EXPECT_THROW(trace_start(path), InvalidState);
  comms[0].barrier();
  trace_stop();
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("\"name\":\"barrier\""), std::string::npos);
}

}  // namespace
}  // namespace gradstep
