// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Each rank draws a random number and publishes it with its addresses. When it has read all the others' it publishes
// the numbers that it saw, and it is done when every other rank has seen its own. Values that an earlier job left in
// the store hold other numbers: a rank that took one reads again until the live rank has answered. So a directory may
// be used again, and a rank that is restarted during the rendezvous may join.
#include "comm/rendezvous/rendezvous.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "comm/callbacks.h"
#include "comm/rendezvous/launched_store.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/random_bytes.h"

namespace gradstep {

namespace {

constexpr std::size_t kLongestValue = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kRereadPause{5};

constexpr const char* kAddresses = "rank";  // Head, then world_size addresses; kGone of a rank that has given up
constexpr const char* kSeen = "seen";       // world_size nonces, the own one in its place

constexpr std::uint64_t kMagic = 0x3230455452475347;  // "GSGRTE02"

struct Head {
  std::uint64_t magic;
  std::uint64_t nonce;
  std::uint64_t engine;
  std::int32_t world_size;
  std::int32_t reduction_order;
  std::uint64_t address_length;
};

constexpr char kGone = '-';
bool is_gone(const char* value, std::size_t length) { return length == 1 && *value == kGone; }

std::string key_of(std::int64_t generation, const std::string& room, const char* kind, std::int32_t rank) {
  return fmt::format("gradstep/{}/{}{}/{}", generation, room, kind, rank);
}

void append(std::vector<char>& value, const void* data, std::size_t length) {
  const auto* begin = static_cast<const char*>(data);
  value.insert(value.end(), begin, begin + length);
}

const char* order_name(std::int32_t order) { return order == GRADSTEP_REDUCTION_RANK ? "RANK" : "ENGINE"; }

Rendezvous& rendezvous(void* user) { return *static_cast<Rendezvous*>(user); }

}  // namespace

std::unique_ptr<Store> open_store(const gradstep_comm_options& options, std::int32_t max_ranks,
                                  const Deadline& deadline, const Launch* launch, FunctionRef<void()> poll) {
  if (options.world_size < 1 || options.world_size > max_ranks) {
    fail_argument("options.world_size: is {}, expected 1 to {}", options.world_size, max_ranks);
  }
  if (options.rank < 0 || options.rank >= options.world_size) {
    fail_argument("options.rank: is {}, expected 0 to {}", options.rank, options.world_size - 1);
  }
  const int given =
      (options.id != nullptr ? 1 : 0) + (options.store != nullptr ? 1 : 0) + (options.store_path != nullptr ? 1 : 0);
  if (given == 0 && launch != nullptr) {
    return open_launched_store(*launch, environment_of_process, next_launched_call(), deadline, poll);
  }
  if (given != 1) {
    fail_argument("options: {} of id, store and store_path are given, expected exactly one", given);
  }
  if (options.store != nullptr) return wrap_host_store(*options.store);
  if (options.store_path != nullptr) return open_directory_store(options.store_path);
  return connect_tcp_store(options.id, options.id_len, options.rank, options.world_size, deadline);
}

std::int32_t count_waiting(Store& store, const gradstep_comm_options& options, std::int32_t first) {
  std::vector<char> value(kLongestValue);
  std::int32_t waiting = 0;
  for (std::int32_t rank = first; rank < options.world_size; ++rank) {
    std::size_t length = value.size();
    const std::string key = key_of(options.generation, {}, kAddresses, rank);
    const bool is_there = store.get(key, value.data(), length, Deadline::after_ms(0));
    if (is_there && !is_gone(value.data(), length)) ++waiting;
  }
  return waiting;
}

Rendezvous::Rendezvous(Store& store, const Context& context, std::string_view engine,
                       const gradstep_comm_options& options, std::string room)
    : store_(store),
      context_(context),
      engine_(hash_bytes(engine.data(), engine.size())),
      rank_(options.rank),
      world_size_(options.world_size),
      reduction_order_(options.reduction_order),
      generation_(options.generation),
      room_(std::move(room)),
      peers_(static_cast<std::size_t>(options.world_size)),
      value_(kLongestValue) {
  fill_random(&nonce_, sizeof nonce_);
}

std::vector<char> Rendezvous::meet(std::span<const char> own, std::size_t length, const Deadline& deadline) {
  address_length_ = length;
  publish(own);
  try {
    find_peers(deadline);
  } catch (const Error& error) {
    if (error.status() != GRADSTEP_ERR_MISMATCH) withdraw();  // a peer of other options is to see them
    throw;
  }
  std::vector<char> addresses(own.begin(), own.end());
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    std::copy(peers_[peer].address.begin(), peers_[peer].address.end(),
              addresses.begin() + static_cast<std::ptrdiff_t>(peer * length));
  }
  has_met_ = true;
  return addresses;
}

