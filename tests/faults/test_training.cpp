// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Whatever goes wrong while ranks train, with whatever synchronisation, on whatever engine: the call ends in time, what
// the promise names is as it was, and the survivors go on.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>

#include "tests/faults/processes.h"
#include "tests/faults/socket_mesh.h"
#include "tests/faults/training.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kTimeoutMs = 500;
constexpr std::int64_t kPromisedMs = kTimeoutMs + 1000;
constexpr std::int64_t kFarAwayMs = 20000;
constexpr int kAnnounced = 2;  // the push after which a rank is known to be training

std::atomic<bool> interrupts{false};

gradstep_context* make_context() {
  gradstep_context_options options{};
  gradstep_context_options_init(&options, sizeof options);
  options.num_threads = 1;
  options.interrupt = [](void*) -> std::int32_t { return interrupts ? 1 : 0; };
  gradstep_context* context = nullptr;
  gradstep_context_create(&options, &context);
  return context;
}

/// The calling process is on a machine of another name from here on. Returns false without the privilege.
bool move_to_host(int host) {
  const char name = static_cast<char>('a' + host);
  return ::unshare(CLONE_NEWUTS) == 0 && ::sethostname(&name, 1) == 0;
}

/// Whether a process of this one can move.
bool can_move() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(move_to_host(0) ? 0 : 1);
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

void remark(Report& report, const std::string& text) {
  std::snprintf(report.remark.data(), report.remark.size(), "%s", text.c_str());
}

using Case = std::tuple<std::string, Synchronisation>;

class TrainingFaults : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!synchronisation().by_hosts) return;
    if (engine() == "host") GTEST_SKIP() << "the host connects its ranks itself";
    if (!can_move()) GTEST_SKIP() << "needs the privilege to rename a machine (CAP_SYS_ADMIN)";
  }
  const std::string& engine() const { return std::get<0>(GetParam()); }
  const Synchronisation& synchronisation() const { return std::get<1>(GetParam()); }

  /// Where ranks meet: a directory, or for "host" sockets among all of them, and among those that are to survive
  /// rank 1.
  struct World {
    explicit World(int ranks) : all(ranks), survivors(2) {}

    Processes fork(int ranks, const std::function<void(int rank, Report& report)>& body) {
      return Processes(
          ranks,
          [&](int rank, Report& report) {
            keep(rank);
            body(rank, report);
          },
          [&] { keep(-1); });
    }
    void keep(int rank) {
      all.keep(rank);
      survivors.keep(rank == 0 ? 0 : rank == 2 ? 1 : -1);
    }

    TemporaryDirectory directory;
    SocketMesh all;
    SocketMesh survivors;
  };

  /// In a rank: everything it trains with.
  struct Trainee {
    ~Trainee() {
      if (other_thread.joinable()) other_thread.join();
      training.reset();
      gradstep_comm_destroy(comm);
      gradstep_comm_destroy(next);
      gradstep_context_destroy(context);
    }
    gradstep_context* context = nullptr;
    gradstep_comm* comm = nullptr;
    gradstep_comm* next = nullptr;  // of the survivors
    std::unique_ptr<Training> training;
    std::thread other_thread;
  };

  gradstep_status connect(World& world, gradstep_context* context, int rank, int ranks, std::int64_t timeout_ms,
                          std::int64_t generation, gradstep_comm** comm) const {
    if (engine() == "host") return (generation == 0 ? world.all : world.survivors).connect(context, timeout_ms, comm);
    auto options = rank_options(engine(), rank, ranks, timeout_ms, world.directory.path());
    options.generation = generation;
    if (synchronisation().by_hosts) {
      options.reduction_order = GRADSTEP_REDUCTION_HOSTS;
      if (generation == 0 && !move_to_host(rank / 2)) return GRADSTEP_ERR_UNSUPPORTED;
    }
    return gradstep_comm_create(context, &options, comm);
  }

  gradstep_status start(World& world, Trainee& trainee, int rank, int ranks, std::int64_t timeout_ms,
                        const Model& model = {}) const {
    trainee.context = make_context();
    const gradstep_status connected = connect(world, trainee.context, rank, ranks, timeout_ms, 0, &trainee.comm);
    if (connected != GRADSTEP_OK) return connected;
    trainee.training = std::make_unique<Training>(trainee.context, trainee.comm, synchronisation(),
                                                  world.directory.path() + "/state", model);
    return trainee.training->status;
  }

  /// Trains until a push fails, and reports that push. before(number) runs before each push.
  template <class Before>
  static void train(Trainee& trainee, Report& report, Before&& before) {
    for (int number = 0;; ++number) {
      before(number);
      const Stopwatch watch;
      const gradstep_status status = trainee.training->push(number);
      if (status == GRADSTEP_OK) {
        if (number == kAnnounced) announce();
        continue;
      }
      put(report, status, watch);
      const Stopwatch after;
      remark(report, trainee.training->broken_promise());
      report.numbers[0] = static_cast<double>(after.milliseconds());
      return;
    }
  }

  /// Two ranks that train until a push fails; before(trainee, rank, number) runs before each push.
  Processes two_ranks(World& world, std::int64_t timeout_ms,
                      const std::function<void(Trainee&, int, int)>& before) const {
    return world.fork(2, [&](int rank, Report& report) {
      Trainee trainee;
      const gradstep_status started = start(world, trainee, rank, 2, timeout_ms);
      if (started != GRADSTEP_OK) return put(report, started, Stopwatch());
      train(trainee, report, [&](int number) { before(trainee, rank, number); });
    });
  }

  static void expect_promise(const Report& report) {
    ASSERT_EQ(report.reported, 1) << "the rank died";
    EXPECT_STREQ(report.remark.data(), "") << "was not as promised";
    EXPECT_LT(report.numbers[0], 1000) << "what came after the failure waited";
  }
};

