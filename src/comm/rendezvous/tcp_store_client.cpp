// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>
#include <vector>

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
      : address_(address), hello_(hello), connect_deadline_(deadline) {
    call(deadline);
  }

  void set(const std::string& key, const void* data, std::size_t length) override {
    if (length > kMaxValueLength) fail_argument("a value of {} bytes is too long for the store", length);
    ask(request(Operation::set, key, data, length, 0), connect_deadline_);
  }

  bool get(const std::string& key, void* data, std::size_t& length, const Deadline& deadline) override {
    const std::int64_t wait = std::min<std::int64_t>(deadline.remaining_ms(), INT32_MAX);
    const Deadline network = Deadline::after_ms(wait + kNetworkAllowanceMs);
    const Reply reply = ask(request(Operation::get, key, nullptr, 0, wait), network);
    if (reply.found == 0) return false;
    if (reply.value_length > kMaxValueLength) {
      fail(GRADSTEP_ERR_IO, "what answers there is no store: it offers a value of {} bytes", reply.value_length);
    }
    std::vector<char> value(reply.value_length);
    recv_all(socket_, value.data(), value.size(), network);
    if (value.size() > length) {
      fail_argument("the value of '{}' has {} bytes, expected at most {}", key, value.size(), length);
    }
    std::copy(value.begin(), value.end(), static_cast<char*>(data));
    length = value.size();
    return true;
  }

 private:
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

  Reply ask(const std::string& message, const Deadline& deadline) {
    for (int calls = 1; !answered_; ++calls) {
      try {
        return ask_once(message, deadline);
      } catch (const Error& error) {
        if (error.status() != GRADSTEP_ERR_IO || calls == kCalls) throw;
      }
      std::this_thread::sleep_for(calls * kPauseBetweenCalls);
      call(deadline);
    }
    return ask_once(message, deadline);
  }

  Reply ask_once(const std::string& message, const Deadline& deadline) {
    send_all(socket_, message.data(), message.size(), deadline);
    Reply reply{};
    recv_all(socket_, &reply, sizeof reply, deadline);
    answered_ = true;
    return {ntohl(reply.found), ntohl(reply.value_length)};
  }

  void call(const Deadline& deadline) {
    socket_ = connect_to(address_, deadline);
    try {
      send_all(socket_, &hello_, sizeof hello_, deadline);
    } catch (const Error& error) {
      if (error.status() != GRADSTEP_ERR_IO) throw;  // turned out already, as the first request will find
    }
  }

  NetworkAddress address_;
  Hello hello_;
  Deadline connect_deadline_;
  FileDescriptor socket_;
  bool answered_ = false;
};

}  // namespace

std::unique_ptr<Store> connect_tcp_store(const void* id_bytes, std::size_t id_length, std::int32_t rank,
                                         std::int32_t world_size, const Deadline& deadline) {
  const Id id = decode(id_bytes, id_length);
  try {
    const Hello hello{id.token, htonl(static_cast<std::uint32_t>(rank)), htonl(static_cast<std::uint32_t>(world_size))};
    return std::make_unique<TcpStoreClient>(id.address, hello, deadline);
  } catch (const Error& error) {
    fail(error.status(), "options.id: the store at {} port {}: {} (does the process that made the id still run?)",
         id.address.text(), id.address.port(), error.what());
  }
}

}  // namespace gradstep
