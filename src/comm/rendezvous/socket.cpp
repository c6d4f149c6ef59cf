// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/socket.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "core/error.h"

namespace gradstep {

namespace {

[[noreturn]] void fail_io(const char* call) { fail(GRADSTEP_ERR_IO, "{}: {}", call, std::strerror(errno)); }

/// False at the deadline.
bool wait_for(const FileDescriptor& socket, short events, const Deadline& deadline) {
  for (;;) {
    pollfd entry{socket.get(), events, 0};
    const auto left = std::min<std::int64_t>(deadline.remaining_ms(), INT_MAX);
    const int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) fail_io("poll");
  }
}

[[noreturn]] void fail_late() { fail(GRADSTEP_ERR_TIMEOUT, "the store did not answer until the deadline"); }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

FileDescriptor listen_at(const NetworkAddress& address) {
  FileDescriptor listener(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.valid()) fail_io("socket");
  const int on = 1;  // connections of an earlier store that linger do not keep the port
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener.get(), address.get(), address.length) != 0) fail_io("bind");
  if (::listen(listener.get(), SOMAXCONN) != 0) fail_io("listen");
  return listener;
}

FileDescriptor listen_on(NetworkAddress& address) {
  address.set_port(0);
  FileDescriptor listener = listen_at(address);
  address = local_address(listener);
  return listener;
}

NetworkAddress local_address(const FileDescriptor& socket) {
  NetworkAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    fail_io("getsockname");
  }
  return address.unmapped();
}

bool is_of_this_user(const FileDescriptor& socket) {
  if (local_address(socket).family() != AF_UNIX) return true;
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

FileDescriptor connect_to(const NetworkAddress& address, const Deadline& deadline) {
  FileDescriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) fail_io("socket");
  if (::connect(socket.get(), address.get(), address.length) != 0) {
    if (errno != EINPROGRESS) fail_io("connect");
    if (!wait_for(socket, POLLOUT, deadline)) fail_late();
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    errno = error;
    if (error != 0) fail_io("connect");
  }
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

std::size_t send_some(const FileDescriptor& socket, const void* data, std::size_t bytes, const Deadline& deadline) {
  for (;;) {
    const ssize_t sent = ::send(socket.get(), data, bytes, MSG_NOSIGNAL);
    if (sent > 0) return static_cast<std::size_t>(sent);
    if (would_block()) {
      if (!wait_for(socket, POLLOUT, deadline)) return 0;
    } else if (errno != EINTR) {
      fail_io("send");
    }
  }
}

std::size_t recv_some(const FileDescriptor& socket, void* data, std::size_t bytes, const Deadline& deadline) {
  for (;;) {
    const ssize_t got = ::recv(socket.get(), data, bytes, 0);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) fail(GRADSTEP_ERR_IO, "the store closed the connection");
    if (would_block()) {
      if (!wait_for(socket, POLLIN, deadline)) return 0;
    } else if (errno != EINTR) {
      fail_io("recv");
    }
  }
}

void send_all(const FileDescriptor& socket, const void* data, std::size_t bytes, const Deadline& deadline) {
  const auto* next = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const std::size_t sent = send_some(socket, next, bytes, deadline);
    if (sent == 0) fail_late();
    next += sent;
    bytes -= sent;
  }
}

void recv_all(const FileDescriptor& socket, void* data, std::size_t bytes, const Deadline& deadline) {
  auto* next = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const std::size_t got = recv_some(socket, next, bytes, deadline);
    if (got == 0) fail_late();
    next += got;
    bytes -= got;
  }
}

}  // namespace gradstep
