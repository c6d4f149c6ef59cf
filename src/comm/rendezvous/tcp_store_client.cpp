// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One request is under way at a time. A get may end before its answer has come, for the store's process may stall:
// then the answer is still owed, and is waited for by the next call.
#include <algorithm>
#include <array>
#include <thread>

#include "comm/rendezvous/socket.h"
#include "comm/rendezvous/store.h"
#include "comm/rendezvous/tcp_store.h"
#include "core/error.h"

namespace gradstep {

namespace {

using namespace tcp_store;

// The server answers when the key is there or the request's time is over; the network gets this much more.
constexpr std::int64_t kNetworkAllowanceMs = 200;

// A server that many strangers call at once may turn out a rank before it has read its hello. So a connection that ends
// before the first answer is made anew, this many times in all.
constexpr int kCalls = 5;
constexpr std::chrono::milliseconds kPauseBetweenCalls{10};

class TcpStoreClient final : public Store {
 public:
  TcpStoreClient(const NetworkAddress& address, const Hello& hello, const Deadline& deadline)
      : address_(address), hello_(hello), deadline_(deadline) {
    call();
  }

  void set(const std::string& key, const void* data, std::size_t length) override {
    if (length > kMaxValueLength) fail_argument("a value of {} bytes is too long for the store", length);
    const std::string message = request(Operation::set, key, data, length, 0);
    settle();
    ask(message, key);
    settle();
  }

  bool get(const std::string& key, void* data, std::size_t& length, const Deadline& deadline) override {
    const Deadline network = Deadline::after_ms(deadline.remaining_ms() + kNetworkAllowanceMs);
    if (!asked_.empty() && asked_key_ != key) {
      if (!is_answered_by(network)) return false;
      take_answer();
    }
    do {  // again where an earlier get's answer was owed, whose time was over sooner
      const std::int64_t wait = std::min<std::int64_t>(deadline.remaining_ms(), INT32_MAX);
      if (asked_.empty()) ask(request(Operation::get, key, nullptr, 0, wait), key);
      if (!is_answered_by(network)) return false;
      const Answer answer = take_answer();
      if (!answer.found) continue;
      if (answer.value.size() > length) {
        fail_argument("the value of '{}' has {} bytes, expected at most {}", key, answer.value.size(), length);
      }
      std::copy(answer.value.begin(), answer.value.end(), static_cast<char*>(data));
      length = answer.value.size();
      return true;
    } while (!deadline.passed());
    return false;
  }

  /// Has the store's answer by the deadline, and goes on until `later`.
  void greet(std::int32_t rank, const Deadline& later) {
    set("here/" + std::to_string(rank), nullptr, 0);
    deadline_ = later;
  }

  std::optional<NetworkAddress> reached_from() const override {
    const NetworkAddress own = local_address(socket_);
    return own.family() == AF_UNIX ? loopback_address() : own;
  }

 private:
  struct Answer {
    bool found;
    std::string value;
  };

  static std::string request(Operation operation, const std::string& key, const void* value, std::size_t length,
                             std::int64_t timeout_ms) {
    if (key.size() > kMaxKeyLength) fail_argument("a key of {} bytes is too long for the store", key.size());
    const Request head{htonl(static_cast<std::uint32_t>(operation)), htonl(static_cast<std::uint32_t>(key.size())),
                       htonl(static_cast<std::uint32_t>(length)), htonl(static_cast<std::uint32_t>(timeout_ms))};
    std::string message(reinterpret_cast<const char*>(&head), sizeof head);
    message += key;
    message.append(static_cast<const char*>(value), length);
    return message;
  }

  void ask(const std::string& message, const std::string& key) {
    asked_ = unsent_ = message;
    asked_key_ = key;
  }

  /// Waits for the answer that is owed, if any, and drops it.
  void settle() {
    if (asked_.empty()) return;
    if (!is_answered_by(deadline_)) fail(GRADSTEP_ERR_TIMEOUT, "the store did not answer until the deadline");
    take_answer();
  }

