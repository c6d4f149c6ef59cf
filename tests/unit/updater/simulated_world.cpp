// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "unit/updater/simulated_world.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "comm/callbacks.h"

namespace gradstep::test {

namespace {

constexpr std::int64_t kNoDeadlineMs = 24 * 3600 * 1000;  // turns decide, and no clock

#if defined(__linux__)
/// Threads of which one runs at a time hand over sooner on one processor. Threads that start in its scope inherit it.
class OneProcessor {
 public:
  OneProcessor() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(std::max(0, sched_getcpu())), &one);
    is_set_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~OneProcessor() {
    if (is_set_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
  bool is_set_ = false;
};
#endif

}  // namespace

Turns::Turns(std::int32_t ranks, std::uint32_t seed) : random_(seed), seats_(static_cast<std::size_t>(ranks)) {}

void Turns::run(const std::function<void(std::int32_t rank)>& body) {
#if defined(__linux__)
  const OneProcessor here;
#endif
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(seats_.size()); ++rank) {
    threads.emplace_back([&, rank] {
      {
        std::unique_lock lock(mutex_);
        take(rank, lock);
      }
      body(rank);
      const std::lock_guard lock(mutex_);
      seats_[static_cast<std::size_t>(rank)].ended = true;
      pass();
    });
  }
  {
    const std::lock_guard lock(mutex_);
    pass();
  }
  for (std::thread& thread : threads) thread.join();
}

bool Turns::wait(std::int32_t rank, std::function<bool()> ready) {
  return ready() || give_away(rank, std::move(ready));
}

bool Turns::give_away(std::int32_t rank, std::function<bool()> ready) {
  std::unique_lock lock(mutex_);
  Seat& seat = seats_[static_cast<std::size_t>(rank)];
  seat.ready = std::move(ready);
  pass();
  take(rank, lock);
  const bool is_ready = seat.ready();
  seat.ready = nullptr;
  return is_ready;
}

void Turns::yield(std::int32_t rank) {
  if (coin()) give_away(rank, [] { return true; });
}

void Turns::take(std::int32_t rank, std::unique_lock<std::mutex>& lock) {
  seats_[static_cast<std::size_t>(rank)].turned.wait(lock, [&] { return current_ == rank; });
}

/// The lock is held. If no rank can go on, one must get an error.
void Turns::pass() {
  // The first that can go on, from a seat that chance decides; where none can, the first that has not ended.
  const std::size_t first = random_() % seats_.size();
  std::optional<std::size_t> chosen;
  std::optional<std::size_t> waiting;
  for (std::size_t i = 0; i < seats_.size() && !chosen; ++i) {
    const std::size_t at = (first + i) % seats_.size();
    const Seat& seat = seats_[at];
    if (seat.ended) continue;
    if (!waiting) waiting = at;
    if (!seat.ready || seat.ready()) chosen = at;
  }
  if (!waiting) return;
  if (!chosen) stuck_ = true;
  current_ = static_cast<std::int32_t>(chosen.value_or(*waiting));
  seats_[static_cast<std::size_t>(current_)].turned.notify_one();
}

/// One generation's messages. All ranks see all of it; only the one that has the turn touches it.
struct SimulatedWorld::Channel {
  using Bytes = std::vector<std::byte>;
  explicit Channel(std::size_t size) : lost(size), gathers(size) {}

  std::vector<bool> lost;            // by place: has failed or left
  std::vector<std::size_t> gathers;  // by place: how many it has begun
  std::vector<std::vector<std::optional<Bytes>>> rounds;
  std::map<std::pair<std::int32_t, std::int32_t>, std::deque<Bytes>> messages;  // by (from, to)
  bool cut = false;                                                             // who waits now gets nothing more
};

struct SimulatedWorld::Seat {
  SimulatedWorld& world;
  std::shared_ptr<Channel> channel;
  std::int32_t rank;   // of the world
  std::int32_t place;  // in the channel

  gradstep_status lose() const {
    channel->lost[static_cast<std::size_t>(place)] = true;
    return GRADSTEP_ERR_PEER_LOST;
  }
  /// Gives out what the call has to give, and waits for what it is to get from each of `from`.
  template <class Give, class Has>
  gradstep_status call(Give&& give, Has&& has, const std::vector<std::int32_t>& from) const {
    world.turns_.yield(rank);
    const Fault* fault = world.strikes(rank);
    if (fault == nullptr || fault->moment != Fault::Moment::before) give();
    if (fault != nullptr) {
      if (fault->moment == Fault::Moment::for_others) channel->cut = true;
      return lose();
    }
    const auto is_lost = [&](std::int32_t r) { return channel->lost[static_cast<std::size_t>(r)]; };
    const auto all_there = [&] { return std::all_of(from.begin(), from.end(), has); };
    const auto hopeless = [&] {
      return std::any_of(from.begin(), from.end(), [&](std::int32_t r) { return !has(r) && is_lost(r); });
    };
    const bool settled = world.turns_.wait(rank, [&] { return channel->cut || all_there() || hopeless(); });
    return settled && all_there() && !channel->cut ? GRADSTEP_OK : lose();
  }
};

gradstep_status SimulatedWorld::all_gather(void* user, const void* send, void* receive, std::int64_t bytes, void*,
                                           std::int64_t) {
  const Seat& seat = *static_cast<Seat*>(user);
  Channel& channel = *seat.channel;
  const auto place = static_cast<std::size_t>(seat.place);
  const std::size_t round = channel.gathers[place]++;
  if (channel.rounds.size() <= round) channel.rounds.resize(round + 1);
  if (channel.rounds[round].empty()) channel.rounds[round].resize(channel.lost.size());
  const auto part = [&channel, round](std::int32_t r) -> std::optional<Channel::Bytes>& {
    return channel.rounds[round][static_cast<std::size_t>(r)];
  };
  std::vector<std::int32_t> all;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(channel.lost.size()); ++r) all.push_back(r);
  const auto* data = static_cast<const std::byte*>(send);
  const gradstep_status status = seat.call([&] { part(seat.place) = Channel::Bytes(data, data + bytes); },
                                           [&](std::int32_t r) { return part(r).has_value(); }, all);
  if (status != GRADSTEP_OK) return status;
  for (const std::int32_t r : all) {
    if (static_cast<std::int64_t>(part(r)->size()) != bytes) return seat.lose();  // the ranks are in different calls
    if (bytes > 0) std::memcpy(static_cast<std::byte*>(receive) + r * bytes, part(r)->data(), part(r)->size());
  }
  return GRADSTEP_OK;
}

