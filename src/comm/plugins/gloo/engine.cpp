// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/plugin.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "comm/plugins/failure.h"
#include "comm/plugins/gloo/haste.h"
#include "comm/plugins/gloo/mesh.h"
#include "comm/plugins/gloo/signals.h"

namespace gradstep::gloo_plugin {

using namespace plugin;

namespace {

struct GlooEngine {
  GlooEngine() = default;
  ~GlooEngine() {
    if (mesh == nullptr) return;
    Haste haste(mesh->getDevice());
    haste.start();
    mesh.reset();
  }
  GlooEngine(const GlooEngine&) = delete;
  GlooEngine& operator=(const GlooEngine&) = delete;

  std::unique_ptr<Mesh> mesh;
  pid_t process = getpid();
};

Mesh& mesh_of(void* user) { return *static_cast<GlooEngine*>(user)->mesh; }

/// The body of a vtable function that talks to peers.
template <class Body>
gradstep_status talk(void* user, std::int64_t timeout_ms, Body&& body) noexcept {
  const SigpipeBlocked blocked;
  return at_border([&] { body(mesh_of(user), Deadline::after_ms(timeout_ms)); });
}

void fill(gradstep_comm_vtable& vtable, const Mesh& mesh);

gradstep_status all_gather(void* user, const void* send, void* receive, std::int64_t bytes, void*,
                           std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](Mesh& mesh, const Deadline& deadline) {
    mesh.all_gather(send, static_cast<char*>(receive), bytes, deadline);
  });
}

gradstep_status send(void* user, const void* data, std::int64_t bytes, std::int32_t to, void*,
                     std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](Mesh& mesh, const Deadline& deadline) { mesh.send(to, data, bytes, deadline); });
}

gradstep_status recv(void* user, void* data, std::int64_t bytes, std::int32_t from, void*, std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](Mesh& mesh, const Deadline& deadline) { mesh.recv(from, data, bytes, deadline); });
}

gradstep_status send_recv(void* user, const void* send, std::int64_t send_bytes, std::int32_t to, void* receive,
                          std::int64_t receive_bytes, std::int32_t from, void*, std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](Mesh& mesh, const Deadline& deadline) {
    mesh.send_recv(to, send, send_bytes, from, receive, receive_bytes, deadline);
  });
}

gradstep_status exchange(void* user, const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                         const std::int64_t* receive_bytes, void*, std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](Mesh& mesh, const Deadline& deadline) {
    mesh.exchange(send, send_bytes, receive, receive_bytes, deadline);
  });
}

std::vector<std::vector<char>> addresses_of(Mesh& mesh) {
  std::vector<std::vector<char>> addresses(static_cast<std::size_t>(mesh.size));
  for (int peer = 0; peer < mesh.size; ++peer) {
    if (peer != mesh.rank) addresses[static_cast<std::size_t>(peer)] = mesh.address_for(peer);
  }
  return addresses;
}

/// Every peer's address for this rank, in return for this rank's addresses for them, before there are connections.
std::vector<std::vector<char>> meet(const gradstep_plugin_rendezvous& rendezvous, std::vector<std::vector<char>> own,
                                    const Deadline& deadline) {
  std::size_t length = 0;
  for (const auto& address : own) length = std::max(length, address.size());
  std::vector<char> given;
  for (auto& address : own) {
    address.resize(length);  // the one for this rank itself is empty
    given.insert(given.end(), address.begin(), address.end());
  }
  std::vector<char> got(given.size());
  check_callback(rendezvous.meet(rendezvous.user, given.data(), length, got.data(), deadline.remaining_ms()));
  std::vector<std::vector<char>> theirs;
  for (auto begin = got.begin(); theirs.size() < own.size(); begin += static_cast<std::ptrdiff_t>(length)) {
    theirs.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
  }
  return theirs;
}

/// Exchanges them over the connections of `mesh`, between the ranks `members`.
std::vector<std::vector<char>> exchange_addresses(Mesh& mesh, std::span<const std::int32_t> members,
                                                  const std::vector<std::vector<char>>& own, const Deadline& deadline) {
  std::vector<std::vector<char>> theirs = own;
  std::vector<const void*> send(static_cast<std::size_t>(mesh.size));
  std::vector<void*> receive(send.size());
  std::vector<std::int64_t> bytes(send.size());
  for (std::size_t peer = 0; peer < own.size(); ++peer) {
    const auto place = static_cast<std::size_t>(members[peer]);
    send[place] = own[peer].data();
    receive[place] = theirs[peer].data();
    bytes[place] = static_cast<std::int64_t>(own[peer].size());
  }
  mesh.exchange(send.data(), bytes.data(), receive.data(), bytes.data(), deadline);
  return theirs;
}

