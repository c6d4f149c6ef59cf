// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// State, errors, and the calls on the host's memory.
#include "comm/engine_communicator.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <numeric>

#include "comm/device_collectives.h"
#include "comm/engines/device_engine.h"
#include "comm/engines/split_engine.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/own_thread.h"
#include "core/shape.h"

namespace gradstep {

namespace {

// Ten years: for ever, but deadlines still fit their clock.
constexpr std::int64_t kLongestTimeoutMs = std::int64_t{10} * 366 * 24 * 3600 * 1000;

/// What ranks tell each other first.
struct Introduction {
  std::uint64_t host;
  std::int32_t rank;
  std::int32_t world_size;
  std::int32_t reduction_order;
  std::int32_t reserved;
};

std::uint64_t host_hash() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return hash_bytes(name.data(), std::strlen(name.data()));
}

const char* order_name(std::int32_t order) { return order == GRADSTEP_REDUCTION_RANK ? "RANK" : "ENGINE"; }

void check_introduction(const Engine& engine, const CommSettings& settings, std::int32_t place,
                        const Introduction& peer) {
  if (peer.rank != place) {
    fail(GRADSTEP_ERR_MISMATCH, "{}: all_gather put data of rank {} where those of rank {} belong", engine.name(),
         peer.rank, place);
  }
  if (peer.world_size != engine.world_size()) {
    fail(GRADSTEP_ERR_MISMATCH, "world_size: rank {} has {}, this rank {}", place, peer.world_size,
         engine.world_size());
  }
  if (peer.reduction_order != settings.reduction_order) {
    fail(GRADSTEP_ERR_MISMATCH, "reduction_order: rank {} has {}, this rank {}", place,
         order_name(peer.reduction_order), order_name(settings.reduction_order));
  }
}

}  // namespace

CommSettings comm_settings(const gradstep_comm_options& options) {
  if (options.timeout_ms <= 0) fail_argument("options.timeout_ms: is {}, expected more than 0", options.timeout_ms);
  if (options.reduction_order != GRADSTEP_REDUCTION_RANK && options.reduction_order != GRADSTEP_REDUCTION_ENGINE) {
    fail_argument("options.reduction_order: is {}, expected {} (RANK) or {} (ENGINE)", options.reduction_order,
                  static_cast<int>(GRADSTEP_REDUCTION_RANK), static_cast<int>(GRADSTEP_REDUCTION_ENGINE));
  }
  return {std::min(options.timeout_ms, kLongestTimeoutMs), options.reduction_order};
}

EngineCommunicator::EngineCommunicator(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine,
                                       const CommSettings& settings, std::vector<std::uint64_t> hosts)
    : context_(std::move(context)),
      site_(context_->cpu()),
      engine_(std::move(engine)),
      settings_(settings),
      hosts_(std::move(hosts)),
      reductions_(engine_, site_, settings_.reduction_order, sent_,
                  [this](FunctionRef<void()> work) { wait_for_peers(work); }) {
  if ((engine_->vtable().device_types & ~(1U << GRADSTEP_DEVICE_CPU)) != 0) device_engine_ = engine_;
  stats_.struct_size = sizeof stats_;
}

std::shared_ptr<EngineCommunicator> EngineCommunicator::introduce(std::shared_ptr<Context> context,
                                                                  std::shared_ptr<Engine> engine,
                                                                  const CommSettings& settings,
                                                                  const Deadline& deadline) {
  const Introduction own{host_hash(), engine->rank(), engine->world_size(), settings.reduction_order, 0};
  const auto ranks = static_cast<std::size_t>(engine->world_size());
  auto communicator = std::make_shared<EngineCommunicator>(std::move(context), engine, settings,
                                                           std::vector<std::uint64_t>(ranks, own.host));
  std::vector<Introduction> peers(ranks);
  communicator->all_gather(&own, peers.data(), sizeof own, deadline);
  for (std::size_t r = 0; r < ranks; ++r) {
    check_introduction(*engine, settings, static_cast<std::int32_t>(r), peers[r]);
    communicator->hosts_[r] = peers[r].host;
  }
  communicator->stats_.all_gathers = 0;
  communicator->tell_connected();
  return communicator;
}

void EngineCommunicator::tell_connected() const {
  context_->log().write(GRADSTEP_LOG_INFO, "communicator: rank {} of {} by engine {}, {} order, timeout {} ms", rank(),
                        world_size(), engine(), order_name(settings_.reduction_order), settings_.timeout_ms);
}

