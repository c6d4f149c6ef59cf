// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Connections of one rank to all others, on libgloo's TCP transport, with the failure rules that libgloo lacks: one
// deadline for connecting to all, abort from any thread, a dead peer noticed in the middle of a message.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/plugins/gloo/calls.h"
#include "comm/plugins/gloo/pairs.h"
#include "core/deadline.h"

struct gradstep_plugin_ring;

namespace gradstep::gloo_plugin {

/// Sockets bound to a numeric address of this machine, and the thread that serves them. Meshes share it.
std::shared_ptr<::gloo::transport::Device> make_device(const std::string& address);

/// One call at a time, except abort(). After any failure the mesh is closed: the callers' buffers are no longer
/// touched, and the peers see their connections close.
class Mesh : public ::gloo::Context {
 public:
  /// Listens for every peer.
  Mesh(int rank, int size, std::shared_ptr<::gloo::transport::Device> device, const Deadline& deadline);
  ~Mesh() override;

  /// Where `peer` shall connect to; all of one length.
  std::vector<char> address_for(int peer);

  /// Connects to every peer p at addresses[p]. `poll` runs every few milliseconds and ends the wait by throwing.
  void connect(const std::vector<std::vector<char>>& addresses, const Deadline& deadline,
               const std::function<void()>& poll);

  void send(int to, const void* data, std::int64_t bytes, const Deadline& deadline);
  void recv(int from, void* data, std::int64_t bytes, const Deadline& deadline);
  void send_recv(int to, const void* send, std::int64_t send_bytes, int from, void* receive, std::int64_t receive_bytes,
                 const Deadline& deadline);
  void all_gather(const void* send, char* receive, std::int64_t bytes, const Deadline& deadline);
  /// As gradstep_comm_vtable::exchange.
  void exchange(const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                const std::int64_t* receive_bytes, const Deadline& deadline);

  /// As gradstep_plugin_engine::reduce_by_ring.
  void reduce_by_ring(const gradstep_plugin_ring& ring, const Deadline& deadline);

  /// From here on ranks compare what is said before each call, and what differs is a MISMATCH on all of them.
  void carry(Said* said);

  void abort() noexcept;
  bool aborted() const noexcept { return aborted_.load(); }

 private:
  CarefulPair& pair_of(int peer);
  void post_send(int to, const void* data, std::int64_t bytes, Way way);
  void post_recv(int from, void* data, std::int64_t bytes, Way way);
  /// Each ends one post to that peer.
  void wait_send(int to, const Deadline& deadline);
  void wait_recv(int from, Way way, const Deadline& deadline);
  void begin_to_connect(const std::vector<std::vector<char>>& addresses);
  void wait_until_connected(int peer, const Deadline& deadline, const std::function<void()>& poll);
  void gather_in_stages(const void* send, char* receive, std::int64_t bytes, const Deadline& deadline);
  void open_windows();
  void close() noexcept;
  void tell_difference() noexcept;
  void wake() noexcept;
  template <class Work>
  void guard(int peer, const Deadline* deadline, Work&& work);
  template <class Wait>
  void finish(int peer, const Deadline& deadline, Wait&& wait);
  template <class Body>
  void for_each_peer(Body&& body);

  std::vector<std::unique_ptr<::gloo::transport::UnboundBuffer>> windows_;  // one per peer
  std::vector<char> blocks_;                                                // on their way through this rank
  std::shared_ptr<Calls> calls_;
  std::atomic<bool> aborted_{false};
};

}  // namespace gradstep::gloo_plugin
