// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Two ranks work through all that is collective, and one call of the system fails for one of them. Both return in time
// with a status and a text; what is not bound to the broken communicator goes on; nothing is left over.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kth/failing_system.h"
#include "tests/handles.h"
#include "tests/host_model.h"

namespace gradstep::test {
namespace {

using namespace gradstep_handles;

/// How many k are tried of each engine and kind of call, and with GRADSTEP_KTH=all.
constexpr long kSample = 24;
constexpr long kMost = 800;

/// Who has not come by then does not come. Without a failure ranks have more time.
constexpr std::int64_t kShortMs = 400;
constexpr std::int64_t kLongMs = 20000;

/// One rank's handles and how far it came.
struct Rank {
  explicit Rank(std::int32_t number) : number(number), context(make_context(2)) {
    auto options = defaults_of(gradstep_adam_options_init);
    options.learning_rate = 0.01;
    gradstep_optimizer* made = nullptr;
    for (OptimizerHandle* each : {&alone, &shared}) {
      check(gradstep_optimizer_create_adam(context.get(), &options, model.parameters, HostModel::kCount, &made));
      each->reset(made);
    }
    saved.reserve(std::size_t{1} << 21);
  }

  gradstep_stream stream() {
    gradstep_stream s{};
    s.struct_size = sizeof s;
    s.user = this;
    s.write = [](void* user, const void* from, std::size_t size) -> gradstep_status {
      std::string& to = static_cast<Rank*>(user)->saved;
      if (to.capacity() < to.size() + size) return GRADSTEP_ERR_IO;  // room is made before
      to.append(static_cast<const char*>(from), size);
      return GRADSTEP_OK;
    };
    return s;
  }

  std::int32_t number;
  HostModel model;
  ContextHandle context;
  OptimizerHandle alone;   // of the updater
  OptimizerHandle shared;  // its state is spread over the ranks
  std::string saved;
  gradstep_status status = GRADSTEP_OK;
  std::string text;
  const char* at = "";
};

/// What a rank does with a communicator.
gradstep_status work(Rank& rank, gradstep_comm* comm) {
  gradstep_status status = GRADSTEP_OK;
  const auto fails = [&](const char* what, gradstep_status returned) {
    rank.at = what;
    status = returned;
    return status != GRADSTEP_OK;
  };
  HostModel& model = rank.model;
  const std::size_t count = HostModel::kCount;
  if (fails("all_reduce", gradstep_comm_all_reduce(comm, &model.updates[2], GRADSTEP_REDUCE_SUM, nullptr)))
    return status;
  if (fails("broadcast", gradstep_comm_broadcast(comm, &model.updates[1], 1, nullptr))) return status;
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_SPARSE_TOPK}) {
    auto options = defaults_of(gradstep_reducer_options_init);
    options.mode = mode;
    gradstep_reducer* made = nullptr;
    if (fails("reducer_create",
              gradstep_reducer_create(rank.context.get(), comm, &options, model.parameters, count, &made))) {
      return status;
    }
    const ReducerHandle reducer(made);
    if (fails("reduce", gradstep_reducer_reduce(made, model.grads, model.updates, count, 1, nullptr))) return status;
    if (mode != GRADSTEP_REDUCER_DENSE) continue;
    auto updates = defaults_of(gradstep_updater_options_init);
    gradstep_updater* updater = nullptr;
    if (fails("updater_create",
              gradstep_updater_create(rank.context.get(), rank.alone.get(), nullptr, made, &updates, &updater))) {
      return status;
    }
    const UpdaterHandle chain(updater);
    for (int push = 0; push < 2; ++push) {
      if (fails("push", gradstep_updater_push(updater, model.params, model.grads, count, 1, nullptr, nullptr))) {
        return status;
      }
    }
  }
  if (fails("attach", gradstep_optimizer_attach_comm(rank.shared.get(), comm, nullptr))) return status;
  if (fails("step", gradstep_optimizer_step(rank.shared.get(), model.params, model.grads, count, nullptr))) {
    return status;
  }
  rank.saved.clear();
  const gradstep_stream stream = rank.stream();
  fails("save", gradstep_optimizer_save(rank.shared.get(), rank.number == 0 ? &stream : nullptr));
  return status;
}