std::int32_t EngineCommunicator::local_rank() const {
  const auto own = hosts_.begin() + rank();
  return static_cast<std::int32_t>(std::count(hosts_.begin(), own, *own));
}

void EngineCommunicator::throw_if_broken() const {
  const std::lock_guard lock(status_mutex_);
  if (status_.code != GRADSTEP_OK) fail(status_.code, "{}", status_.text);
}

void EngineCommunicator::keep_first_error(gradstep_status code, std::string text) noexcept {
  const std::lock_guard lock(status_mutex_);
  if (status_.code != GRADSTEP_OK) return;
  status_.code = code;
  status_.text = std::move(text);
}

void EngineCommunicator::tell_broken() noexcept {
  Status status;
  {
    const std::lock_guard lock(status_mutex_);
    if (std::exchange(told_, true)) return;
    status = status_;
  }
  // An abort is somebody's wish.
  const auto level = status.code == GRADSTEP_ERR_ABORTED ? GRADSTEP_LOG_INFO : GRADSTEP_LOG_ERROR;
  context_->log().write(level, "communicator: rank {} of {} by engine {} is broken: {}: {}", rank(), world_size(),
                        engine(), status_name(status.code), status.text);
}

void EngineCommunicator::break_with(gradstep_status code, std::string text) noexcept {
  keep_first_error(code, std::move(text));
  engine_->abort();
  if (has_own_device_engine()) device_engine_->abort();
  tell_broken();
}

void EngineCommunicator::break_with_current() noexcept {
  const gradstep_status code = translate_exception();
  break_with(code, last_error());
}

void EngineCommunicator::perform_on(Engine& engine, std::int64_t gradstep_comm_statistics::* counter,
                                    const Deadline& deadline, FunctionRef<void()> body) {
  throw_if_broken();
  const auto begin = Deadline::Clock::now();
  try {
    if (world_size() == 1) {
      body();
    } else {
      const Engine::Use use(engine, deadline);
      engine_->check();
      if (has_own_device_engine()) device_engine_->check();
      engine.said().call = 0;
      body();
    }
  } catch (...) {
    break_with_current();
  }
  const auto spent = Deadline::Clock::now() - begin;
  const std::lock_guard lock(status_mutex_);
  stats_.nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  if (status_.code != GRADSTEP_OK) fail(status_.code, "{}", status_.text);
  if (counter != nullptr) ++(stats_.*counter);
}

/// Throws nothing: what is under way works on the caller's stack, and ends when the channel is broken.
void EngineCommunicator::poll_interrupt() noexcept {
  try {
    if (context_->interrupted()) break_with(GRADSTEP_ERR_ABORTED, "the host interrupted the call");
  } catch (...) {
    break_with_current();
  }
}

void EngineCommunicator::wait_for_peers(FunctionRef<void()> work) {
  // On a thread of gradstep's own there is nothing to poll: the one that waits for it does that.
  if (world_size() == 1 || !engine_->any_thread() || !context_->can_be_interrupted() || on_own_thread) return work();
  progress_.run(work, [&] { poll_interrupt(); });
}

void EngineCommunicator::all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  perform(Call::of_reduction(CallKind::all_reduce, data.size, data.dtype, op), &gradstep_comm_statistics::all_reduces,
          deadline, [&] { reductions_.all_reduce(data, op, divisor, deadline); });
}

void EngineCommunicator::reduce_scatter(const Array& input, const Array& output, std::int32_t op,
                                        const Deadline& deadline) {
  perform(Call::of_reduction(CallKind::reduce_scatter, input.size, input.dtype, op),
          &gradstep_comm_statistics::reduce_scatters, deadline,
          [&] { reductions_.reduce_scatter(input, output, op, deadline); });
}

void EngineCommunicator::reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op,
                                          double divisor, const Deadline& deadline) {
  perform(Call::of_reduction(CallKind::reduce_scatter, data.size, data.dtype, op),
          &gradstep_comm_statistics::reduce_scatters, deadline,
          [&] { reductions_.reduce_scatter_v(data, counts, op, divisor, deadline); });
}

bool EngineCommunicator::overlaps() const {
  return world_size() > 1 && own_channel_ && engine_->any_thread() && engine_->vtable().abort != nullptr;
}