void Rendezvous::find_peers(const Deadline& deadline) {
  for (std::int32_t peer = 0; peer < world_size_; ++peer) {
    if (peer != rank_) read(peer, deadline);
  }
  acknowledge();
  for (std::int32_t peer = 0; peer < world_size_; ++peer) {
    if (peer == rank_) continue;
    while (!acknowledged_by(peer, deadline)) {
      poll_interrupt();  // an earlier job's values are there at once, so no get comes to it
      if (read(peer, deadline)) {
        acknowledge();
      } else {
        std::this_thread::sleep_for(kRereadPause);
      }
    }
  }
}

void Rendezvous::poll() {
  poll_interrupt();
  next_polled_ = (next_polled_ + 1) % world_size_;
  if (next_polled_ == rank_) return;
  std::size_t length = 0;
  if (!find(kAddresses, next_polled_, length, Deadline::after_ms(0))) return;  // a store that stalls is asked again
  if (take(next_polled_, length)) {
    fail(GRADSTEP_ERR_PEER_LOST, "rank {} started anew while the ranks connected", next_polled_);
  }
}

void Rendezvous::publish(std::span<const char> own) {
  const Head head{kMagic, nonce_, engine_, world_size_, reduction_order_, address_length_};
  std::vector<char> value;
  append(value, &head, sizeof head);
  append(value, own.data(), own.size());
  set(kAddresses, value);
}

void Rendezvous::withdraw() noexcept {
  try {
    set(kAddresses, {kGone});
  } catch (...) {
    // The store is gone, and with it what this rank has said.
  }
}

bool Rendezvous::read(std::int32_t peer, const Deadline& deadline) {
  return take(peer, get(kAddresses, peer, deadline));
}

bool Rendezvous::take(std::int32_t peer, std::size_t length) {
  Head head{};
  if (length >= sizeof head) std::memcpy(&head, value_.data(), sizeof head);
  if (head.magic != kMagic) fail(GRADSTEP_ERR_MISMATCH, "the store holds something else where rank {} belongs", peer);
  if (head.engine != engine_) {
    fail(GRADSTEP_ERR_MISMATCH, "engine: rank {} has another one (or used this store with this generation before)",
         peer);
  }
  if (head.world_size != world_size_) {
    fail(GRADSTEP_ERR_MISMATCH,
         "world_size: rank {} has {}, this rank {} (or an earlier job used this store with this generation)", peer,
         head.world_size, world_size_);
  }
  if (head.reduction_order != reduction_order_) {
    fail(GRADSTEP_ERR_MISMATCH, "reduction_order: rank {} has {}, this rank {}", peer, order_name(head.reduction_order),
         order_name(reduction_order_));
  }
  if (head.address_length != address_length_ || length != sizeof head + peers_.size() * address_length_) {
    fail(GRADSTEP_ERR_MISMATCH, "the addresses of rank {} have an unexpected length", peer);
  }
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  if (entry.nonce == head.nonce) return false;
  entry.nonce = head.nonce;
  const char* address = value_.data() + sizeof head + static_cast<std::size_t>(rank_) * address_length_;
  entry.address.assign(address, address + address_length_);
  return true;
}