gradstep_status SimulatedWorld::send(void* user, const void* data, std::int64_t bytes, std::int32_t to, void*,
                                     std::int64_t) {
  const Seat& seat = *static_cast<Seat*>(user);
  const auto* begin = static_cast<const std::byte*>(data);
  return seat.call([&] { seat.channel->messages[{seat.place, to}].emplace_back(begin, begin + bytes); },
                   [](std::int32_t) { return true; }, {});
}

gradstep_status SimulatedWorld::recv(void* user, void* data, std::int64_t bytes, std::int32_t from, void*,
                                     std::int64_t) {
  const Seat& seat = *static_cast<Seat*>(user);
  auto& queue = seat.channel->messages[{from, seat.place}];
  const gradstep_status status = seat.call([] {}, [&](std::int32_t) { return !queue.empty(); }, {from});
  if (status != GRADSTEP_OK) return status;
  if (static_cast<std::int64_t>(queue.front().size()) != bytes) return seat.lose();
  if (bytes > 0) std::memcpy(data, queue.front().data(), queue.front().size());
  queue.pop_front();
  return GRADSTEP_OK;
}

SimulatedWorld::SimulatedWorld(std::int32_t ranks, std::uint32_t seed, bool pairs, std::vector<Fault> faults)
    : turns_(ranks, seed),
      pairs_(pairs),
      faults_(std::move(faults)),
      calls_(static_cast<std::size_t>(ranks), -1),
      recovery_calls_(static_cast<std::size_t>(ranks)),
      lives_(static_cast<std::size_t>(ranks), true),
      connecting_(static_cast<std::size_t>(ranks)),
      finished_(static_cast<std::size_t>(ranks)) {}

SimulatedWorld::~SimulatedWorld() = default;

void SimulatedWorld::arm(std::int32_t rank) {
  calls_[static_cast<std::size_t>(rank)] = 0;
  ++armed_;
  turns_.wait(rank, [this] { return armed_ == calls_.size(); });  // no rank fails while others still begin
}

const Fault* SimulatedWorld::strikes(std::int32_t rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (calls_[place] < 0) return nullptr;
  const std::int64_t call = calls_[place]++;
  const std::int64_t recovery_call = generation_ > 1 ? recovery_calls_[place]++ : -1;
  for (const Fault& fault : faults_) {
    if (fault.rank != rank || fault.call != (fault.in_recovery ? recovery_call : call)) continue;
    ++struck_;
    if (fault.dies) lives_[place] = false;
    return &fault;
  }
  return nullptr;
}

bool SimulatedWorld::is_connecting() const {
  return std::find(connecting_.begin(), connecting_.end(), true) != connecting_.end();
}

std::shared_ptr<Communicator> SimulatedWorld::connect(std::int32_t rank, const std::shared_ptr<Context>& context,
                                                      bool keeps) {
  const auto place = static_cast<std::size_t>(rank);
  const auto known = std::find(members_.begin(), members_.end(), rank);
  if (channel_ && known != members_.end() && !keeps) {
    channel_->lost[static_cast<std::size_t>(known - members_.begin())] = true;
  }
  connecting_[place] = true;
  finished_[place] = false;
  const std::int64_t last = generation_;
  const auto all_ask = [this] {
    for (std::size_t r = 0; r < lives_.size(); ++r) {
      if (lives_[r] && !connecting_[r]) return false;
    }
    return true;
  };
  turns_.wait(rank, [&, last] { return generation_ > last || all_ask(); });
  if (generation_ == last) {  // the first to see that all are here
    members_.clear();
    for (std::size_t r = 0; r < lives_.size(); ++r) {
      if (lives_[r]) members_.push_back(static_cast<std::int32_t>(r));
      connecting_[r] = false;
    }
    ++generation_;
    channel_ = std::make_shared<Channel>(members_.size());
  }
  const auto own = static_cast<std::int32_t>(std::find(members_.begin(), members_.end(), rank) - members_.begin());
  gradstep_comm_vtable vtable = empty_vtable(own, static_cast<std::int32_t>(members_.size()), false);
  vtable.all_gather = all_gather;
  if (pairs_) {
    vtable.send = send;
    vtable.recv = recv;
  }
  vtable.release = [](void* user) { delete static_cast<Seat*>(user); };
  return make_host_communicator(context, vtable, new Seat{*this, channel_, rank, own}, {.timeout_ms = kNoDeadlineMs});
}

bool SimulatedWorld::finish(std::int32_t rank) {
  finished_[static_cast<std::size_t>(rank)] = true;
  const auto all_done = [this] {
    for (std::size_t r = 0; r < lives_.size(); ++r) {
      if (lives_[r] && !finished_[r]) return false;
    }
    return true;
  };
  turns_.wait(rank, [&] { return all_done() || is_connecting(); });
  if (all_done()) return false;
  finished_[static_cast<std::size_t>(rank)] = false;
  return true;
}

}  // namespace gradstep::test
