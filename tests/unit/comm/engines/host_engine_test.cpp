// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What gradstep asks of a host's vtable, and what it makes of its mistakes.
#include <thread>

#include "comm/callbacks.h"
#include "comm/communicator.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

/// A host of one process whose functions behave as a test tells them; the peer's bytes are a copy of one's own.
struct ScriptedHost {
  gradstep_status status = GRADSTEP_OK;
  const char* text = "";
  std::int32_t order_of_peer = GRADSTEP_REDUCTION_RANK;
  bool swap_places = false;
  int releases = 0;
  int aborts = 0;
  Communicator* comm = nullptr;
  std::thread::id thread;

  gradstep_comm_vtable vtable() {
    gradstep_comm_vtable table = empty_vtable(0, 2, false);
    table.all_gather = [](void* user, const void* send, void* receive, std::int64_t bytes, void*, std::int64_t) {
      return static_cast<ScriptedHost*>(user)->gather(send, static_cast<char*>(receive), bytes);
    };
    table.abort = [](void* user) { ++static_cast<ScriptedHost*>(user)->aborts; };
    table.release = [](void* user) { ++static_cast<ScriptedHost*>(user)->releases; };
    return table;
  }

  gradstep_status gather(const void* send, char* receive, std::int64_t bytes) {
    thread = std::this_thread::get_id();
    const auto length = static_cast<std::size_t>(bytes);
    std::memcpy(receive, send, length);
    std::memcpy(receive + length, send, length);
    if (bytes == 24) {  // the introduction: host, rank, world_size, reduction_order
      auto* peer = reinterpret_cast<std::int32_t*>(receive + length);
      peer[2] = 1;
      peer[4] = order_of_peer;
      if (swap_places) std::swap_ranges(receive, receive + length, receive + length);
    }
    if (status != GRADSTEP_OK) set_last_error(text);
    return status;
  }
};

TEST(HostEngine, AVtableThatCannotWorkIsRefusedByName) {
  const auto context = make_context();
  const auto refuse = [&](const char* text, auto&& spoil) {
    ScriptedHost host;
    gradstep_comm_vtable vtable = host.vtable();
    spoil(vtable);
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, text, [&] { make_host_communicator(context, vtable, &host, {}); });
    EXPECT_EQ(host.releases, 1) << text;
  };
  refuse("vtable.all_gather", [](auto& v) { v.all_gather = nullptr; });
  refuse("vtable.world_size", [](auto& v) { v.world_size = 0; });
  refuse("vtable.rank", [](auto& v) { v.rank = 2; });
  refuse("vtable.rank", [](auto& v) { v.rank = -1; });
  refuse("vtable.recv", [](auto& v) {
    v.send = [](void*, const void*, std::int64_t, std::int32_t, void*, std::int64_t) { return GRADSTEP_OK + 0; };
  });
  refuse("vtable.rank_ordered", [](auto& v) { v.rank_ordered = 2; });
}

TEST(HostEngine, AFailingCallbackGivesItsStatusAndText) {
  ScriptedHost host;
  {
    const auto comm = make_host_communicator(make_context(), host.vtable(), &host, {});
    host.status = GRADSTEP_ERR_PEER_LOST;
    host.text = "the scheduler took rank 1";
    char own = 0;
    char all[2] = {};
    expect_error(GRADSTEP_ERR_PEER_LOST, host.text, [&] { comm->all_gather(&own, all, 1, comm->deadline()); });
    host.status = GRADSTEP_OK;
    expect_error(GRADSTEP_ERR_PEER_LOST, host.text, [&] { comm->all_gather(&own, all, 1, comm->deadline()); });
    EXPECT_EQ(host.releases, 0);
  }
  EXPECT_EQ(host.releases, 1);
}

TEST(HostEngine, AnUnknownStatusIsACallbackError) {
  for (const gradstep_status status : {-4711, 1}) {
    ScriptedHost host;
    const auto comm = make_host_communicator(make_context(), host.vtable(), &host, {});
    host.status = status;
    host.text = "odd";
    expect_error(GRADSTEP_ERR_CALLBACK, "odd", [&] { comm->vote(true, comm->deadline()); });
  }
}

