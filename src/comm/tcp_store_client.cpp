// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "comm/socket.h"
#include "comm/store.h"
#include "comm/tcp_store.h"
#include "core/error.h"

namespace gradstep {

namespace {

using namespace tcp_store;

// The server answers when the key is there or the request's time is over; the network gets this much more.
constexpr std::int64_t kNetworkAllowanceMs = 200;

class TcpStoreClient final : public Store {
 public:
  TcpStoreClient(FileDescriptor socket, const Hello& hello, const Deadline& deadline)
      : socket_(std::move(socket)), connect_deadline_(deadline) {
    send_all(socket_, &hello, sizeof hello, deadline);
  }

  void set(const std::string& key, const void* data, std::size_t length) override {
    if (length > kMaxValueLength) fail_argument("a value of {} bytes is too long for the store", length);
    request(Operation::set, key, data, length, 0, connect_deadline_);
    receive_reply(connect_deadline_);
  }

  bool get(const std::string& key, void* data, std::size_t& length, const Deadline& deadline) override {
    const std::int64_t wait = std::min<std::int64_t>(deadline.remaining_ms(), INT32_MAX);
    const Deadline network = Deadline::after_ms(wait + kNetworkAllowanceMs);
    request(Operation::get, key, nullptr, 0, wait, network);
    const Reply reply = receive_reply(network);
    if (reply.found == 0) return false;
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
  void request(Operation operation, const std::string& key, const void* value, std::size_t length,
               std::int64_t timeout_ms, const Deadline& deadline) {
    if (key.size() > kMaxKeyLength) fail_argument("a key of {} bytes is too long for the store", key.size());
    const Request head{htonl(static_cast<std::uint32_t>(operation)), htonl(static_cast<std::uint32_t>(key.size())),
                       htonl(static_cast<std::uint32_t>(length)), htonl(static_cast<std::uint32_t>(timeout_ms))};
    std::string message(reinterpret_cast<const char*>(&head), sizeof head);
    message += key;
    message.append(static_cast<const char*>(value), length);
    send_all(socket_, message.data(), message.size(), deadline);
  }

  Reply receive_reply(const Deadline& deadline) {
    Reply reply{};
    recv_all(socket_, &reply, sizeof reply, deadline);
    return {ntohl(reply.found), ntohl(reply.value_length)};
  }

  FileDescriptor socket_;
  Deadline connect_deadline_;
};

}  // namespace

std::unique_ptr<Store> connect_tcp_store(const void* id_bytes, std::size_t id_length, std::int32_t rank,
                                         std::int32_t world_size, const Deadline& deadline) {
  const Id id = decode(id_bytes, id_length);
  try {
    const Hello hello{id.token, htonl(static_cast<std::uint32_t>(rank)), htonl(static_cast<std::uint32_t>(world_size))};
    return std::make_unique<TcpStoreClient>(connect_to(id.address, deadline), hello, deadline);
  } catch (const Error& error) {
    fail(error.status(), "options.id: the store at {} port {}: {} (does the process that made the id still run?)",
         id.address.text(), id.address.port(), error.what());
  }
}

}  // namespace gradstep
