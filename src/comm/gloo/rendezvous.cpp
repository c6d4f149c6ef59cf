// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Each rank draws a random number and publishes it with its addresses. When it has read all the others' it publishes
// the numbers that it saw, and it is done when every other rank has seen its own. Values that an earlier job left in
// the store hold other numbers: a rank that took one reads again until the live rank has answered. So a directory may
// be used again, and a rank that is restarted during the rendezvous may join.
#include "comm/gloo/rendezvous.h"

#include <sys/random.h>

#include <cstring>
#include <thread>

#include "comm/gloo/failure.h"

namespace gradstep::gloo_plugin {

namespace {

constexpr std::size_t kLongestValue = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kRereadPause{5};

constexpr const char* kAddresses = "rank";  // Head, then world_size addresses
constexpr const char* kSeen = "seen";       // world_size nonces, the own one in its place

constexpr std::uint64_t kMagic = 0x31304f4f4c475347;  // "GSGLOO01"

struct Head {
  std::uint64_t magic;
  std::uint64_t nonce;
  std::int32_t world_size;
  std::int32_t reduction_order;
  std::uint64_t address_length;
};

void append(std::vector<char>& value, const void* data, std::size_t length) {
  const auto* begin = static_cast<const char*>(data);
  value.insert(value.end(), begin, begin + length);
}

const char* order_name(std::int32_t order) { return order == GRADSTEP_REDUCTION_RANK ? "RANK" : "ENGINE"; }

}  // namespace

Rendezvous::Rendezvous(const gradstep_store& store, const Place& place)
    : store_(store), place_(place), peers_(static_cast<std::size_t>(place.world_size)), value_(kLongestValue) {
  if (getrandom(&nonce_, sizeof nonce_, 0) != static_cast<ssize_t>(sizeof nonce_)) {
    fail(GRADSTEP_ERR_IO, "getrandom failed");
  }
}

std::vector<std::vector<char>> Rendezvous::meet(const std::vector<std::vector<char>>& own, const Deadline& deadline) {
  publish(own);
  for (std::int32_t peer = 0; peer < place_.world_size; ++peer) {
    if (peer != place_.rank) read(peer, deadline.remaining_ms());
  }
  acknowledge();
  for (std::int32_t peer = 0; peer < place_.world_size; ++peer) {
    if (peer == place_.rank) continue;
    while (!acknowledged_by(peer, deadline)) {
      if (read(peer, deadline.remaining_ms())) {
        acknowledge();
      } else {
        std::this_thread::sleep_for(kRereadPause);
      }
    }
  }
  std::vector<std::vector<char>> addresses;
  for (const Peer& peer : peers_) addresses.push_back(peer.address);
  return addresses;
}

void Rendezvous::poll() {
  next_polled_ = (next_polled_ + 1) % place_.world_size;
  if (next_polled_ != place_.rank && read(next_polled_, 0)) {
    fail(GRADSTEP_ERR_PEER_LOST, "rank {} started anew while the ranks connected", next_polled_);
  }
}

void Rendezvous::publish(const std::vector<std::vector<char>>& own) {
  std::size_t length = 0;
  for (const auto& address : own) length = std::max(length, address.size());
  const Head head{kMagic, nonce_, place_.world_size, place_.reduction_order, length};
  std::vector<char> value;
  append(value, &head, sizeof head);
  for (auto address : own) {
    address.resize(length);  // the one for this rank itself is empty
    append(value, address.data(), length);
  }
  set(kAddresses, value);
}

bool Rendezvous::read(std::int32_t peer, std::int64_t timeout_ms) {
  const std::size_t length = get(kAddresses, peer, timeout_ms);
  Head head{};
  if (length >= sizeof head) std::memcpy(&head, value_.data(), sizeof head);
  if (head.magic != kMagic) fail(GRADSTEP_ERR_MISMATCH, "the store holds something else where rank {} belongs", peer);
  if (head.world_size != place_.world_size) {
    fail(GRADSTEP_ERR_MISMATCH,
         "world_size: rank {} has {}, this rank {} (or an earlier job used this store with this generation)", peer,
         head.world_size, place_.world_size);
  }
  if (head.reduction_order != place_.reduction_order) {
    fail(GRADSTEP_ERR_MISMATCH, "reduction_order: rank {} has {}, this rank {}", peer, order_name(head.reduction_order),
         order_name(place_.reduction_order));
  }
  if (length != sizeof head + static_cast<std::size_t>(place_.world_size) * head.address_length) {
    fail(GRADSTEP_ERR_MISMATCH, "the addresses of rank {} have an unexpected length", peer);
  }
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  if (entry.nonce == head.nonce) return false;
  entry.nonce = head.nonce;
  const char* address = value_.data() + sizeof head + static_cast<std::size_t>(place_.rank) * head.address_length;
  entry.address.assign(address, address + head.address_length);
  return true;
}

void Rendezvous::acknowledge() {
  std::vector<char> value;
  for (std::int32_t r = 0; r < place_.world_size; ++r) {
    const std::uint64_t nonce = r == place_.rank ? nonce_ : peers_[static_cast<std::size_t>(r)].nonce;
    append(value, &nonce, sizeof nonce);
  }
  set(kSeen, value);
}

bool Rendezvous::acknowledged_by(std::int32_t peer, const Deadline& deadline) {
  const std::size_t length = get(kSeen, peer, deadline.remaining_ms());
  const auto nonce_at = [&](std::int32_t r) {
    const std::size_t begin = static_cast<std::size_t>(r) * sizeof(std::uint64_t);
    std::uint64_t nonce = 0;
    if (begin + sizeof nonce <= length) std::memcpy(&nonce, value_.data() + begin, sizeof nonce);
    return nonce;
  };
  const bool agreed = nonce_at(place_.rank) == nonce_ && nonce_at(peer) == peers_[static_cast<std::size_t>(peer)].nonce;
  if (!agreed && deadline.passed()) {
    fail(GRADSTEP_ERR_TIMEOUT, "rank {} did not answer at the rendezvous until the deadline", peer);
  }
  return agreed;
}

std::size_t Rendezvous::get(const char* kind, std::int32_t rank, std::int64_t timeout_ms) {
  const std::string key = fmt::format("{}/{}", kind, rank);
  std::size_t length = value_.size();
  const gradstep_status status = store_.get(store_.user, key.c_str(), value_.data(), &length, timeout_ms);
  if (status == GRADSTEP_ERR_TIMEOUT) {
    fail(status, "rank {} of {} did not come to the rendezvous until the deadline", rank, place_.world_size);
  }
  if (status != GRADSTEP_OK) throw Failure(status, "");
  return length;
}

void Rendezvous::set(const char* kind, const std::vector<char>& value) {
  const std::string key = fmt::format("{}/{}", kind, place_.rank);
  const gradstep_status status = store_.set(store_.user, key.c_str(), value.data(), value.size());
  if (status != GRADSTEP_OK) throw Failure(status, "");
}

}  // namespace gradstep::gloo_plugin