  bool is_answered_by(const Deadline& deadline) {
    for (;;) {
      try {
        return talk(deadline);
      } catch (const Error& error) {
        if (error.status() != GRADSTEP_ERR_IO || answered_ || calls_ == kCalls) throw;
      }
      std::this_thread::sleep_for(calls_ * kPauseBetweenCalls);
      call();
    }
  }

  /// Sends the rest of the request and reads the rest of its answer.
  bool talk(const Deadline& deadline) {
    while (!unsent_.empty()) {
      const std::size_t sent = send_some(socket_, unsent_.data(), unsent_.size(), deadline);
      if (sent == 0) return false;
      unsent_.erase(0, sent);
    }
    std::array<char, 16384> chunk{};
    while (received_.size() < sizeof(Reply) || received_.size() < sizeof(Reply) + reply().value_length) {
      const std::size_t got = recv_some(socket_, chunk.data(), chunk.size(), deadline);
      if (got == 0) return false;
      received_.append(chunk.data(), got);
    }
    return true;
  }

  /// The head of the answer, which has come.
  Reply reply() {
    answered_ = true;
    Reply head{};
    std::memcpy(&head, received_.data(), sizeof head);
    head = {ntohl(head.found), ntohl(head.value_length)};
    if (head.value_length > kMaxValueLength) {
      fail(GRADSTEP_ERR_IO, "what answers there is no store: it offers a value of {} bytes", head.value_length);
    }
    return head;
  }

  Answer take_answer() {
    const Reply head = reply();
    Answer answer{head.found != 0, received_.substr(sizeof head, head.value_length)};
    received_.erase(0, sizeof head + head.value_length);
    asked_.clear();
    return answer;
  }

  void call() {
    ++calls_;
    socket_ = connect_to(address_, deadline_);
    if (!is_of_this_user(socket_)) fail(GRADSTEP_ERR_IO, "another user's process serves there");
    unsent_ = asked_;
    received_.clear();
    try {
      send_all(socket_, &hello_, sizeof hello_, deadline_);
    } catch (const Error& error) {
      if (error.status() != GRADSTEP_ERR_IO) throw;  // turned out already, as the first request will find
    }
  }

  NetworkAddress address_;
  Hello hello_;
  Deadline deadline_;  // of the whole rendezvous
  FileDescriptor socket_;
  int calls_ = 0;
  bool answered_ = false;  // once
  std::string asked_;      // the request whose answer has not been taken; empty = there is none
  std::string asked_key_;
  std::string unsent_;    // of asked_
  std::string received_;  // of its answer
};

Hello hello_of(const Id& id, std::int32_t rank, std::int32_t world_size) {
  return {id.token, htonl(static_cast<std::uint32_t>(rank)), htonl(static_cast<std::uint32_t>(world_size))};
}

}  // namespace

std::unique_ptr<Store> try_tcp_store(const Id& id, std::int32_t rank, std::int32_t world_size, const Deadline& attempt,
                                     const Deadline& deadline) {
  auto client = std::make_unique<TcpStoreClient>(id.address, hello_of(id, rank, world_size), attempt);
  client->greet(rank, deadline);
  return client;
}

std::unique_ptr<Store> connect_tcp_store(const void* id_bytes, std::size_t id_length, std::int32_t rank,
                                         std::int32_t world_size, const Deadline& deadline) {
  const Id id = decode(id_bytes, id_length);
  try {
    return std::make_unique<TcpStoreClient>(id.address, hello_of(id, rank, world_size), deadline);
  } catch (const Error& error) {
    const char* hint = id.address.is_loopback()
                           ? "; or it runs on another machine, and must give gradstep_comm_unique_id a "
                             "network_interface that other machines reach, not a loopback address"
                           : "";
    fail(error.status(), "options.id: the store at {} port {}: {} (does the process that made the id still run{}?)",
         id.address.text(), id.address.port(), error.what(), hint);
  }
}

}  // namespace gradstep