TEST_P(TrainingFaults, AKilledPeerIsLostAndTheSurvivorsGoOn) {
  World world(3);
  Processes ranks = world.fork(3, [&](int rank, Report& report) {
    Trainee trainee;
    const gradstep_status started = start(world, trainee, rank, 3, kFarAwayMs);
    if (started != GRADSTEP_OK) return put(report, started, Stopwatch());
    train(trainee, report, [](int) {});
    const Stopwatch watch;
    gradstep_status recovered = connect(world, trainee.context, rank / 2, 2, kFarAwayMs, 1, &trainee.next);
    if (recovered == GRADSTEP_OK) recovered = trainee.training->recover(trainee.next);
    if (recovered != GRADSTEP_OK) remark(report, gradstep_last_error());
    report.numbers[1] = recovered;
    report.numbers[2] = trainee.training->fingerprint();
    const Stopwatch destruction;
    trainee.training.reset();
    report.numbers[3] = static_cast<double>(destruction.milliseconds());
  });
  ranks.await_announcement(1);
  const Stopwatch watch;
  ranks.signal(1, SIGKILL);
  const Report first = ranks.report(0);
  const Report second = ranks.report(2);
  for (const Report& report : {first, second}) {
    expect_promise(report);
    EXPECT_EQ(report.status, GRADSTEP_ERR_PEER_LOST) << report.text.data();
    EXPECT_EQ(report.numbers[1], GRADSTEP_OK) << "recovery: " << report.remark.data();
    EXPECT_LT(report.numbers[3], 1000) << "destroy blocked";
  }
  EXPECT_LT(watch.milliseconds(), 8000);
  // Between partial averages replicas differ.
  const bool is_partial = synchronisation().sync == GRADSTEP_SYNC_PARAMETERS_PARTIAL;
  EXPECT_TRUE(is_partial || first.numbers[2] == second.numbers[2]) << "parameters differ";
}

TEST_P(TrainingFaults, AStoppedPeerIsATimeout) {
  World world(2);
  Processes ranks = two_ranks(world, kTimeoutMs, [](Trainee&, int, int) {});
  ranks.await_announcement(1);
  ranks.signal(1, SIGSTOP);
  const Report report = ranks.report(0);
  expect_promise(report);
  EXPECT_EQ(report.status, GRADSTEP_ERR_TIMEOUT) << report.text.data();
  EXPECT_LE(report.milliseconds, kPromisedMs);
}