/// The state that was spread is given up, and another one taken.
void go_on_alone(Rank& rank) {
  HostModel& model = rank.model;
  check(gradstep_optimizer_step(rank.alone.get(), model.params, model.grads, HostModel::kCount, nullptr));
  // The first one may be how the rank learns that a part of the state is gone.
  if (gradstep_optimizer_attach_comm(rank.shared.get(), nullptr, nullptr) != GRADSTEP_OK) {
    check(gradstep_optimizer_attach_comm(rank.shared.get(), nullptr, nullptr));
  }
  const std::string path =
      ::testing::TempDir() + "kth_state." + std::to_string(::getpid()) + "." + std::to_string(rank.number);
  check(gradstep_optimizer_save_file(rank.alone.get(), path.c_str()));
  check(gradstep_optimizer_load_file(rank.shared.get(), path.c_str(), nullptr));
  check(gradstep_optimizer_step(rank.shared.get(), model.params, model.grads, HostModel::kCount, nullptr));
  std::filesystem::remove(path);
}

using Ranks = std::array<std::unique_ptr<Rank>, 2>;

void in_threads(Ranks& ranks, const std::function<void(Rank&)>& body) {
  std::array<std::thread, 2> threads;
  for (std::size_t r = 0; r < threads.size(); ++r) threads[r] = std::thread([&, r] { body(*ranks[r]); });
  for (std::thread& thread : threads) thread.join();
}

/// Without the communicator. While both still share state, giving it up is collective.
void go_on(Ranks& ranks, const std::string& when) {
  in_threads(ranks, [&](Rank& rank) { EXPECT_NO_THROW(go_on_alone(rank)) << when << rank.at << ": " << rank.text; });
}

std::ptrdiff_t entries(const char* folder) {
  const std::filesystem::directory_iterator found(folder);
  return std::distance(begin(found), end(found));
}

class KthRanks : public ::testing::TestWithParam<std::tuple<std::string, Failing>> {
 protected:
  static bool is_expected(gradstep_status status) {
    constexpr std::array kExpected = {GRADSTEP_OK,          GRADSTEP_ERR_OUT_OF_MEMORY, GRADSTEP_ERR_IO,
                                      GRADSTEP_ERR_TIMEOUT, GRADSTEP_ERR_PEER_LOST,     GRADSTEP_ERR_ABORTED};
    return std::ranges::find(kExpected, status) != kExpected.end();
  }

  /// From the connection to the end.
  void run(Ranks& ranks, std::int64_t timeout_ms) {
    const std::string& engine = std::get<0>(GetParam());
    ++generation_;
    gradstep_comm* locals[2] = {};
    if (engine == "local") {
      auto options = defaults_of(gradstep_comm_options_init);
      options.timeout_ms = timeout_ms;
      const gradstep_status status = gradstep_comm_create_local_ex(ranks[0]->context.get(), 2, &options, locals);
      if (status != GRADSTEP_OK) {
        ranks[0]->status = status;
        ranks[0]->text = gradstep_last_error();
        return;
      }
    }
    const Spared spared;
    in_threads(ranks, [&](Rank& rank) {
      gradstep_comm* comm = locals[rank.number];
      if (comm == nullptr) {
        auto options = defaults_of(gradstep_comm_options_init);
        options.engine = engine.c_str();
        options.rank = rank.number;
        options.world_size = 2;
        options.store_path = store_.c_str();
        options.generation = generation_;
        options.network_interface = engine == "gloo" ? "127.0.0.1" : nullptr;
        options.timeout_ms = timeout_ms;
        rank.at = "comm_create";
        rank.status = gradstep_comm_create(rank.context.get(), &options, &comm);
      }
      const CommHandle owner(comm);
      if (rank.status == GRADSTEP_OK) rank.status = work(rank, comm);
      const Spared told;
      if (rank.status != GRADSTEP_OK) rank.text = gradstep_last_error();
    });
  }

