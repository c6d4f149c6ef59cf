// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/comm/worlds.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "comm/callbacks.h"

namespace gradstep::test {

namespace {

HostRank& host(void* user) { return *static_cast<HostRank*>(user); }

Array array_of(const void* data, std::int64_t count, std::int32_t type_code, std::int32_t bits) {
  const gradstep_dtype dtype{static_cast<std::uint8_t>(type_code), static_cast<std::uint8_t>(bits), 1};
  return compact_array(const_cast<void*>(data), count, *from_dlpack(dtype));
}

gradstep_status host_all_gather(void* user, const void* send, void* receive, std::int64_t bytes, void*,
                                std::int64_t ms) {
  return guarded([&] { host(user).inner->all_gather(send, receive, bytes, Deadline::after_ms(ms)); });
}

gradstep_status host_all_reduce(void* user, void* data, std::int64_t count, std::int32_t type_code, std::int32_t bits,
                                std::int32_t op, void*, std::int64_t ms) {
  return guarded(
      [&] { host(user).inner->all_reduce(array_of(data, count, type_code, bits), op, 1, Deadline::after_ms(ms)); });
}

gradstep_status host_reduce_scatter(void* user, const void* send, void* receive, std::int64_t count,
                                    std::int32_t type_code, std::int32_t bits, std::int32_t op, void*,
                                    std::int64_t ms) {
  return guarded([&] {
    Communicator& inner = *host(user).inner;
    inner.reduce_scatter(array_of(send, count * inner.world_size(), type_code, bits),
                         array_of(receive, count, type_code, bits), op, Deadline::after_ms(ms));
  });
}

gradstep_status host_broadcast(void* user, void* data, std::int64_t bytes, std::int32_t root, void*, std::int64_t ms) {
  return guarded([&] { host(user).inner->broadcast(data, bytes, root, Deadline::after_ms(ms)); });
}

gradstep_status host_send(void* user, const void* data, std::int64_t bytes, std::int32_t to, void*, std::int64_t ms) {
  return guarded([&] { host(user).inner->send(data, bytes, to, Deadline::after_ms(ms)); });
}

gradstep_status host_recv(void* user, void* data, std::int64_t bytes, std::int32_t from, void*, std::int64_t ms) {
  return guarded([&] { host(user).inner->recv(data, bytes, from, Deadline::after_ms(ms)); });
}

gradstep_status host_barrier(void* user, void*, std::int64_t ms) {
  return guarded([&] { host(user).inner->barrier(Deadline::after_ms(ms)); });
}

gradstep_status host_dup(void* user, std::int64_t ms, gradstep_comm_vtable* out, void** out_user) {
  return guarded([&] {
    auto copy =
        std::make_unique<HostRank>(HostRank{host(user).inner->dup(Deadline::after_ms(ms)), host(user).releases});
    *out = host_vtable("host_all", *copy->inner);
    *out_user = copy.release();
  });
}

void host_release(void* user) {
  const std::unique_ptr<HostRank> rank(static_cast<HostRank*>(user));
  if (rank->releases != nullptr) ++*rank->releases;
}

World make_host_world(const std::string& kind, std::int32_t world_size, const CommSettings& settings,
                      const std::shared_ptr<Context>& context) {
  const World inner = make_local_communicators(context, world_size, settings);
  World world(inner.size());
  run(inner, [&](Communicator& rank) {
    const auto place = static_cast<std::size_t>(rank.rank());
    auto user = std::make_unique<HostRank>(HostRank{inner[place], nullptr});
    world[place] = make_host_communicator(context, host_vtable(kind, rank), user.release(), settings);
  });
  return world;
}

/// An engine whose ranks meet in a directory.
World make_met_world(const std::string& engine, std::int32_t world_size, const CommSettings& settings,
                     const std::shared_ptr<Context>& context) {
  const TemporaryDirectory directory;
  World world(static_cast<std::size_t>(world_size));
  const auto outcomes = run_outcomes(world_size, [&](std::int32_t rank) {
    gradstep_comm_options options{};
    options.struct_size = sizeof options;
    options.rank = rank;
    options.world_size = world_size;
    options.timeout_ms = settings.timeout_ms;
    options.reduction_order = settings.reduction_order;
    options.store_path = directory.path().c_str();
    options.network_interface = "127.0.0.1";
    options.engine = engine.c_str();
    world[static_cast<std::size_t>(rank)] = make_met_communicator(context, options);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_OK) << outcome.text;
  return world;
}

/// The even ranks of a world of twice the size, in reverse order.
World make_group_world(const std::string& engine, std::int32_t world_size, const CommSettings& settings,
                       const std::shared_ptr<Context>& context) {
  const World wide = make_world(engine, 2 * world_size, settings, context);
  World world(static_cast<std::size_t>(world_size));
  run(wide, [&](Communicator& rank) {
    const bool even = rank.rank() % 2 == 0;
    auto part = rank.split(even ? 1 : -1, -rank.rank(), rank.deadline());
    if (even) world[static_cast<std::size_t>(part->rank())] = std::move(part);
  });
  return world;
}

}  // namespace

gradstep_comm_vtable host_vtable(const std::string& kind, const Communicator& inner) {
  gradstep_comm_vtable vtable = empty_vtable(inner.rank(), inner.world_size(), true);
  vtable.all_gather = host_all_gather;
  vtable.abort = [](void* user) { host(user).inner->abort(); };
  vtable.release = host_release;
  if (kind == "host_pairs" || kind == "host_all") {
    vtable.send = host_send;
    vtable.recv = host_recv;
  }
  if (kind == "host_all") {
    vtable.rank_ordered = 1;
    vtable.all_reduce = host_all_reduce;
    vtable.reduce_scatter = host_reduce_scatter;
    vtable.broadcast = host_broadcast;
    vtable.barrier = host_barrier;
    vtable.dup = host_dup;
  }
  return vtable;
}

World make_world(const std::string& engine, std::int32_t world_size, const CommSettings& settings,
                 const std::shared_ptr<Context>& context) {
  if (engine == "local") return make_local_communicators(context, world_size, settings);
  if (engine == "shm" || engine == "gloo") return make_met_world(engine, world_size, settings, context);
  if (engine == "group") return make_group_world("local", world_size, settings, context);
  if (engine == "host_group") return make_group_world("host_pairs", world_size, settings, context);
  return make_host_world(engine, world_size, settings, context);
}

std::vector<std::string> engines() {
  std::vector<std::string> names = engines_of_one_machine();
  for (const char* name : {"host_gather", "host_pairs", "host_all", "group", "host_group"}) names.emplace_back(name);
#if defined(GRADSTEP_TEST_PLUGIN_DIR)
  names.emplace_back("gloo");
  ::setenv("GRADSTEP_PLUGIN_DIR", GRADSTEP_TEST_PLUGIN_DIR, 1);
#endif
  return names;
}

std::vector<std::string> engines_of_one_machine() {
  if (kConnectsProcesses) return {"local", "shm"};
  return {"local"};
}

bool has_gloo() {
  const std::vector<std::string> all = engines();
  return std::ranges::find(all, "gloo") != all.end();
}

std::vector<Outcome> run_outcomes(std::int32_t ranks, const std::function<void(std::int32_t)>& body) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      const auto begin = std::chrono::steady_clock::now();
      try {
        body(rank);
      } catch (...) {
        outcome.status = translate_exception();
        outcome.text = last_error();
      }
      const auto spent = std::chrono::steady_clock::now() - begin;
      outcome.milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(spent).count();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<Outcome> run_outcomes(const World& world, const std::function<void(Communicator&)>& body) {
  return run_outcomes(static_cast<std::int32_t>(world.size()),
                      [&](std::int32_t rank) { body(*world[static_cast<std::size_t>(rank)]); });
}

void run(const World& world, const std::function<void(Communicator&)>& body) {
  const auto outcomes = run_outcomes(world, body);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(outcomes[rank].status, GRADSTEP_OK) << "rank " << rank << ": " << outcomes[rank].text;
  }
}

}  // namespace gradstep::test