TEST_P(TrainingFaults, ALatePeerIsATimeoutForTheOneAndALostPeerForTheOther) {
  World world(2);
  Processes ranks = two_ranks(world, kTimeoutMs, [](Trainee&, int rank, int number) {
    if (rank == 1 && number == 3) ::usleep(1000 * (kPromisedMs + 200));
  });
  const Report early = ranks.report(0);
  expect_promise(early);
  EXPECT_EQ(early.status, GRADSTEP_ERR_TIMEOUT) << early.text.data();
  EXPECT_LE(early.milliseconds, kPromisedMs);
  const Report late = ranks.report(1);
  expect_promise(late);
  EXPECT_TRUE(late.status == GRADSTEP_ERR_PEER_LOST || late.status == GRADSTEP_ERR_TIMEOUT) << late.text.data();
  EXPECT_LE(late.milliseconds, kPromisedMs);
}

TEST_P(TrainingFaults, AbortFromAnotherThreadEndsAPush) {
  World world(2);
  Processes ranks = two_ranks(world, kFarAwayMs, [](Trainee& trainee, int rank, int number) {
    if (number != 3) return;
    if (rank == 1) ::usleep(400000);  // stays away, so that rank 0 waits
    if (rank == 0) {
      trainee.other_thread = std::thread([&] {
        ::usleep(100000);
        gradstep_comm_abort(trainee.comm);
      });
    }
  });
  const Report aborted = ranks.report(0);
  expect_promise(aborted);
  EXPECT_EQ(aborted.status, GRADSTEP_ERR_ABORTED) << aborted.text.data();
  EXPECT_LT(aborted.milliseconds, 1100);
  const Report peer = ranks.report(1);
  expect_promise(peer);
  EXPECT_TRUE(peer.status == GRADSTEP_ERR_PEER_LOST || peer.status == GRADSTEP_ERR_ABORTED) << peer.text.data();
  EXPECT_LT(peer.milliseconds, 2000);
}

TEST_P(TrainingFaults, TheHostsInterruptEndsAPush) {
  World world(2);
  Processes ranks = two_ranks(world, kFarAwayMs, [](Trainee&, int rank, int number) {
    if (number != 3) return;
    if (rank == 1) ::usleep(300000);
    if (rank == 0) interrupts = true;
  });
  const Report interrupted = ranks.report(0);
  expect_promise(interrupted);
  EXPECT_EQ(interrupted.status, GRADSTEP_ERR_ABORTED) << interrupted.text.data();
  EXPECT_LT(interrupted.milliseconds, 1000);
  const Report peer = ranks.report(1);
  expect_promise(peer);
  EXPECT_NE(peer.status, GRADSTEP_OK);
  EXPECT_LT(peer.milliseconds, 2000);
}

TEST_P(TrainingFaults, APeerThatLeavesIsLost) {
  World world(2);
  Processes ranks = two_ranks(world, kFarAwayMs, [&](Trainee& trainee, int rank, int number) {
    if (rank == 0 || number != 3) return;
    // Closes its connections and lives on.
    trainee.training.reset();
    gradstep_comm_destroy(trainee.comm);
    world.keep(-1);
    announce();
    for (;;) ::pause();
  });
  ranks.await_announcement(1);  // it trains
  ranks.await_announcement(1);  // it has left
  const Report report = ranks.report(0);
  expect_promise(report);
  EXPECT_EQ(report.status, GRADSTEP_ERR_PEER_LOST) << report.text.data();
  EXPECT_LT(report.milliseconds, 5000);
}

TEST_P(TrainingFaults, RanksThatDisagreeAreToldBeforeTheyTrain) {
  for (const Model& other : {Model{201, 32}, Model{200, 64}}) {
    World world(2);
    Processes ranks = world.fork(2, [&](int rank, Report& report) {
      Trainee trainee;
      const Stopwatch watch;
      put(report, start(world, trainee, rank, 2, kFarAwayMs, rank == 0 ? Model{} : other), watch);
    });
    for (const int rank : {0, 1}) {
      const Report report = ranks.report(rank);
      EXPECT_EQ(report.status, GRADSTEP_ERR_MISMATCH) << report.text.data();
      EXPECT_LT(report.milliseconds, 5000);
    }
  }
}