void EngineCommunicator::finish() {
  progress_.finish([&] { poll_interrupt(); });
  context_->log().deliver();  // what the progress thread had to say
}

void EngineCommunicator::require_point_to_point(const char* call) const {
  if (world_size() > 1 && !engine_->point_to_point()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "{}: the {} engine has no send and recv", call, engine_->name());
  }
}

void EngineCommunicator::all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline) {
  perform(Call::of_bytes(CallKind::all_gather, bytes), &gradstep_comm_statistics::all_gathers, deadline,
          [&] { wait_for_peers([&] { collectives_.all_gather(send, receive, bytes, deadline); }); });
}

void EngineCommunicator::all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes,
                                      const Deadline& deadline) {
  const std::int64_t all = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  perform(Call::of_bytes(CallKind::all_gather, all), &gradstep_comm_statistics::all_gathers, deadline,
          [&] { wait_for_peers([&] { collectives_.all_gather_v(send, receive, bytes, deadline); }); });
}

void EngineCommunicator::all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes,
                                    const Deadline& deadline) {
  const std::int64_t all = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  perform(Call::of_bytes(CallKind::all_to_all, all), &gradstep_comm_statistics::exchanges, deadline,
          [&] { wait_for_peers([&] { collectives_.all_to_all(send, receive, bytes, deadline); }); });
}

void EngineCommunicator::exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming,
                                  const Deadline& deadline) {
  if (!can_exchange()) fail(GRADSTEP_ERR_UNSUPPORTED, "exchange: the {} engine only gathers", engine_->name());
  perform(Call::of_bytes(CallKind::exchange, 0), &gradstep_comm_statistics::exchanges, deadline, [&] {
    if (world_size() == 1) return;
    wait_for_peers([&] {
      collectives_.exchange([&](std::int32_t to) { return outgoing[static_cast<std::size_t>(to)]; },
                            [&](std::int32_t from) { return incoming[static_cast<std::size_t>(from)]; }, deadline);
    });
  });
}

void EngineCommunicator::broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) {
  perform(Call::of_bytes(CallKind::broadcast, bytes, root), &gradstep_comm_statistics::broadcasts, deadline,
          [&] { wait_for_peers([&] { collectives_.broadcast(data, bytes, root, deadline); }); });
}

void EngineCommunicator::send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) {
  require_point_to_point("send");
  perform(Call::of_bytes(CallKind::point_to_point, bytes), &gradstep_comm_statistics::sends, deadline, [&] {
    if (bytes > 0) wait_for_peers([&] { collectives_.send(data, bytes, to, deadline); });
  });
}

void EngineCommunicator::recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) {
  require_point_to_point("recv");
  perform(Call::of_bytes(CallKind::point_to_point, bytes), &gradstep_comm_statistics::receives, deadline, [&] {
    if (bytes > 0) wait_for_peers([&] { collectives_.recv(data, bytes, from, deadline); });
  });
}

void EngineCommunicator::barrier(const Deadline& deadline) {
  perform(Call::of_bytes(CallKind::barrier, 0), &gradstep_comm_statistics::barriers, deadline,
          [&] { wait_for_peers([&] { collectives_.barrier(deadline); }); });
}

bool EngineCommunicator::vote(bool yes, const Deadline& deadline) {
  const char own = yes ? 1 : 0;
  std::vector<char> votes;
  // Room is made within the call: a rank that finds none breaks the channel, and nobody waits for its vote.
  perform(Call::of_bytes(CallKind::all_gather, 1), &gradstep_comm_statistics::all_gathers, deadline, [&] {
    votes.resize(static_cast<std::size_t>(world_size()));
    wait_for_peers([&] { collectives_.all_gather(&own, votes.data(), 1, deadline); });
  });
  return std::all_of(votes.begin(), votes.end(), [](char vote) { return vote == 1; });
}

std::shared_ptr<Communicator> EngineCommunicator::dup(const Deadline& deadline) { return duplicate(deadline); }

std::shared_ptr<EngineCommunicator> EngineCommunicator::duplicate_host(const Deadline& deadline) {
  std::shared_ptr<Engine> channel;
  perform(Call::of_bytes(CallKind::channel, 0), nullptr, deadline,
          [&] { wait_for_peers([&] { channel = Engine::dup(engine_, deadline); }); });
  const bool own = channel != engine_;
  auto copy = std::make_shared<EngineCommunicator>(context_, std::move(channel), settings_, hosts_);
  copy->own_channel_ = own;
  return copy;
}

