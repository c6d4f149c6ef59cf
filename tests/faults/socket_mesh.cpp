// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/socket_mesh.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace gradstep::test {

namespace {

struct Transfer {
  int socket;
  const char* outgoing;
  std::int64_t to_send;
  char* incoming;
  std::int64_t to_receive;
};

/// Moves what can be moved now. False if the peer is gone.
bool move(Transfer& transfer, short events) {
  if ((events & POLLOUT) != 0 && transfer.to_send > 0) {
    const ssize_t sent = ::send(transfer.socket, transfer.outgoing, static_cast<std::size_t>(transfer.to_send),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN;
    transfer.outgoing += sent;
    transfer.to_send -= sent;
  }
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && transfer.to_receive > 0) {
    const ssize_t got =
        ::recv(transfer.socket, transfer.incoming, static_cast<std::size_t>(transfer.to_receive), MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN;
    transfer.incoming += got;
    transfer.to_receive -= got;
  }
  return true;
}

}  // namespace

SocketMesh::SocketMesh(int ranks) : ranks_(ranks), sockets_(static_cast<std::size_t>(ranks * ranks), -1) {
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) {
      int ends[2] = {};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
      socket(a, b) = ends[0];
      socket(b, a) = ends[1];
    }
  }
}

SocketMesh::~SocketMesh() {
  for (const int socket : sockets_) {
    if (socket >= 0) ::close(socket);
  }
}

void SocketMesh::keep(int rank) {
  rank_ = rank;
  for (int own = 0; own < ranks_; ++own) {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (own == rank || socket(own, peer) < 0) continue;
      ::close(socket(own, peer));
      socket(own, peer) = -1;
    }
  }
}

gradstep_status SocketMesh::connect(gradstep_context* context, std::int64_t timeout_ms, gradstep_comm** out) {
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  vtable.rank = rank_;
  vtable.world_size = ranks_;
  vtable.any_thread = 1;
  vtable.all_gather = [](void* user, const void* send, void* receive, std::int64_t bytes, void*, std::int64_t ms) {
    return static_cast<SocketMesh*>(user)->all_gather(send, receive, bytes, ms);
  };
  vtable.abort = [](void* user) {
    for (const int socket : static_cast<SocketMesh*>(user)->sockets_) {
      if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
    }
  };
  gradstep_comm_options options{};
  gradstep_comm_options_init(&options, sizeof options);
  options.timeout_ms = timeout_ms;
  return gradstep_comm_create_host_ex(context, &vtable, this, &options, out);
}

gradstep_status SocketMesh::all_gather(const void* send, void* receive, std::int64_t bytes, std::int64_t timeout_ms) {
  if (misbehaviour_ == Misbehaviour::throws) throw std::runtime_error("out of paper");
  if (misbehaviour_ == Misbehaviour::fails) {
    gradstep_set_last_error("out of paper");
    return GRADSTEP_ERR_CALLBACK;
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  auto* blocks = static_cast<char*>(receive);
  std::vector<Transfer> transfers;
  std::vector<pollfd> polled;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) {
      std::memmove(blocks + peer * bytes, send, static_cast<std::size_t>(bytes));
    } else {
      transfers.push_back({socket(rank_, peer), static_cast<const char*>(send), bytes, blocks + peer * bytes, bytes});
      polled.push_back({socket(rank_, peer), 0, 0});
    }
  }
  for (;;) {
    bool is_done = true;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const bool sends = transfers[i].to_send > 0;
      const bool receives = transfers[i].to_receive > 0;
      polled[i].events = static_cast<short>((sends ? POLLOUT : 0) | (receives ? POLLIN : 0));
      polled[i].fd = sends || receives ? transfers[i].socket : -1;
      is_done = is_done && !sends && !receives;
    }
    if (is_done) return GRADSTEP_OK;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      gradstep_set_last_error("the sockets were silent until the deadline");
      return GRADSTEP_ERR_TIMEOUT;
    }
    ::poll(polled.data(), polled.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 1000)));
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      if (polled[i].revents != 0 && !move(transfers[i], polled[i].revents)) {
        gradstep_set_last_error("a socket was closed");
        return GRADSTEP_ERR_PEER_LOST;
      }
    }
  }
}

}  // namespace gradstep::test
