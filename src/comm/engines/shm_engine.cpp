// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks as processes of one host: a SharedGroup behind the vtable, and how they come together.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "comm/callbacks.h"
#include "comm/engines/met_engines.h"
#include "comm/engines/shared_group.h"
#include "comm/rendezvous/rendezvous.h"

namespace gradstep {

namespace {

/// What a rank tells the others at the rendezvous.
struct ShmAddress {
  std::uint64_t process_space;
  std::int64_t process;
  SegmentAddress segment;  // rank 0's; the others leave it empty
};

SharedGroup& group(void* user) { return *static_cast<SharedGroup*>(user); }

gradstep_comm_vtable shm_vtable(const SharedGroup& made) {
  gradstep_comm_vtable vtable = empty_vtable(made.rank(), made.world_size(), true);
  vtable.send = [](void* user, const void* data, std::int64_t bytes, std::int32_t to, void*, std::int64_t ms) {
    return guarded([&] { group(user).send(data, bytes, to, Deadline::after_ms(ms)); });
  };
  vtable.recv = [](void* user, void* data, std::int64_t bytes, std::int32_t from, void*, std::int64_t ms) {
    return guarded([&] { group(user).recv(data, bytes, from, Deadline::after_ms(ms)); });
  };
  vtable.send_recv = [](void* user, const void* send, std::int64_t send_bytes, std::int32_t to, void* receive,
                        std::int64_t receive_bytes, std::int32_t from, void*, std::int64_t ms) {
    return guarded(
        [&] { group(user).send_recv(send, send_bytes, to, receive, receive_bytes, from, Deadline::after_ms(ms)); });
  };
  vtable.exchange = [](void* user, const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                       const std::int64_t* receive_bytes, void*, std::int64_t ms) {
    return guarded([&] { group(user).exchange(send, send_bytes, receive, receive_bytes, Deadline::after_ms(ms)); });
  };
  vtable.dup = [](void* user, std::int64_t ms, gradstep_comm_vtable* out, void** out_user) {
    return guarded([&] {
      auto copy = group(user).dup(Deadline::after_ms(ms));
      *out = shm_vtable(*copy);
      *out_user = copy.release();
    });
  };
  vtable.abort = [](void* user) { group(user).abort(); };
  vtable.release = [](void* user) { delete &group(user); };
  return vtable;
}

void carry_shared(void* user, Said* said) { group(user).carry(said); }

gradstep_status split_shared(void* user, const std::int32_t* members, std::int32_t count, std::int64_t ms,
                             gradstep_comm_vtable* out, void** out_user) {
  return guarded([&] {
    if (count == 0) return;
    auto made = group(user).split({members, static_cast<std::size_t>(count)}, Deadline::after_ms(ms));
    *out = shm_vtable(*made);
    *out_user = made.release();
  });
}

std::vector<ShmAddress> meet(Rendezvous& rendezvous, const ShmAddress& own, std::int32_t world_size,
                             const Deadline& deadline) {
  std::vector<ShmAddress> addresses(static_cast<std::size_t>(world_size), own);
  const std::span<const char> bytes(reinterpret_cast<const char*>(addresses.data()), addresses.size() * sizeof own);
  const std::vector<char> met = rendezvous.meet(bytes, sizeof own, deadline);
  std::memcpy(addresses.data(), met.data(), met.size());
  return addresses;
}

std::unique_ptr<SharedGroup> connect(Rendezvous& rendezvous, std::int32_t rank, std::int32_t world_size,
                                     const Deadline& deadline) {
  ShmAddress own{process_space(), ::getpid(), {}};
  std::optional<SharedSegment> offered;
  if (rank == 0) {
    offered.emplace(SharedSegment::create(world_size));
    own.segment = offered->address();
  }
  const auto addresses = meet(rendezvous, own, world_size, deadline);
  std::vector<std::int32_t> processes;
  for (std::size_t r = 0; r < addresses.size(); ++r) {
    if (addresses[r].process_space != own.process_space) {
      fail(GRADSTEP_ERR_UNSUPPORTED,
           "shm: rank {} runs on another host or in another container than rank {}; gloo connects those", r, rank);
    }
    processes.push_back(static_cast<std::int32_t>(addresses[r].process));
  }
  auto watched = std::make_shared<const PeerProcesses>(processes, rank);
  SharedSegment segment =
      offered.has_value() ? std::move(*offered) : SharedSegment::open(addresses[0].segment, world_size);
  auto made = std::make_unique<SharedGroup>(std::move(segment), rank, world_size, std::move(watched));
  made->take_seat([&] { rendezvous.poll(); }, deadline);
  return made;
}

}  // namespace

std::shared_ptr<Engine> connect_shm(Store& store, const Context& context, const gradstep_comm_options& options,
                                    const std::string& room, const Deadline& deadline) {
  Rendezvous rendezvous(store, context, "shm", options, room);
  auto made = connect(rendezvous, options.rank, options.world_size, deadline);
  const gradstep_comm_vtable vtable = shm_vtable(*made);
  return Engine::make("shm", vtable, made.release(), Engine::Medium::memory, {split_shared, carry_shared, nullptr});
}

}  // namespace gradstep