void Rendezvous::acknowledge() {
  std::vector<char> value;
  for (std::int32_t r = 0; r < world_size_; ++r) {
    const std::uint64_t nonce = r == rank_ ? nonce_ : peers_[static_cast<std::size_t>(r)].nonce;
    append(value, &nonce, sizeof nonce);
  }
  set(kSeen, value);
}

bool Rendezvous::acknowledged_by(std::int32_t peer, const Deadline& deadline) {
  const std::size_t length = get(kSeen, peer, deadline);
  const auto nonce_at = [&](std::int32_t r) {
    const std::size_t begin = static_cast<std::size_t>(r) * sizeof(std::uint64_t);
    std::uint64_t nonce = 0;
    if (begin + sizeof nonce <= length) std::memcpy(&nonce, value_.data() + begin, sizeof nonce);
    return nonce;
  };
  const bool agreed = nonce_at(rank_) == nonce_ && nonce_at(peer) == peers_[static_cast<std::size_t>(peer)].nonce;
  if (!agreed && deadline.passed()) {
    fail(GRADSTEP_ERR_TIMEOUT, "rank {} did not answer at the rendezvous until the deadline", peer);
  }
  return agreed;
}

std::string Rendezvous::key(const char* kind, std::int32_t rank) const {
  return key_of(generation_, room_, kind, rank);
}

// A store may wait for long without asking the host, so it is given short waits.
std::size_t Rendezvous::get(const char* kind, std::int32_t rank, const Deadline& deadline) {
  std::size_t length = 0;
  do {
    const auto slice = std::min<std::int64_t>(deadline.remaining_ms(), kInterruptPoll.count());
    if (find(kind, rank, length, Deadline::after_ms(slice))) return length;
    poll_interrupt();
    std::this_thread::sleep_for(kRereadPause);  // one that has given up may come back
  } while (!deadline.passed());
  std::string about = store_.about();
  if (const auto own = store_.reached_from(); about.empty() && own && own->is_loopback()) {
    about =
        " (the store of the id is at a loopback address, which other machines cannot reach: "
        "gradstep_comm_unique_id_ex takes a network_interface)";
  }
  fail(GRADSTEP_ERR_TIMEOUT, "rank {} of {} did not come to the rendezvous until the deadline{}", rank, world_size_,
       about);
}

bool Rendezvous::find(const char* kind, std::int32_t rank, std::size_t& length, const Deadline& deadline) {
  length = value_.size();
  if (!store_.get(key(kind, rank), value_.data(), length, deadline)) return false;
  return !is_gone(value_.data(), length);
}

void Rendezvous::poll_interrupt() {
  if (!interrupt_due_.passed()) return;
  if (context_.interrupted()) fail(GRADSTEP_ERR_ABORTED, "the host interrupted the call");
  interrupt_due_ = Deadline::after_ms(kInterruptPoll.count());
}

void Rendezvous::set(const char* kind, const std::vector<char>& value) {
  store_.set(key(kind, rank_), value.data(), value.size());
}

gradstep_plugin_rendezvous Rendezvous::loan() {
  gradstep_plugin_rendezvous loan{};
  loan.struct_size = sizeof loan;
  loan.user = this;
  loan.meet = [](void* user, const char* own, std::size_t length, char* theirs, std::int64_t timeout_ms) {
    return guarded([&] {
      Rendezvous& self = rendezvous(user);
      const std::span<const char> addresses(own, length * self.peers_.size());
      const auto met = self.meet(addresses, length, Deadline::after_ms(timeout_ms));
      std::copy(met.begin(), met.end(), theirs);
    });
  };
  loan.poll = [](void* user) { return guarded([&] { rendezvous(user).poll(); }); };
  return loan;
}

}  // namespace gradstep
