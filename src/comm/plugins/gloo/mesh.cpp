// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How messages travel. Each peer has one persistent unbound buffer, its window: it begins at address 0 and has no end,
// so that any buffer of the host is an offset in it and no object is made per message. On each window hangs one receive
// that is never matched. libgloo tells only queued operations about a broken connection, not the one whose bytes are
// under way; the unmatched receive is always queued, so a peer's death wakes whoever waits on its window at once, and
// nobody else.
//
// A message's slot is its number on that connection and its length. Ranks that disagree about a length thus never
// match, and time out; matched with a wrong length, libgloo would throw on its own thread, which ends the process.
#include "comm/plugins/gloo/mesh.h"

#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <sys/resource.h>

#include <condition_variable>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>

#include "comm/plugins/failure.h"
#include "comm/plugins/gloo/haste.h"
#include "comm/plugins/gloo/signals.h"

namespace gradstep::gloo_plugin {

using namespace plugin;

namespace {

constexpr std::uint64_t kUnmatchedSlot = std::numeric_limits<std::uint64_t>::max();
constexpr std::chrono::milliseconds kConnectPoll{20};

constexpr std::uint64_t slot_of(std::uint64_t number, std::int64_t bytes) {
  constexpr int kLengthBits = 40;
  return (number << kLengthBits) ^ (static_cast<std::uint64_t>(bytes) & ((std::uint64_t{1} << kLengthBits) - 1));
}

std::size_t offset_of(const void* data) { return reinterpret_cast<std::size_t>(data); }

/// libgloo's text without the place in its sources.
std::string reason(const std::exception& error) {
  const std::string text = error.what();
  const auto end = text.find("] ");
  return !text.empty() && text[0] == '[' && end != std::string::npos ? text.substr(end + 2) : text;
}

std::chrono::milliseconds left(const Deadline& deadline) {
  return std::chrono::milliseconds(std::max<std::int64_t>(1, deadline.remaining_ms()));
}

rlim_t most_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

std::shared_ptr<::gloo::transport::Device> make_device(const std::string& address) {
  const AllSignalsBlocked blocked;  // the device starts a thread
  ::gloo::transport::tcp::attr attributes;
  attributes.hostname = address;
  return ::gloo::transport::tcp::CreateDevice(attributes);
}

Mesh::Mesh(int own_rank, int world_size, std::shared_ptr<::gloo::transport::Device> device, const Deadline& deadline)
    : ::gloo::Context(own_rank, world_size),
      windows_(static_cast<std::size_t>(world_size)),
      sends_(static_cast<std::size_t>(world_size)),
      receives_(static_cast<std::size_t>(world_size)) {
  device_ = std::move(device);
  transportContext_ = device_->createContext(own_rank, world_size);
  // Bounds libgloo's own wait for one connection, at five times this; connect() has the stricter watch.
  transportContext_->setTimeout(left(deadline));
  const Haste haste(device_);  // now, while there are descriptors
  try {
    for_each_peer([&](int peer) { transportContext_->createPair(peer)->setLocalRank(0); });
  } catch (const std::exception& error) {
    transportContext_.reset();
    fail(GRADSTEP_ERR_IO, "a socket for each of {} peers cannot be made: {} (the process may have {} descriptors)",
         size - 1, reason(error), most_descriptors());
  }
}

// Windows hold references on the transport; the pairs then close gracefully: what was sent still arrives.
Mesh::~Mesh() { windows_.clear(); }

template <class Body>
void Mesh::for_each_peer(Body&& body) {
  for (int step = 1; step < size; ++step) body((rank + step) % size);
}

std::vector<char> Mesh::address_for(int peer) { return getPair(peer)->address().bytes(); }

// libgloo connects one pair after the other and waits without regard to the others' time, so it does that on a thread
// of its own, and closing the pairs makes it return. Of each pair one side closes the socket on which it has listened.
void Mesh::connect(const std::vector<std::vector<char>>& addresses, const Deadline& deadline,
                   const std::function<void()>& poll) {
  const Haste haste(device_);
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::atomic<bool> stop{false};
  std::string failure;
  std::thread connecting;
  {
    const AllSignalsBlocked blocked;
    connecting = std::thread([&] {
      std::string text;
      try {
        connect_pairs(addresses, stop);
      } catch (const std::exception& error) {
        text = reason(error);
      }
      const std::lock_guard lock(mutex);
      failure = std::move(text);
      done = true;
      ended.notify_one();
    });
  }
  std::exception_ptr given_up;
  {
    std::unique_lock lock(mutex);
    while (!ended.wait_until(lock, Deadline::Clock::now() + kConnectPoll, [&] { return done; })) {
      lock.unlock();
      try {
        if (deadline.passed()) fail(GRADSTEP_ERR_TIMEOUT, "not all ranks connected until the deadline");
        poll();
      } catch (...) {
        given_up = std::current_exception();
      }
      lock.lock();
      if (given_up) break;
    }
  }
  if (given_up) {
    stop = true;
    close();
  }
  connecting.join();
  if (given_up) std::rethrow_exception(given_up);
  if (!failure.empty()) {
    close();
    fail(GRADSTEP_ERR_PEER_LOST, "{}", failure);
  }
  open_windows();
  // Nobody goes on, or leaves, before everybody has all connections.
  const char token = 1;
  std::vector<char> tokens(static_cast<std::size_t>(size));
  all_gather(&token, tokens.data(), 1, deadline);
}

// In ascending order on every rank: a rank that listens waits for one that is behind it, and chains of such waits
// descend, so they end.
void Mesh::connect_pairs(const std::vector<std::vector<char>>& addresses, const std::atomic<bool>& stop) {
  for (int peer = 0; peer < size && !stop; ++peer) {
    if (peer == rank) continue;
    try {
      getPair(peer)->connect(addresses[static_cast<std::size_t>(peer)]);
    } catch (const std::exception& error) {
      fail(GRADSTEP_ERR_PEER_LOST, "rank {} cannot be reached: {}", peer, reason(error));
    }
  }
}

void Mesh::open_windows() {
  for_each_peer([&](int peer) {
    guard(peer, nullptr, [&] {
      auto& window = windows_[static_cast<std::size_t>(peer)];
      window = createUnboundBuffer(nullptr, std::numeric_limits<std::size_t>::max());
      window->recv(peer, kUnmatchedSlot, 0, 0);
    });
  });
}

// Runs a step of libgloo that concerns `peer`. libgloo says in words what went wrong; the facts are ours to tell: an
// abort, a deadline that has passed, else a connection that broke.
template <class Work>
void Mesh::guard(int peer, const Deadline* deadline, Work&& work) {
  try {
    if (aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
    work();
  } catch (const std::exception& error) {
    close();
    if (aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
    if (deadline != nullptr && deadline->passed()) {
      fail(GRADSTEP_ERR_TIMEOUT,
           "rank {} did not answer until the deadline: it is slow or stopped, or makes a call of another size", peer);
    }
    fail(GRADSTEP_ERR_PEER_LOST, "the connection to rank {} broke: {}", peer, reason(error));
  }
}

void Mesh::post_send(int to, const void* data, std::int64_t bytes) {
  const auto place = static_cast<std::size_t>(to);
  guard(to, nullptr, [&] {
    windows_[place]->send(to, slot_of(sends_[place]++, bytes), offset_of(data), static_cast<std::size_t>(bytes));
  });
}

void Mesh::post_recv(int from, void* data, std::int64_t bytes) {
  const auto place = static_cast<std::size_t>(from);
  guard(from, nullptr, [&] {
    windows_[place]->recv(from, slot_of(receives_[place]++, bytes), offset_of(data), static_cast<std::size_t>(bytes));
  });
}

// A peer may leave right after its last message. When libgloo's wait wakes up then, it looks at the broken connection
// before it looks at the message that has come; asked again, it finds the message first.
template <class Wait>
void Mesh::finish(int peer, const Deadline& deadline, Wait&& wait) {
  guard(peer, &deadline, [&] {
    bool done = false;
    try {
      done = wait();
    } catch (const std::exception&) {
      done = wait();
    }
    if (!done) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
  });
}

void Mesh::wait_send(int to, const Deadline& deadline) {
  auto& window = *windows_[static_cast<std::size_t>(to)];
  finish(to, deadline, [&] { return window.waitSend(nullptr, left(deadline)); });
}

void Mesh::wait_recv(int from, const Deadline& deadline) {
  auto& window = *windows_[static_cast<std::size_t>(from)];
  finish(from, deadline, [&] { return window.waitRecv(nullptr, left(deadline)); });
}

void Mesh::all_gather(const void* send, char* receive, std::int64_t bytes, const Deadline& deadline) {
  char* own = receive + rank * bytes;
  if (own != send) std::memcpy(own, send, static_cast<std::size_t>(bytes));
  for_each_peer([&](int peer) { post_recv(peer, receive + peer * bytes, bytes); });
  for_each_peer([&](int peer) { post_send(peer, send, bytes); });
  for_each_peer([&](int peer) { wait_recv(peer, deadline); });
  for_each_peer([&](int peer) { wait_send(peer, deadline); });
}

void Mesh::exchange(const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                    const std::int64_t* receive_bytes, const Deadline& deadline) {
  for_each_peer([&](int peer) {
    if (receive_bytes[peer] > 0) post_recv(peer, receive[peer], receive_bytes[peer]);
  });
  for_each_peer([&](int peer) {
    if (send_bytes[peer] > 0) post_send(peer, send[peer], send_bytes[peer]);
  });
  for_each_peer([&](int peer) {
    if (receive_bytes[peer] > 0) wait_recv(peer, deadline);
  });
  for_each_peer([&](int peer) {
    if (send_bytes[peer] > 0) wait_send(peer, deadline);
  });
}

// Closing a pair waits until libgloo's thread has let go of it: no buffer is touched after this.
void Mesh::close() noexcept {
  const Haste haste(device_);
  try {
    closeConnections();
  } catch (const std::exception&) {
    // It throws only for pairs that are closed already.
  }
}

void Mesh::abort() noexcept {
  if (aborted_.exchange(true)) return;
  for (auto& window : windows_) {
    if (window == nullptr) continue;
    window->abortWaitRecv();
    window->abortWaitSend();
  }
  close();
}

}  // namespace gradstep::gloo_plugin
