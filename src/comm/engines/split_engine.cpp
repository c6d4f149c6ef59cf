// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/engines/split_engine.h"

#include <algorithm>

#include "comm/callbacks.h"

namespace gradstep {

namespace {

struct Group {
  std::shared_ptr<Engine> channel;
  std::vector<std::int32_t> members;

  std::int32_t outer(std::int32_t rank) const { return members[static_cast<std::size_t>(rank)]; }
};

Group& group_of(void* user) { return *static_cast<Group*>(user); }

/// One function of the channel, which other communicators may be using too.
template <class Call>
gradstep_status on_channel(void* user, std::int64_t timeout_ms, Call&& call) noexcept {
  gradstep_status status = GRADSTEP_OK;
  const gradstep_status failed = guarded([&] {
    const Group& group = group_of(user);
    const Deadline deadline = Deadline::after_ms(timeout_ms);
    const Engine::Use use(*group.channel, deadline);
    if (group.channel->aborted()) fail(GRADSTEP_ERR_ABORTED, "the channel was aborted");
    status = call(group, group.channel->vtable(), group.channel->user(), deadline.remaining_ms());
  });
  return failed != GRADSTEP_OK ? failed : status;
}

}  // namespace

std::shared_ptr<Engine> make_split_engine(std::shared_ptr<Engine> channel, std::vector<std::int32_t> members) {
  const auto rank = std::find(members.begin(), members.end(), channel->rank()) - members.begin();
  gradstep_comm_vtable vtable =
      empty_vtable(static_cast<std::int32_t>(rank), static_cast<std::int32_t>(members.size()), channel->any_thread());
  vtable.send = [](void* user, const void* data, std::int64_t bytes, std::int32_t to, void* stream,
                   std::int64_t timeout_ms) {
    return on_channel(user, timeout_ms, [&](const Group& group, const auto& outer, void* outer_user, auto left) {
      return outer.send(outer_user, data, bytes, group.outer(to), stream, left);
    });
  };
  vtable.recv = [](void* user, void* data, std::int64_t bytes, std::int32_t from, void* stream,
                   std::int64_t timeout_ms) {
    return on_channel(user, timeout_ms, [&](const Group& group, const auto& outer, void* outer_user, auto left) {
      return outer.recv(outer_user, data, bytes, group.outer(from), stream, left);
    });
  };
  if (channel->vtable().send_recv != nullptr) {
    vtable.send_recv = [](void* user, const void* send, std::int64_t send_bytes, std::int32_t to, void* receive,
                          std::int64_t receive_bytes, std::int32_t from, void* stream, std::int64_t timeout_ms) {
      return on_channel(user, timeout_ms, [&](const Group& group, const auto& outer, void* outer_user, auto left) {
        return outer.send_recv(outer_user, send, send_bytes, group.outer(to), receive, receive_bytes, group.outer(from),
                               stream, left);
      });
    };
  }
  vtable.abort = [](void* user) { group_of(user).channel->abort(); };
  vtable.release = [](void* user) { delete static_cast<Group*>(user); };
  const std::string name = channel->name();
  const Engine::Medium medium = channel->medium();
  auto group = std::make_unique<Group>(Group{std::move(channel), std::move(members)});
  return Engine::make(name, vtable, group.release(), medium);
}

}  // namespace gradstep