std::shared_ptr<EngineCommunicator> EngineCommunicator::duplicate(const Deadline& deadline) {
  auto copy = duplicate_host(deadline);
  if (has_own_device_engine()) copy->attach_device(device_, nullptr, deadline);
  return copy;
}

std::shared_ptr<Communicator> EngineCommunicator::split(std::int32_t color, std::int32_t key,
                                                        const Deadline& deadline) {
  require_point_to_point("split");
  struct Choice {
    std::int32_t color;
    std::int32_t key;
  };
  const Choice own{color, key};
  std::vector<Choice> choices(static_cast<std::size_t>(world_size()));
  std::vector<std::int32_t> members;
  std::shared_ptr<Engine> group;
  perform(Call::of_bytes(CallKind::channel, 0), nullptr, deadline, [&] {
    wait_for_peers([&] {
      collectives_.all_gather(&own, choices.data(), sizeof own, deadline);
      for (std::int32_t r = 0; r < world_size() && color >= 0; ++r) {
        if (choices[static_cast<std::size_t>(r)].color == color) members.push_back(r);
      }
      std::stable_sort(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) {
        return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
      });
      if (engine_->can_split()) {
        group = engine_->split(members, deadline);
        return;
      }
      auto channel = Engine::dup(engine_, deadline);
      if (!members.empty()) group = make_split_engine(std::move(channel), members);
    });
  });
  if (group == nullptr) return nullptr;
  std::vector<std::uint64_t> hosts;
  for (const std::int32_t member : members) hosts.push_back(hosts_[static_cast<std::size_t>(member)]);
  auto part = std::make_shared<EngineCommunicator>(context_, std::move(group), settings_, std::move(hosts));
  part->own_channel_ = engine_->can_split();
  if (has_own_device_engine()) part->attach_device(device_, nullptr, deadline);
  return part;
}

std::unique_ptr<DeviceCollectives> EngineCommunicator::reach(const Site& site, gradstep_device device) {
  if (site.is_host() || device_engine_ == nullptr) return nullptr;
  if (!device_engine_->reaches(device.device_type)) return nullptr;
  if (has_own_device_engine() && !same_device(device, device_)) return nullptr;
  return std::make_unique<DeviceCollectives>(*this, site);
}

void EngineCommunicator::attach_device(gradstep_device device, void* native, const Deadline& deadline) {
  device_engine_ = connect_device_engine(*this, device, native, deadline);
  device_ = device;
}

std::shared_ptr<Communicator> EngineCommunicator::with_device(gradstep_device device, void* native,
                                                              const Deadline& deadline) {
  auto copy = duplicate_host(deadline);
  copy->attach_device(device, native, deadline);
  return copy;
}

std::shared_ptr<Communicator> EngineCommunicator::private_channel(const Deadline& deadline) {
  auto channel = duplicate(deadline);
  const std::lock_guard lock(channels_mutex_);
  auto channels = std::make_shared<Channels>(*channels_);
  std::erase_if(*channels, [](const auto& old) { return old.expired(); });
  channels->push_back(channel);
  channels_ = std::move(channels);
  return channel;
}

std::shared_ptr<const EngineCommunicator::Channels> EngineCommunicator::channels() const {
  const std::lock_guard lock(channels_mutex_);
  return channels_;
}

void EngineCommunicator::abort() noexcept {
  constexpr const char* kText = "the communicator was aborted";
  const auto present = channels();  // without the lock: a host's callback may abort, too
  // All are told before any engine is, for they may share one.
  for (const auto& channel : *present) {
    if (const auto alive = channel.lock()) alive->keep_first_error(GRADSTEP_ERR_ABORTED, kText);
  }
  break_with(GRADSTEP_ERR_ABORTED, kText);
  for (const auto& channel : *present) {
    if (const auto alive = channel.lock()) alive->abort();
  }
}

Communicator::Status EngineCommunicator::status() const {
  const std::lock_guard lock(status_mutex_);
  return status_;
}

gradstep_comm_statistics EngineCommunicator::stats() const {
  const std::lock_guard lock(status_mutex_);
  gradstep_comm_statistics stats = stats_;
  stats.bytes_sent = *sent_;
  return stats;
}

}  // namespace gradstep
