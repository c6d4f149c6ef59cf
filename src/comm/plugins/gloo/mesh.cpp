// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How messages travel. Each peer has one persistent unbound buffer, its window: it begins at address 0 and has no end,
// so that any buffer of the host is an offset in it and no object is made per message. On each window hangs one receive
// that is never matched. libgloo tells only queued operations about a broken connection, not the one whose bytes are
// under way; the unmatched receive is always queued, so a peer's death wakes the threads that wait on its window at
// once, and no others.
//
// A message's slot is its number on that connection, its length, and the call that it belongs to. Ranks that disagree
// thus never match, and no byte reaches a host's buffer; each learns of the other's call by the announcements (see
// Calls).
#include "comm/plugins/gloo/mesh.h"

#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <system_error>

#include "comm/gather_stages.h"
#include "comm/plugins/failure.h"
#include "comm/plugins/gloo/device_thread.h"
#include "comm/plugins/gloo/haste.h"
#include "comm/plugins/gloo/signals.h"
#include "core/file_descriptor.h"
#include "core/platform/posix/most_descriptors.h"

namespace gradstep::gloo_plugin {

using namespace plugin;

namespace {

constexpr std::chrono::milliseconds kConnectPoll{20};

/// Without the bit kAtOnce.
constexpr std::uint64_t slot_of(const Calls::Posted& message, std::int64_t bytes) {
  constexpr int kLengthBits = 40;
  constexpr std::uint64_t kMixer = 0x9e3779b97f4a7c15;
  return (((message.number + (message.call * kMixer >> kLengthBits)) << kLengthBits) ^
          (static_cast<std::uint64_t>(bytes) & ((std::uint64_t{1} << kLengthBits) - 1))) &
         ~kAtOnce;
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

[[noreturn]] void fail_for_want_of_threads() { fail(GRADSTEP_ERR_OUT_OF_MEMORY, "gloo: no thread can be started"); }

/// What libgloo's text begins with where this process, not the peer, lacks something.
bool is_of_this_process(const std::string& text) {
  for (const char* call : {"socket: ", "setsockopt: ", "accept: "}) {
    if (text.starts_with(call)) return true;
  }
  return false;
}

/// libgloo's own lookup keeps the list when a socket cannot be made.
::gloo::transport::tcp::attr look_up(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(address.c_str(), nullptr, &hints, &list);
  if (failed == EAI_MEMORY) throw std::bad_alloc();
  if (failed != 0) fail(GRADSTEP_ERR_INVALID_ARGUMENT, "network_interface: {}: {}", address, gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  ::gloo::transport::tcp::attr found;
  found.hostname = address;
  found.ai_family = list->ai_family;
  found.ai_socktype = list->ai_socktype;
  found.ai_protocol = list->ai_protocol;
  std::memcpy(&found.ai_addr, list->ai_addr, list->ai_addrlen);
  found.ai_addrlen = static_cast<int>(list->ai_addrlen);
  return found;
}

static_assert(kMostStagedBytes <= kMostBytesAtOnce);

/// body(distance) for each distance of a stage.
template <class Body>
void for_each_distance(int ranks, int width, Body&& body) {
  for (int step = 1; step < kStageRadix && step * width < ranks; ++step) body(step * width);
}

}  // namespace

std::shared_ptr<::gloo::transport::Device> make_device(const std::string& address) {
  const AllSignalsBlocked blocked;  // the device starts a thread
  const ::gloo::transport::tcp::attr attributes = look_up(address);
  try {
    return std::make_shared<::gloo::transport::tcp::Device>(attributes);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error&) {
    fail_for_want_of_threads();
  } catch (const std::exception& error) {
    fail(GRADSTEP_ERR_IO, "network_interface: nothing can be opened on {}: {} (the process may have {} descriptors)",
         address, reason(error), most_descriptors());
  }
}

Mesh::Mesh(int own_rank, int world_size, std::shared_ptr<::gloo::transport::Device> device, const Deadline& deadline)
    : ::gloo::Context(own_rank, world_size),
      windows_(static_cast<std::size_t>(world_size)),
      calls_(std::make_shared<Calls>(own_rank, world_size)) {
  device_ = std::move(device);
  transportContext_ = std::make_shared<CarefulContext>(
      std::dynamic_pointer_cast<::gloo::transport::tcp::Device>(device_), own_rank, world_size, calls_);
  // Bounds libgloo's own wait for one connection, at five times this; connect() has the stricter watch.
  transportContext_->setTimeout(left(deadline));
  Haste haste(device_);  // now, while there are descriptors
  try {
    for_each_peer([&](int peer) { transportContext_->createPair(peer)->setLocalRank(0); });
  } catch (const std::bad_alloc&) {
    haste.start();
    transportContext_.reset();
    throw;
  } catch (const std::exception& error) {
    haste.start();
    transportContext_.reset();
    fail(GRADSTEP_ERR_IO, "a socket for each of {} peers cannot be made: {} (the process may have {} descriptors)",
         size - 1, reason(error), most_descriptors());
  }
}

// Windows hold references on the transport; the pairs then close gracefully: what was sent still arrives.
Mesh::~Mesh() {
  calls_->set_alarm(nullptr);
  windows_.clear();
}

template <class Body>
void Mesh::for_each_peer(Body&& body) {
  for (int step = 1; step < size; ++step) body((rank + step) % size);
}

std::vector<char> Mesh::address_for(int peer) { return pair_of(peer).place(); }

// libgloo would connect one pair after the other. So all are begun at once, and it takes up those where a socket has
// something to say.
void Mesh::connect(const std::vector<std::vector<char>>& addresses, const Deadline& deadline,
                   const std::function<void()>& poll) {
  try {
    begin_to_connect(addresses);
    for_each_peer([&](int peer) { wait_until_connected(peer, deadline, poll); });
  } catch (...) {
    close();
    throw;
  }
  open_windows();
  // No rank goes on, or leaves, before every rank has all connections.
  const char token = 1;
  std::vector<char> tokens(static_cast<std::size_t>(size));
  all_gather(&token, tokens.data(), 1, deadline);
}

void Mesh::begin_to_connect(const std::vector<std::vector<char>>& addresses) {
  try {
    run_on_device_thread(device_, [&] {
      for_each_peer([&](int peer) { pair_of(peer).begin_to_connect(addresses[static_cast<std::size_t>(peer)]); });
    });
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail(GRADSTEP_ERR_IO, "no connections can be made: {} (the process may have {} descriptors)", reason(error),
         most_descriptors());
  }
}

void Mesh::wait_until_connected(int peer, const Deadline& deadline, const std::function<void()>& poll) {
  for (;;) {
    try {
      if (pair_of(peer).is_connected_by(Deadline::Clock::now() + kConnectPoll)) return;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      const std::string text = reason(error);
      if (is_of_this_process(text)) {
        fail(GRADSTEP_ERR_IO, "no connection to rank {} can be made: {} (the process may have {} descriptors)", peer,
             text, most_descriptors());
      }
      fail(GRADSTEP_ERR_PEER_LOST, "rank {} cannot be reached: {}", peer, text);
    }
    if (deadline.passed()) fail(GRADSTEP_ERR_TIMEOUT, "not all ranks connected until the deadline");
    poll();
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

void Mesh::carry(Said* said) {
  said->senders_hear = true;
  calls_->carry(said);
  calls_->set_alarm([this] { wake(); });
}

// Runs a step of libgloo that concerns `peer`. libgloo says in words what went wrong; the facts are ours to tell: an
// abort, calls that differ, a deadline that has passed, else a connection that broke.
template <class Work>
void Mesh::guard(int peer, const Deadline* deadline, Work&& work) {
  try {
    if (aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
    work();
    if (calls_->differ()) fail(GRADSTEP_ERR_MISMATCH, "ranks make different calls");
  } catch (const std::exception& error) {
    const bool differ = calls_->differ();
    if (differ) tell_difference();
    close();
    if (aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
    if (differ) {
      const Calls::Difference found = calls_->difference();
      fail(GRADSTEP_ERR_MISMATCH, "{}", text_of_difference(found.peer, found.peers, found.rank, found.own));
    }
    if (deadline != nullptr && deadline->passed()) {
      fail(GRADSTEP_ERR_TIMEOUT,
           "rank {} did not answer until the deadline: it is slow or stopped, or does not make this call", peer);
    }
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) throw;
    fail(GRADSTEP_ERR_PEER_LOST, "the connection to rank {} broke: {}", peer, reason(error));
  }
}

CarefulPair& Mesh::pair_of(int peer) { return static_cast<CarefulPair&>(*getPair(peer)); }

void Mesh::post_send(int to, const void* data, std::int64_t bytes, Way way) {
  auto& window = *windows_[static_cast<std::size_t>(to)];
  guard(to, nullptr, [&] {
    const Calls::Posted message = calls_->post(Calls::Side::send, to, bytes, way == Way::announced);
    const std::uint64_t slot = slot_of(message, bytes);
    if (way == Way::at_once) {
      pair_of(to).send_at_once(window, slot | kAtOnce, offset_of(data), static_cast<std::size_t>(bytes));
    } else {
      window.send(to, slot, offset_of(data), static_cast<std::size_t>(bytes));
    }
  });
}

void Mesh::post_recv(int from, void* data, std::int64_t bytes, Way way) {
  auto& window = *windows_[static_cast<std::size_t>(from)];
  guard(from, nullptr, [&] {
    // The sender announces its side in both ways.
    const Calls::Posted message = calls_->post(Calls::Side::receive, from, bytes, /*is_announced=*/true);
    const std::uint64_t slot = slot_of(message, bytes);
    if (way == Way::at_once) {
      pair_of(from).receive_at_once(slot | kAtOnce, data);
    } else {
      window.recv(from, slot, offset_of(data), static_cast<std::size_t>(bytes));
    }
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
  calls_->finish();
}

void Mesh::wait_send(int to, const Deadline& deadline) {
  auto& window = *windows_[static_cast<std::size_t>(to)];
  finish(to, deadline, [&] { return window.waitSend(nullptr, left(deadline)); });
}

void Mesh::wait_recv(int from, Way way, const Deadline& deadline) {
  finish(from, deadline, [&] {
    return way == Way::at_once ? pair_of(from).wait_at_once(left(deadline))
                               : windows_[static_cast<std::size_t>(from)]->waitRecv(nullptr, left(deadline));
  });
}

void Mesh::send(int to, const void* data, std::int64_t bytes, const Deadline& deadline) {
  post_send(to, data, bytes, Way::announced);
  wait_send(to, deadline);
}

void Mesh::recv(int from, void* data, std::int64_t bytes, const Deadline& deadline) {
  post_recv(from, data, bytes, Way::announced);
  wait_recv(from, Way::announced, deadline);
}

void Mesh::send_recv(int to, const void* send, std::int64_t send_bytes, int from, void* receive,
                     std::int64_t receive_bytes, const Deadline& deadline) {
  const Way way = to == from ? way_of(send_bytes, receive_bytes) : Way::announced;
  post_recv(from, receive, receive_bytes, way);
  post_send(to, send, send_bytes, way);
  wait_recv(from, way, deadline);
  wait_send(to, deadline);
}

void Mesh::all_gather(const void* send, char* receive, std::int64_t bytes, const Deadline& deadline) {
  if (gather_stages(size, bytes) > 1) return gather_in_stages(send, receive, bytes, deadline);
  char* own = receive + rank * bytes;
  if (own != send) std::memcpy(own, send, static_cast<std::size_t>(bytes));
  const Way way = way_of(bytes, bytes);
  for_each_peer([&](int peer) { post_recv(peer, receive + peer * bytes, bytes, way); });
  for_each_peer([&](int peer) { post_send(peer, send, bytes, way); });
  for_each_peer([&](int peer) { wait_recv(peer, way, deadline); });
  for_each_peer([&](int peer) { wait_send(peer, deadline); });
}

// Before the stage of a width this rank has that many blocks, from its own upwards, modulo the number of ranks. It gets
// as many from each of the ranks that are 1, 2, ... widths above, and gives its own to those as far below.
//
// All receives are posted before anything is sent: so a peer, which cannot end the call before this rank has begun to
// send, is never more than one message ahead.
void Mesh::gather_in_stages(const void* send, char* receive, std::int64_t bytes, const Deadline& deadline) {
  blocks_.resize(static_cast<std::size_t>(size * bytes));
  char* const blocks = blocks_.data();
  std::memcpy(blocks, send, static_cast<std::size_t>(bytes));
  const auto bytes_of = [&](int width, int distance) { return std::min(width, size - distance) * bytes; };
  const auto above = [&](int distance) { return (rank + distance) % size; };
  const auto below = [&](int distance) { return (rank - distance + size) % size; };
  for (int width = 1; width < size; width *= kStageRadix) {
    for_each_distance(size, width, [&](int distance) {
      post_recv(above(distance), blocks + distance * bytes, bytes_of(width, distance), Way::at_once);
    });
  }
  for (int width = 1; width < size; width *= kStageRadix) {
    for_each_distance(size, width, [&](int distance) {
      post_send(below(distance), blocks, bytes_of(width, distance), Way::at_once);
    });
    for_each_distance(size, width, [&](int distance) { wait_recv(above(distance), Way::at_once, deadline); });
    for_each_distance(size, width, [&](int distance) { wait_send(below(distance), deadline); });
  }
  const auto upper = static_cast<std::size_t>((size - rank) * bytes);
  std::memcpy(receive + rank * bytes, blocks, upper);
  std::memcpy(receive, blocks + upper, static_cast<std::size_t>(rank * bytes));
}

void Mesh::exchange(const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                    const std::int64_t* receive_bytes, const Deadline& deadline) {
  const auto way = [&](int peer) { return way_of(send_bytes[peer], receive_bytes[peer]); };
  for_each_peer([&](int peer) {
    if (receive_bytes[peer] > 0) post_recv(peer, receive[peer], receive_bytes[peer], way(peer));
  });
  for_each_peer([&](int peer) {
    if (send_bytes[peer] > 0) post_send(peer, send[peer], send_bytes[peer], way(peer));
  });
  for_each_peer([&](int peer) {
    if (receive_bytes[peer] > 0) wait_recv(peer, way(peer), deadline);
  });
  for_each_peer([&](int peer) {
    if (send_bytes[peer] > 0) wait_send(peer, deadline);
  });
}

// Closing a pair waits until libgloo's thread has let go of it: no buffer is touched after this.
void Mesh::close() noexcept {
  Haste haste(device_);
  haste.start();
  try {
    closeConnections();
  } catch (const std::exception&) {
    // It throws only for pairs that are closed already.
  }
}

// The others learn it from here too, before the connections close.
void Mesh::tell_difference() noexcept {
  const std::uint64_t length = length_of(calls_->difference());
  for_each_peer([&](int peer) {
    try {
      windows_[static_cast<std::size_t>(peer)]->recv(peer, kDifferenceSlot, 0, length);
    } catch (const std::exception&) {
      // That connection is closed already.
    }
  });
}

/// Makes waits return.
void Mesh::wake() noexcept {
  for_each_peer([&](int peer) {
    auto& window = windows_[static_cast<std::size_t>(peer)];
    if (window == nullptr) return;
    window->abortWaitRecv();
    window->abortWaitSend();
    pair_of(peer).wake();
  });
}

void Mesh::abort() noexcept {
  if (aborted_.exchange(true)) return;
  wake();
  close();
}

}  // namespace gradstep::gloo_plugin
