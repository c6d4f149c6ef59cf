// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One thread and one poll loop. The thread is detached and owns all that it touches; values are small and few, so
// everything stays until the server ends.
#include "comm/tcp_store_server.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "comm/socket.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/thread_pool.h"

namespace gradstep {

namespace {

using namespace tcp_store;
using Clock = Deadline::Clock;

/// A get that waits for its key.
struct Waiting {
  std::string key;
  Clock::time_point until;
};

struct Client {
  FileDescriptor socket;
  bool greeted = false;
  std::string received;  // not yet understood
  std::string unsent;
  std::optional<Waiting> waiting;
  bool broken = false;
};

class Server {
 public:
  Server(FileDescriptor listener, const Token& token, std::chrono::milliseconds patience)
      : listener_(std::move(listener)), token_(token), patience_(patience) {}

  void serve() {
    Clock::time_point last_used = Clock::now();
    while (!finished() && Clock::now() < last_used + patience_) {
      if (wait(last_used + patience_)) last_used = Clock::now();
      answer_waiting();
      clients_.remove_if([](const Client& client) { return client.broken; });
    }
  }

 private:
  bool finished() const { return world_size_ > 0 && ranks_.size() == world_size_ && clients_.empty(); }

  /// Handles what the network brings until something must be done about time. True if it brought anything.
  bool wait(Clock::time_point until) {
    std::vector<pollfd> entries{{listener_.get(), POLLIN, 0}};
    for (const Client& client : clients_) {
      entries.push_back(
          {client.socket.get(), static_cast<short>(client.unsent.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      if (client.waiting) until = std::min(until, client.waiting->until);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int ready =
        ::poll(entries.data(), entries.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000)));
    if (ready <= 0) return false;
    auto entry = entries.begin() + 1;
    for (Client& client : clients_) {
      if (entry->revents != 0) read_from(client);
      if ((entry->revents & POLLOUT) != 0) write_to(client);
      ++entry;
    }
    if (entries[0].revents != 0) accept_client();
    return true;
  }

  void accept_client() {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) return;
    Client client;
    client.socket = std::move(socket);
    clients_.push_back(std::move(client));
  }

  void read_from(Client& client) {
    std::array<char, 16384> chunk{};
    for (;;) {
      const ssize_t got = ::recv(client.socket.get(), chunk.data(), chunk.size(), 0);
      if (got > 0) {
        client.received.append(chunk.data(), static_cast<std::size_t>(got));
        continue;
      }
      if (got < 0 && errno == EINTR) continue;
      if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) client.broken = true;
      break;
    }
    while (!client.broken && understand_one(client)) {
    }
    write_to(client);
  }

  /// Takes one whole message off client.received; false if there is none yet.
  bool understand_one(Client& client) {
    if (!client.greeted) return understand_hello(client);
    Request request{};
    if (client.waiting || client.received.size() < sizeof request) return false;
    std::memcpy(&request, client.received.data(), sizeof request);
    const std::size_t key_length = ntohl(request.key_length);
    const std::size_t value_length = ntohl(request.value_length);
    if (key_length > kMaxKeyLength || value_length > kMaxValueLength) {
      client.broken = true;
      return false;
    }
    if (client.received.size() < sizeof request + key_length + value_length) return false;
    std::string key = client.received.substr(sizeof request, key_length);
    std::string value = client.received.substr(sizeof request + key_length, value_length);
    client.received.erase(0, sizeof request + key_length + value_length);
    switch (static_cast<Operation>(ntohl(request.operation))) {
      case Operation::set:
        values_[std::move(key)] = std::move(value);
        reply(client, true, {});
        return true;
      case Operation::get:
        client.waiting = {std::move(key), Clock::now() + std::chrono::milliseconds(ntohl(request.timeout_ms))};
        return true;
    }
    client.broken = true;
    return false;
  }

  bool understand_hello(Client& client) {
    Hello hello{};
    if (client.received.size() < sizeof hello) return false;
    std::memcpy(&hello, client.received.data(), sizeof hello);
    client.received.erase(0, sizeof hello);
    if (hello.token != token_) {
      client.broken = true;
      return false;
    }
    client.greeted = true;
    world_size_ = std::max<std::size_t>(world_size_, ntohl(hello.world_size));
    ranks_.insert(ntohl(hello.rank));
    return true;
  }

  void answer_waiting() {
    const auto now = Clock::now();
    for (Client& client : clients_) {
      if (!client.waiting) continue;
      const auto found = values_.find(client.waiting->key);
      if (found == values_.end() && now < client.waiting->until) continue;
      client.waiting.reset();
      if (found != values_.end()) {
        reply(client, true, found->second);
      } else {
        reply(client, false, {});
      }
      while (!client.broken && understand_one(client)) {
      }
      write_to(client);
    }
  }

  static void reply(Client& client, bool found, std::string_view value) {
    const Reply head{htonl(found ? 1U : 0U), htonl(static_cast<std::uint32_t>(value.size()))};
    client.unsent.append(reinterpret_cast<const char*>(&head), sizeof head);
    client.unsent.append(value);
  }

  static void write_to(Client& client) {
    while (!client.broken && !client.unsent.empty()) {
      const ssize_t sent = ::send(client.socket.get(), client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        client.unsent.erase(0, static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return;
      } else if (errno != EINTR) {
        client.broken = true;
      }
    }
  }

  FileDescriptor listener_;
  Token token_;
  std::chrono::milliseconds patience_;
  std::list<Client> clients_;
  std::map<std::string, std::string> values_;
  std::set<std::uint32_t> ranks_;  // that have ever connected
  std::size_t world_size_ = 0;
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

Id start_tcp_store(const char* interface, std::chrono::milliseconds patience) {
  Id id;
  id.address = own_address(interface);
  if (::getrandom(id.token.data(), id.token.size(), 0) != static_cast<ssize_t>(id.token.size())) {
    fail(GRADSTEP_ERR_IO, "getrandom: {}", std::strerror(errno));
  }
  FileDescriptor listener = listen_on(id.address);
  auto server = std::make_unique<Server>(std::move(listener), id.token, patience);
  const pthread_t thread = start_thread(&serve, server.get());
  static_cast<void>(server.release());  // the thread's now
  pthread_detach(thread);
  return id;
}

}  // namespace gradstep