  static Ranks make() { return {std::make_unique<Rank>(0), std::make_unique<Rank>(1)}; }

  void TearDown() override { std::filesystem::remove_all(store_); }

 private:
  std::string store_ = ::testing::TempDir() + "kth_ranks." + std::to_string(::getpid());
  std::int64_t generation_ = 0;
};

TEST_P(KthRanks, ReturnInTimeAndGoOn) {
  const Failing kind = std::get<1>(GetParam());
  gradstep_set_last_error(std::string(4096, 'x').c_str());  // its room stays
  long count = 0;
  for (int i = 0; i < 3; ++i) {  // what is made once in a process is there after the first
    auto ranks = make();
    arm(kind, 0);
    run(ranks, kLongMs);
    count = disarm();
    for (const auto& rank : ranks) {
      ASSERT_EQ(rank->status, GRADSTEP_OK) << rank->at << ": " << rank->text;
    }
    go_on(ranks, "");
  }
  const char* wanted = std::getenv("GRADSTEP_KTH");
  const bool all = wanted != nullptr && std::string(wanted) == "all";
  const long stride = std::max(1L, count / (all ? kMost : kSample));
  for (long k = 1; k <= count; k += stride) {
    const long blocks = live_blocks();
    const std::ptrdiff_t files = entries("/proc/self/fd");
    const std::ptrdiff_t threads = entries("/proc/self/task");
    {
      auto ranks = make();
      arm(kind, k);
      run(ranks, kShortMs);
      disarm();
      for (const auto& rank : ranks) {
        EXPECT_TRUE(is_expected(rank->status))
            << "k = " << k << ", " << rank->at << ": " << gradstep_status_name(rank->status) << ": " << rank->text;
        EXPECT_EQ(rank->text.empty(), rank->status == GRADSTEP_OK) << "k = " << k << ", " << rank->at;
      }
      go_on(ranks, "k = " + std::to_string(k) + ", ");
    }
    EXPECT_EQ(live_blocks(), blocks) << "k = " << k;
    // A constructor of libgloo that fails leaves its descriptor open: the epoll of a loop without a thread, the
    // listening socket of a pair that cannot be watched.
    const bool may_lose_one = std::get<0>(GetParam()) == "gloo" && kind != Failing::files;
    EXPECT_LE(entries("/proc/self/fd"), files + (may_lose_one ? 1 : 0)) << "k = " << k;
    // A thread that was waited for may be listed for a moment more.
    for (int i = 0; i < 1000 && entries("/proc/self/task") > threads; ++i) ::usleep(1000);
    EXPECT_EQ(entries("/proc/self/task"), threads) << "k = " << k;
  }
}

std::vector<std::string> engines() {
  std::vector<std::string> all = {"local", "shm"};
#if defined(GRADSTEP_TEST_PLUGIN_DIR)
  ::setenv("GRADSTEP_PLUGIN_DIR", GRADSTEP_TEST_PLUGIN_DIR, 1);
  all.emplace_back("gloo");
#endif
  return all;
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<std::string, Failing>>& chosen) {
  constexpr const char* kNames[] = {"memory", "threads", "files", "sockets"};
  return std::get<0>(chosen.param) + "_" + kNames[static_cast<std::size_t>(std::get<1>(chosen.param))];
}

INSTANTIATE_TEST_SUITE_P(Fails, KthRanks,
                         ::testing::Combine(::testing::ValuesIn(engines()),
                                            ::testing::Values(Failing::memory, Failing::threads, Failing::files,
                                                              Failing::sockets)),
                         name_of);

}  // namespace
}  // namespace gradstep::test
