// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One thread and one poll loop. The thread is detached and owns all that it touches.
//
// The port may be open to any host, so what strangers can take is bounded: their number (the newest are let in, the
// oldest go), their time, and their bytes (Session). A member's hello follows its connection at once and is read before
// any caller is turned out, so strangers do not keep members away. When the process has no descriptor left, the store
// makes room with what it holds itself, and else leaves its callers in the system's queue for a while.
#include "comm/rendezvous/tcp_store_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "comm/rendezvous/socket.h"
#include "comm/rendezvous/tcp_store_session.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/random_bytes.h"
#include "core/thread_pool.h"

namespace gradstep {

namespace {

using namespace tcp_store;
using Clock = Deadline::Clock;

/// What one turn of the loop does for one client, and for those who call, before the others have theirs.
constexpr int kChunksPerTurn = 16;
constexpr int kCallersPerTurn = 64;

/// How long no caller is let in after the system had no room for a connection.
constexpr std::chrono::milliseconds kBackOff{50};

struct Client {
  Client(FileDescriptor connection, Contents& contents, Clock::time_point deadline)
      : socket(std::move(connection)), session(contents), hello_until(deadline) {}

  // The process may have forked since: a child's copy of the descriptor would keep the connection.
  ~Client() { ::shutdown(socket.get(), SHUT_RDWR); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_stranger() const { return !session.is_member(); }

  FileDescriptor socket;
  Session session;
  Clock::time_point hello_until;
  bool gone = false;
};

std::size_t most_strangers() {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return 4;
  return static_cast<std::size_t>(std::clamp<rlim_t>(descriptors.rlim_cur / 16, 4, 64));
}

FileDescriptor spare_descriptor() { return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

class Server {
 public:
  Server(FileDescriptor listener, const Token& token, const StoreLimits& limits,
         std::shared_ptr<StoreVisitors> visitors)
      : listener_(std::move(listener)), limits_(limits), visitors_(std::move(visitors)) {
    contents_.token = token;
    if (limits_.strangers == 0) limits_.strangers = most_strangers();
  }
  ~Server() { ::shutdown(listener_.get(), SHUT_RDWR); }  // as that of a Client: no calls without a store
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void serve() {
    last_used_ = Clock::now();
    while (!finished() && Clock::now() < last_used_ + limits_.patience) {
      wait();
      tend_all();
      clients_.remove_if([](const Client& client) { return client.gone; });
      if (!spare_.valid()) spare_ = spare_descriptor();
    }
  }

 private:
  bool finished() const {
    return (contents_.all_ranks_came() || closed_) &&
           std::all_of(clients_.begin(), clients_.end(), std::mem_fn(&Client::is_stranger));
  }

  /// Handles what the network brings until something must be done about time.
  void wait() {
    std::vector<pollfd> entries{{listener_.get(), static_cast<short>(Clock::now() < admits_from_ ? 0 : POLLIN), 0}};
    for (const Client& client : clients_) {
      const int reads = client.session.room() > 0 ? POLLIN : 0;
      const int writes = client.session.unsent().empty() ? 0 : POLLOUT;
      entries.push_back({client.socket.get(), static_cast<short>(reads | writes), 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_in_time() - Clock::now()).count();
    const int ready =
        ::poll(entries.data(), entries.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000)));
    if (ready < 0 && errno != EINTR) ::poll(nullptr, 0, static_cast<int>(kBackOff.count()));
    if (ready <= 0) return;
    auto entry = entries.begin() + 1;
    for (Client& client : clients_) serve_client(client, (entry++)->revents);
    if (entries[0].revents != 0) admit_callers();
  }

  /// When something is to be done even if the network is silent.
  Clock::time_point next_in_time() const {
    const auto now = Clock::now();
    auto next = last_used_ + limits_.patience;
    if (now < admits_from_) next = std::min(next, admits_from_);
    for (const Client& client : clients_) {
      if (client.is_stranger()) next = std::min(next, client.hello_until);
      if (const auto until = client.session.waits_until()) next = std::min(next, *until);
    }
    return next;
  }

  void serve_client(Client& client, short events) {
    if ((events & POLLIN) != 0) {
      read_from(client);
    } else if ((events & (POLLERR | POLLHUP)) != 0) {
      client.gone = true;
    }
    if ((events & POLLOUT) != 0) write_to(client);
  }

  void tend_all() {
    const auto now = Clock::now();
    std::uint64_t sets = 0;
    do {  // again while a client that comes later sets what an earlier one may wait for
      sets = contents_.sets;
      for (Client& client : clients_) tend(client, now);
    } while (sets != contents_.sets);
  }

  /// What time brings: keys that others have set since, gets whose time is over, strangers whose time is over.
  void tend(Client& client, Clock::time_point now) {
    client.session.go_on(now);
    write_to(client);
    if (client.session.is_broken() || (client.is_stranger() && now >= client.hello_until)) client.gone = true;
  }

  void admit_callers() {
    for (int caller = 0; caller < kCallersPerTurn; ++caller) {
      FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.valid()) {
        admit(std::move(socket));
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EINVAL) closed_ = true;  // shut down: no more calls come
      if (errno == EMFILE || errno == ENFILE) {
        if (!caller_waits()) return;  // for want of descriptors accept4 does not even look for callers
        if (make_room()) continue;
      }
      admits_from_ = Clock::now() + kBackOff;
      return;
    }
  }

  bool caller_waits() const {
    pollfd entry{listener_.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
  }

  void admit(FileDescriptor socket) {
    if (!is_of_this_user(socket)) return;
    Client& client = clients_.emplace_back(std::move(socket), contents_, Clock::now() + limits_.hello);
    read_from(client);
    if (client.gone || client.session.is_broken()) return clients_.pop_back();
    const auto strangers = std::count_if(clients_.begin(), clients_.end(), std::mem_fn(&Client::is_stranger));
    if (static_cast<std::size_t>(strangers) > limits_.strangers) turn_out_a_stranger();
  }

  /// The one that came first; false if there is none.
  bool turn_out_a_stranger() {
    for (auto client = clients_.begin(); client != clients_.end(); ++client) {
      if (client->is_stranger()) read_from(*client);  // its hello may have come just now
      if (!client->is_stranger()) continue;
      clients_.erase(client);
      return true;
    }
    return false;
  }

  /// For one more connection in a process that has no descriptor left.
  bool make_room() {
    if (turn_out_a_stranger()) return true;
    if (!spare_.valid()) return false;
    spare_ = FileDescriptor();
    return true;
  }

  void read_from(Client& client) {
    const bool was_stranger = client.is_stranger();
    std::array<char, 16384> chunk{};
    for (int n = 0; n < kChunksPerTurn && !client.gone && client.session.room() > 0; ++n) {
      const std::size_t most = std::min(chunk.size(), client.session.room());
      const ssize_t got = ::recv(client.socket.get(), chunk.data(), most, 0);
      if (got > 0) {
        client.session.receive({chunk.data(), static_cast<std::size_t>(got)}, Clock::now());
        if (!client.is_stranger()) last_used_ = Clock::now();
      } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        client.gone = true;
      } else if (errno != EINTR) {
        break;
      }
    }
    if (was_stranger && !client.is_stranger() && visitors_ != nullptr) {
      visitors_->add(client.session.rank(), local_address(client.socket));
    }
    write_to(client);
  }

  static void write_to(Client& client) {
    while (!client.gone && !client.session.unsent().empty()) {
      const auto bytes = client.session.unsent();
      const ssize_t sent = ::send(client.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        client.session.sent(static_cast<std::size_t>(sent), Clock::now());
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return;
      } else if (errno != EINTR) {
        client.gone = true;
      }
    }
  }

  FileDescriptor listener_;
  FileDescriptor spare_ = spare_descriptor();
  StoreLimits limits_;
  std::shared_ptr<StoreVisitors> visitors_;
  Contents contents_;
  bool closed_ = false;
  std::list<Client> clients_;  // in the order in which they came
  Clock::time_point last_used_;
  Clock::time_point admits_from_;
};

void* serve(void* server) {
  const std::unique_ptr<Server> owner(static_cast<Server*>(server));
  try {
    owner->serve();
  } catch (...) {
    // Out of memory: the clients see their connections close.
  }
  return nullptr;
}

}  // namespace

Id start_tcp_store(const char* network_interface, const StoreLimits& limits) {
  Id id;
  id.address = own_address(network_interface);
  if (id.address.is_link_local()) {
    fail_argument("network_interface: '{}' is a link-local address: an id cannot say on which interface it is",
                  network_interface);
  }
  fill_random(id.token.data(), id.token.size());
  serve_tcp_store(listen_on(id.address), id.token, limits, nullptr);
  return id;
}

void serve_tcp_store(FileDescriptor listener, const Token& token, const StoreLimits& limits,
                     std::shared_ptr<StoreVisitors> visitors) {
  auto server = std::make_unique<Server>(std::move(listener), token, limits, std::move(visitors));
  const pthread_t thread = start_thread(&serve, server.get());
  static_cast<void>(server.release());  // the thread's now
  pthread_detach(thread);
}

std::optional<NetworkAddress> StoreVisitors::reached_at() const {
  const std::lock_guard lock(mutex_);
  return reached_at_;
}

std::set<std::uint32_t> StoreVisitors::ranks() const {
  const std::lock_guard lock(mutex_);
  return ranks_;
}

void StoreVisitors::add(std::uint32_t rank, const NetworkAddress& at) {
  const std::lock_guard lock(mutex_);
  ranks_.insert(rank);
  if (at.family() != AF_UNIX && !at.is_loopback()) reached_at_ = at;
}

}  // namespace gradstep
