// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What engine "auto" takes.
#include "comm/engines/met_engines.h"

#include <algorithm>

#include "comm/communicator.h"
#include "comm/rendezvous/rendezvous.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

gradstep_comm_options auto_options(std::int32_t rank, std::int32_t world_size, const TemporaryDirectory& directory) {
  gradstep_comm_options options{};
  options.struct_size = sizeof options;
  options.engine = "auto";
  options.rank = rank;
  options.world_size = world_size;
  options.timeout_ms = 20000;
  options.store_path = directory.path().c_str();
  options.network_interface = "127.0.0.1";
  return options;
}

TEST(Auto, TakesSharedMemoryWhereAllRanksShareAHost) {
  const TemporaryDirectory directory;
  const auto outcomes = run_outcomes(3, [&](std::int32_t rank) {
    const auto comm = make_met_communicator(make_context(), auto_options(rank, 3, directory));
    EXPECT_EQ(comm->engine(), "shm");
    EXPECT_TRUE(comm->vote(true, comm->deadline()));
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_OK) << outcome.text;
}

TEST(Auto, TakesTheNetworkIfOneRankIsElsewhere) {
  const std::vector<std::string> built = engines();
  if (std::find(built.begin(), built.end(), "gloo") == built.end()) GTEST_SKIP() << "the gloo plugin was not built";
  const TemporaryDirectory directory;
  const auto outcomes = run_outcomes(3, [&](std::int32_t rank) {
    const auto context = make_context();
    const gradstep_comm_options options = auto_options(rank, 3, directory);
    if (rank == 1) {
      // What a rank of another machine would say, and then do.
      const auto store = open_store(options, 3, Deadline::after_ms(20000), nullptr, [] {});
      const std::vector<std::uint64_t> elsewhere(6, 12345);
      const std::span<const char> bytes(reinterpret_cast<const char*>(elsewhere.data()), 6 * sizeof elsewhere[0]);
      const Deadline deadline = Deadline::after_ms(20000);
      Rendezvous(*store, *context, "auto", options).meet(bytes, bytes.size() / 3, deadline);
      auto engine = connect_gloo(*store, *context, options, kChosenRoom, deadline);
      const auto comm = Communicator::handshake(context, std::move(engine), comm_settings(options), deadline);
      EXPECT_TRUE(comm->vote(true, comm->deadline()));
      return;
    }
    const auto comm = make_met_communicator(context, options);
    EXPECT_EQ(comm->engine(), "gloo");
    EXPECT_TRUE(comm->vote(true, comm->deadline()));
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_OK) << outcome.text;
}

TEST(Auto, AgainstAnEngineByNameIsAMismatchOnBothSides) {
  for (const char* other : {"shm", "gloo", "nccl"}) {
    const std::vector<std::string> built = engines();
    if (other == std::string("gloo") && std::find(built.begin(), built.end(), other) == built.end()) continue;
    const TemporaryDirectory directory;
    const auto outcomes = run_outcomes(2, [&](std::int32_t rank) {
      gradstep_comm_options options = auto_options(rank, 2, directory);
      if (rank == 1) options.engine = other;
      make_met_communicator(make_context(), options);
    });
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.status, GRADSTEP_ERR_MISMATCH) << other << ": " << outcome.text;
      EXPECT_NE(outcome.text.find("engine"), std::string::npos) << outcome.text;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