TEST_P(TrainingFaults, ManyTrainingsLeaveNothingBehind) {
  const bool is_quick = engine() != "gloo" || std::string(synchronisation().name) == "dense";
  const int rounds = is_quick ? 100 : 10;
  World world(2);
  Processes ranks = world.fork(2, [&](int rank, Report& report) {
    for (int round = 0; round < rounds; ++round) {
      {
        Trainee trainee;
        trainee.context = make_context();
        const gradstep_status connected =
            connect(world, trainee.context, rank, 2, kFarAwayMs, engine() == "host" ? 0 : round, &trainee.comm);
        if (connected != GRADSTEP_OK) return put(report, connected, Stopwatch());
        trainee.training = std::make_unique<Training>(trainee.context, trainee.comm, synchronisation(),
                                                      world.directory.path() + "/state", Model{10, 32});
        gradstep_status trained = trainee.training->status;
        for (int number = 0; number < 2 && trained == GRADSTEP_OK; ++number) trained = trainee.training->push(number);
        if (trained != GRADSTEP_OK) return put(report, trained, Stopwatch());
        // Every third ends in the middle. The sockets of "host" would not serve again.
        if (round % 3 == 2 && engine() != "host") {
          gradstep_comm_abort(trainee.comm);
          if (trainee.training->push(2) == GRADSTEP_OK) return put(report, GRADSTEP_ERR_INTERNAL, Stopwatch());
        }
      }
      report_holdings(report, round);
    }
  });
  for (const int rank : {0, 1}) expect_nothing_left(ranks.report(rank));
}

std::vector<std::string> all_engines() {
  std::vector<std::string> names = process_engines();
  names.emplace_back("host");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Training, TrainingFaults,
                         testing::Combine(testing::ValuesIn(all_engines()), testing::ValuesIn(synchronisations())),
                         [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param).name; });

/// What is wrong with a host's callback.
class HostFaults : public testing::TestWithParam<std::tuple<Misbehaviour, Synchronisation>> {};

TEST_P(HostFaults, ACallbackThatFailsBreaksTheCommunicatorOnBothSides) {
  const auto [misbehaviour, synchronisation] = GetParam();
  const TemporaryDirectory directory;
  SocketMesh mesh(2);
  Processes ranks(2, [&](int rank, Report& report) {
    mesh.keep(rank);
    gradstep_context* context = make_context();
    gradstep_comm* comm = nullptr;
    const gradstep_status connected = mesh.connect(context, kFarAwayMs, &comm);
    if (connected != GRADSTEP_OK) return put(report, connected, Stopwatch());
    Training training(context, comm, synchronisation, directory.path() + "/state");
    if (training.status != GRADSTEP_OK) return put(report, training.status, Stopwatch());
    for (int number = 0;; ++number) {
      if (rank == 1 && number == 3) mesh.misbehave(misbehaviour);
      const Stopwatch watch;
      const gradstep_status status = training.push(number);
      if (status == GRADSTEP_OK) continue;
      put(report, status, watch);
      remark(report, training.broken_promise());
      break;
    }
    gradstep_comm_destroy(comm);
    gradstep_context_destroy(context);
  });
  mesh.keep(-1);
  const Report peer = ranks.report(0);
  const Report own = ranks.report(1);
  EXPECT_EQ(own.status, GRADSTEP_ERR_CALLBACK) << own.text.data();
  EXPECT_NE(std::string(own.text.data()).find("out of paper"), std::string::npos) << own.text.data();
  EXPECT_EQ(peer.status, GRADSTEP_ERR_PEER_LOST) << peer.text.data();
  for (const Report& report : {own, peer}) {
    EXPECT_EQ(report.reported, 1);
    EXPECT_STREQ(report.remark.data(), "");
    EXPECT_LT(report.milliseconds, 5000);
  }
}

INSTANTIATE_TEST_SUITE_P(Training, HostFaults,
                         testing::Combine(testing::Values(Misbehaviour::fails, Misbehaviour::throws),
                                          testing::ValuesIn(synchronisations())),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) == Misbehaviour::fails ? "fails_" : "throws_") +
                                  std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace gradstep::test