/// A mesh of the ranks `members`, of which this one is one, is connected over theirs: no store is needed.
void make_group(Mesh& mesh, std::span<const std::int32_t> members, const Deadline& deadline, gradstep_comm_vtable* out,
                void** out_user) {
  const auto rank = static_cast<int>(std::find(members.begin(), members.end(), mesh.rank) - members.begin());
  auto engine = std::make_unique<GlooEngine>();
  engine->mesh = std::make_unique<Mesh>(rank, static_cast<int>(members.size()), mesh.getDevice(), deadline);
  const auto addresses = exchange_addresses(mesh, members, addresses_of(*engine->mesh), deadline);
  engine->mesh->connect(addresses, deadline, [&] {
    if (mesh.aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
  });
  fill(*out, *engine->mesh);
  *out_user = engine.release();
}

gradstep_status dup(void* user, std::int64_t timeout_ms, gradstep_comm_vtable* out, void** out_user) {
  return talk(user, timeout_ms, [&](Mesh& mesh, const Deadline& deadline) {
    std::vector<std::int32_t> everyone(static_cast<std::size_t>(mesh.size));
    std::iota(everyone.begin(), everyone.end(), 0);
    make_group(mesh, everyone, deadline, out, out_user);
  });
}

gradstep_status split(void* user, const std::int32_t* members, std::int32_t count, std::int64_t timeout_ms,
                      gradstep_comm_vtable* out, void** out_user) {
  return talk(user, timeout_ms, [&](Mesh& mesh, const Deadline& deadline) {
    if (count > 0) make_group(mesh, {members, static_cast<std::size_t>(count)}, deadline, out, out_user);
  });
}

gradstep_status reduce_by_ring(void* user, const gradstep_plugin_ring* ring, std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](Mesh& mesh, const Deadline& deadline) { mesh.reduce_by_ring(*ring, deadline); });
}

void carry(void* user, Said* said) { mesh_of(user).carry(said); }

void abort(void* user) {
  const SigpipeBlocked blocked;
  mesh_of(user).abort();
}

void release(void* user) {
  std::unique_ptr<GlooEngine> engine(static_cast<GlooEngine*>(user));
  if (engine->process != getpid()) {
    // A forked child has none of libgloo's threads, and would wait for them.
    static_cast<void>(engine->mesh.release());
    return;
  }
  const SigpipeBlocked blocked;
  engine.reset();
}

void fill(gradstep_comm_vtable& vtable, const Mesh& mesh) {
  vtable.rank = mesh.rank;
  vtable.world_size = mesh.size;
  vtable.any_thread = 1;
  vtable.all_gather = all_gather;
  vtable.send = send;
  vtable.recv = recv;
  vtable.send_recv = send_recv;
  vtable.exchange = exchange;
  vtable.dup = dup;
  vtable.abort = abort;
  vtable.release = release;
}

gradstep_status connect(const gradstep_comm_options* options, const gradstep_plugin_rendezvous* rendezvous, const void*,
                        gradstep_comm_vtable* vtable, void** user) {
  const SigpipeBlocked blocked;
  return at_border([&] {
    const Deadline deadline = Deadline::after_ms(options->timeout_ms);
    auto engine = std::make_unique<GlooEngine>();
    engine->mesh =
        std::make_unique<Mesh>(options->rank, options->world_size, make_device(options->network_interface), deadline);
    const auto addresses = meet(*rendezvous, addresses_of(*engine->mesh), deadline);
    engine->mesh->connect(addresses, deadline, [&] { check_callback(rendezvous->poll(rendezvous->user)); });
    fill(*vtable, *engine->mesh);
    *user = engine.release();
  });
}

}  // namespace

}  // namespace gradstep::gloo_plugin

const gradstep_plugin_engine gradstep::plugin::engine = {"gloo", &gradstep::gloo_plugin::connect,
                                                         &gradstep::gloo_plugin::split, &gradstep::gloo_plugin::carry,
                                                         &gradstep::gloo_plugin::reduce_by_ring};