TEST(HostEngine, ItIsReleasedWhenTheRanksDoNotFit) {
  ScriptedHost host;
  host.order_of_peer = GRADSTEP_REDUCTION_ENGINE;
  expect_error(GRADSTEP_ERR_MISMATCH, "reduction_order",
               [&] { make_host_communicator(make_context(), host.vtable(), &host, {}); });
  EXPECT_EQ(host.releases, 1);
}

TEST(HostEngine, AnAllGatherThatMixesUpRanksIsFound) {
  ScriptedHost host;
  host.swap_places = true;
  expect_error(GRADSTEP_ERR_MISMATCH, "all_gather",
               [&] { make_host_communicator(make_context(), host.vtable(), &host, {}); });
}

TEST(HostEngine, WithoutAnyThreadItIsCalledOnTheCallersThreadOnly) {
  ScriptedHost host;
  auto options = default_context_options();
  options.interrupt = [](void*) -> std::int32_t { return 0; };
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  const auto comm = make_host_communicator(context, host.vtable(), &host, {});
  comm->vote(true, comm->deadline());
  EXPECT_EQ(host.thread, std::this_thread::get_id());
  comm->abort();
  EXPECT_EQ(host.aborts, 0);
  EXPECT_EQ(comm->status().code, GRADSTEP_ERR_ABORTED);
}

TEST(HostEngine, ItsAbortMayAbortTheCommunicator) {
  ScriptedHost host;
  gradstep_comm_vtable vtable = host.vtable();
  vtable.any_thread = 1;
  vtable.abort = [](void* user) {
    auto& self = *static_cast<ScriptedHost*>(user);
    ++self.aborts;
    self.comm->abort();
  };
  const auto comm = make_host_communicator(make_context(), vtable, &host, {});
  host.comm = comm.get();
  comm->abort();
  EXPECT_EQ(host.aborts, 1);
  EXPECT_EQ(comm->status().code, GRADSTEP_ERR_ABORTED);
}

TEST(HostEngine, WithoutDupTheCopySharesTheChannelAndTheRelease) {
  ScriptedHost host;
  {
    auto comm = make_host_communicator(make_context(), host.vtable(), &host, {});
    const auto copy = comm->dup(comm->deadline());
    comm.reset();
    EXPECT_EQ(host.releases, 0);
    EXPECT_TRUE(copy->vote(true, copy->deadline()));
  }
  EXPECT_EQ(host.releases, 1);
}

TEST(HostEngine, ADupOfItsOwnIsReleasedOnItsOwn) {
  const World inner = make_world("local", 2);
  int releases[2] = {};
  run(inner, [&](Communicator& rank) {
    const auto place = static_cast<std::size_t>(rank.rank());
    auto user = std::make_unique<HostRank>(HostRank{inner[place], &releases[place]});
    const auto comm = make_host_communicator(make_context(), host_vtable("host_all", rank), user.release(), {});
    auto copy = comm->dup(comm->deadline());
    EXPECT_TRUE(copy->vote(true, copy->deadline()));
    copy.reset();
    EXPECT_EQ(releases[place], 1);
    EXPECT_TRUE(comm->vote(true, comm->deadline()));
  });
  EXPECT_EQ(releases[0], 2);
  EXPECT_EQ(releases[1], 2);
}

TEST(HostEngine, LocalRankCountsRanksOfTheSameHostName) {
  const auto context = make_context();
  ScriptedHost host;
  gradstep_comm_vtable vtable = host.vtable();
  auto engine = Engine::make("host", vtable, &host);
  const Communicator same(context, engine, {}, {7, 7});
  EXPECT_EQ(local_rank(same), 0);
  run(make_world("local", 3), [](Communicator& comm) { EXPECT_EQ(local_rank(comm), comm.rank()); });
}

}  // namespace
}  // namespace gradstep::test
