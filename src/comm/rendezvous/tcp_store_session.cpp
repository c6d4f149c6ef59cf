// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/tcp_store_session.h"

#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace gradstep::tcp_store {

namespace {

constexpr std::size_t kLongestRequest = sizeof(Request) + kMaxKeyLength + kMaxValueLength;

}  // namespace

std::size_t Session::room() const {
  if (broken_) return 0;
  return (member_ ? kLongestRequest : sizeof(Hello)) - received_.size();
}

void Session::receive(std::string_view bytes, Time now) {
  received_.append(bytes);
  go_on(now);
}

std::optional<Session::Time> Session::waits_until() const {
  if (!waiting_) return std::nullopt;
  return waiting_->until;
}

// The next request waits until the last one's answer has left: a client that does not read cannot pile up answers.
void Session::go_on(Time now) {
  for (;;) {
    answer_get(now);
    if (broken_ || waiting_ || !unsent_.empty()) return;
    if (!(member_ ? take_request(now) : take_hello())) return;
  }
}

void Session::sent(std::size_t bytes, Time now) {
  unsent_.erase(0, bytes);
  if (unsent_.empty()) go_on(now);
}

/// True if a whole message was taken off received_.
bool Session::take_hello() {
  Hello hello{};
  if (received_.size() < sizeof hello) return false;
  std::memcpy(&hello, received_.data(), sizeof hello);
  received_.erase(0, sizeof hello);
  if (hello.token != contents_.token) {
    broken_ = true;
    return false;
  }
  member_ = true;
  contents_.world_size = std::max<std::size_t>(contents_.world_size, ntohl(hello.world_size));
  rank_ = ntohl(hello.rank);
  contents_.ranks.insert(rank_);
  return true;
}

bool Session::take_request(Time now) {
  Request request{};
  if (received_.size() < sizeof request) return false;
  std::memcpy(&request, received_.data(), sizeof request);
  const auto operation = static_cast<Operation>(ntohl(request.operation));
  const std::size_t key_length = ntohl(request.key_length);
  const std::size_t value_length = ntohl(request.value_length);
  if ((operation != Operation::set && operation != Operation::get) || key_length > kMaxKeyLength ||
      value_length > kMaxValueLength) {
    broken_ = true;
    return false;
  }
  if (received_.size() < sizeof request + key_length + value_length) return false;
  std::string key = received_.substr(sizeof request, key_length);
  std::string value = received_.substr(sizeof request + key_length, value_length);
  received_.erase(0, sizeof request + key_length + value_length);
  if (operation == Operation::set) {
    contents_.values[std::move(key)] = std::move(value);
    ++contents_.sets;
    reply(true, {});
  } else {
    waiting_ = {std::move(key), now + std::chrono::milliseconds(ntohl(request.timeout_ms))};
  }
  return true;
}

void Session::answer_get(Time now) {
  if (!waiting_) return;
  const auto found = contents_.values.find(waiting_->key);
  if (found == contents_.values.end() && now < waiting_->until) return;
  waiting_.reset();
  if (found != contents_.values.end()) {
    reply(true, found->second);
  } else {
    reply(false, {});
  }
}

void Session::reply(bool found, std::string_view value) {
  const Reply head{htonl(found ? 1U : 0U), htonl(static_cast<std::uint32_t>(value.size()))};
  unsent_.append(reinterpret_cast<const char*>(&head), sizeof head);
  unsent_.append(value);
}

}  // namespace gradstep::tcp_store
