// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads of one process: a LocalGroup behind the vtable.
#include <algorithm>

#include "comm/callbacks.h"
#include "comm/communicator.h"
#include "comm/communicators.h"
#include "comm/engines/local_group.h"
#include "core/fork_safe.h"

namespace gradstep {

namespace {

/// One rank's membership.
struct Member {
  // In a forked child another thread may have held the group's lock: there the reference is leaked, not dropped.
  ForkSafe<std::shared_ptr<LocalGroup>> group;
  std::int32_t rank;

  Member(std::shared_ptr<LocalGroup> joined, std::int32_t as) : group(std::in_place, std::move(joined)), rank(as) {}
  ~Member() {
    if (!group.in_forked_child()) (*group)->leave(rank);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  LocalGroup* operator->() const { return group->get(); }
};

Member& member(void* user) { return *static_cast<Member*>(user); }

gradstep_comm_vtable local_vtable(std::int32_t rank, std::int32_t world_size);

gradstep_status dup(void* user, std::int64_t timeout_ms, gradstep_comm_vtable* out, void** out_user) {
  return guarded([&] {
    const Member& self = member(user);
    auto group = self->dup(self.rank, Deadline::after_ms(timeout_ms));
    *out = local_vtable(self.rank, self->world_size());
    *out_user = std::make_unique<Member>(std::move(group), self.rank).release();
  });
}

gradstep_status split_local(void* user, const std::int32_t* members, std::int32_t count, std::int64_t timeout_ms,
                            gradstep_comm_vtable* out, void** out_user) {
  return guarded([&] {
    const Member& self = member(user);
    const std::span ranks(members, static_cast<std::size_t>(count));
    auto group = self->split(self.rank, ranks, Deadline::after_ms(timeout_ms));
    if (group == nullptr) return;
    const auto rank = static_cast<std::int32_t>(std::find(ranks.begin(), ranks.end(), self.rank) - ranks.begin());
    *out = local_vtable(rank, count);
    *out_user = std::make_unique<Member>(std::move(group), rank).release();
  });
}

void carry_local(void* user, Said* said) { member(user)->carry(member(user).rank, said); }

gradstep_comm_vtable local_vtable(std::int32_t rank, std::int32_t world_size) {
  gradstep_comm_vtable vtable = empty_vtable(rank, world_size, true);
  vtable.all_gather = [](void* user, const void* send, void* receive, std::int64_t bytes, void*, std::int64_t ms) {
    const Member& self = member(user);
    return guarded([&] { self->all_gather(self.rank, send, receive, bytes, Deadline::after_ms(ms)); });
  };
  vtable.broadcast = [](void* user, void* data, std::int64_t bytes, std::int32_t root, void*, std::int64_t ms) {
    const Member& self = member(user);
    return guarded([&] { self->broadcast(self.rank, data, bytes, root, Deadline::after_ms(ms)); });
  };
  vtable.send = [](void* user, const void* data, std::int64_t bytes, std::int32_t to, void*, std::int64_t ms) {
    const Member& self = member(user);
    return guarded([&] { self->send(self.rank, data, bytes, to, Deadline::after_ms(ms)); });
  };
  vtable.recv = [](void* user, void* data, std::int64_t bytes, std::int32_t from, void*, std::int64_t ms) {
    const Member& self = member(user);
    return guarded([&] { self->recv(self.rank, data, bytes, from, Deadline::after_ms(ms)); });
  };
  vtable.send_recv = [](void* user, const void* send, std::int64_t send_bytes, std::int32_t to, void* receive,
                        std::int64_t receive_bytes, std::int32_t from, void*, std::int64_t ms) {
    const Member& self = member(user);
    return guarded([&] {
      self->send_recv(self.rank, send, send_bytes, to, receive, receive_bytes, from, Deadline::after_ms(ms));
    });
  };
  vtable.exchange = [](void* user, const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                       const std::int64_t* receive_bytes, void*, std::int64_t ms) {
    const Member& self = member(user);
    return guarded(
        [&] { self->exchange(self.rank, send, send_bytes, receive, receive_bytes, Deadline::after_ms(ms)); });
  };
  vtable.barrier = [](void* user, void*, std::int64_t ms) {
    const Member& self = member(user);
    return guarded([&] { self->barrier(self.rank, Deadline::after_ms(ms)); });
  };
  vtable.dup = dup;
  vtable.abort = [](void* user) { member(user)->abort(member(user).rank); };
  vtable.release = [](void* user) { delete static_cast<Member*>(user); };
  return vtable;
}

}  // namespace

std::vector<std::shared_ptr<Communicator>> make_local_communicators(const std::shared_ptr<Context>& context,
                                                                    std::int32_t world_size,
                                                                    const CommSettings& settings) {
  if (world_size < 1 || world_size > kMaxLocalRanks) {
    fail_argument("world_size: is {}, expected 1 to {}", world_size, kMaxLocalRanks);
  }
  const auto group = std::make_shared<LocalGroup>(world_size);
  const std::vector<std::uint64_t> hosts(static_cast<std::size_t>(world_size), 0);
  std::vector<std::shared_ptr<Communicator>> communicators;
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    auto user = std::make_unique<Member>(group, rank);
    auto engine = Engine::make("local", local_vtable(rank, world_size), user.release(), Engine::Medium::memory,
                               {split_local, carry_local, nullptr});
    auto communicator = std::make_shared<Communicator>(context, std::move(engine), settings, hosts);
    communicator->log_connected();
    communicators.push_back(std::move(communicator));
  }
  return communicators;
}

}  // namespace gradstep
