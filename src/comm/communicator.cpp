// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "comm/engines/device_engine.h"
#include "comm/engines/split_engine.h"
#include "comm/host_sums.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/platform/system.h"
#include "core/random_bytes.h"
#include "core/shape.h"
#include "core/trace.h"

namespace gradstep {

namespace {

// Ten years: for ever, but deadlines still fit their clock.
constexpr std::int64_t kLongestTimeoutMs = std::int64_t{10} * 366 * 24 * 3600 * 1000;

/// What ranks tell each other first.
struct Handshake {
  std::uint64_t host;
  std::int32_t rank;
  std::int32_t world_size;
  std::int32_t reduction_order;
  std::uint32_t number;  // a random one; that of rank 0 is the communicator's
};

std::uint32_t random_number() {
  std::uint32_t number = 0;
  fill_random(&number, sizeof number);
  return number;
}

std::uint64_t host_hash() {
  const std::string name = platform::host_name();
  return hash_bytes(name.data(), name.size());
}

const char* order_name(std::int32_t order) {
  constexpr const char* kNames[] = {"RANK", "ENGINE", "HOSTS"};
  return kNames[static_cast<std::size_t>(order)];
}

void check_handshake(const Engine& engine, const CommSettings& settings, std::int32_t place, const Handshake& peer) {
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

void require_point_to_point(const Engine& engine, const char* call) {
  if (engine.world_size() > 1 && !engine.point_to_point()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "{}: the {} engine has no send and recv", call, engine.name());
  }
}

/// Which of the statistics counts calls of a kind; nullptr = none.
std::int64_t gradstep_comm_statistics::* counter_of(CallKind kind) {
  using Statistics = gradstep_comm_statistics;
  constexpr std::pair<CallKind, std::int64_t Statistics::*> kCounters[] = {
      {CallKind::all_reduce, &Statistics::all_reduces},
      {CallKind::reduce_scatter, &Statistics::reduce_scatters},
      {CallKind::reduce_scatter_v, &Statistics::reduce_scatters},
      {CallKind::all_gather, &Statistics::all_gathers},
      {CallKind::all_gather_v, &Statistics::all_gathers},
      {CallKind::all_to_all, &Statistics::exchanges},
      {CallKind::exchange, &Statistics::exchanges},
      {CallKind::broadcast, &Statistics::broadcasts},
      {CallKind::send, &Statistics::sends},
      {CallKind::recv, &Statistics::receives},
      {CallKind::barrier, &Statistics::barriers},
  };
  const auto* const found = std::ranges::find(kCounters, kind, &std::pair<CallKind, std::int64_t Statistics::*>::first);
  return found != std::end(kCounters) ? found->second : nullptr;
}

/// That all ranks make: the same number on all of them.
std::int64_t calls_of(const gradstep_comm_statistics& stats) {
  return stats.all_reduces + stats.all_gathers + stats.reduce_scatters + stats.broadcasts + stats.barriers +
         stats.exchanges;
}

/// The ranks of a host one after the other, hosts in the order of their first ranks.
std::vector<std::int32_t> by_host(const std::vector<std::uint64_t>& hosts) {
  std::map<std::uint64_t, std::size_t> firsts;
  for (std::size_t r = 0; r < hosts.size(); ++r) firsts.try_emplace(hosts[r], r);
  std::vector<std::int32_t> ranks(hosts.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::stable_sort(ranks, {}, [&](std::int32_t r) { return firsts[hosts[static_cast<std::size_t>(r)]]; });
  return ranks;
}

}  // namespace

CommSettings comm_settings(const gradstep_comm_options& options) {
  if (options.timeout_ms <= 0) fail_argument("options.timeout_ms: is {}, expected more than 0", options.timeout_ms);
  if (options.reduction_order < GRADSTEP_REDUCTION_RANK || options.reduction_order > GRADSTEP_REDUCTION_HOSTS) {
    fail_argument("options.reduction_order: is {}, expected {} (RANK), {} (ENGINE) or {} (HOSTS)",
                  options.reduction_order, static_cast<int>(GRADSTEP_REDUCTION_RANK),
                  static_cast<int>(GRADSTEP_REDUCTION_ENGINE), static_cast<int>(GRADSTEP_REDUCTION_HOSTS));
  }
  return {std::min(options.timeout_ms, kLongestTimeoutMs), options.reduction_order};
}

Communicator::Communicator(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine,
                           const CommSettings& settings, std::vector<std::uint64_t> hosts)
    : connection_(std::move(context), std::move(engine)),
      site_(connection_.context()->cpu()),
      settings_(settings),
      hosts_(std::move(hosts)),
      channel_(connection_.shared_engine(), site_, settings_.reduction_order, sent_, &wait_) {
  stats_.struct_size = sizeof stats_;
  channel_.set_ring(by_host(hosts_));
}

Communicator::~Communicator() = default;

std::shared_ptr<Communicator> Communicator::handshake(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine,
                                                      const CommSettings& settings, const Deadline& deadline,
                                                      const ConnectInside& connect_inside) {
  const Handshake own{host_hash(), engine->rank(), engine->world_size(), settings.reduction_order, random_number()};
  const auto ranks = static_cast<std::size_t>(engine->world_size());
  auto communicator =
      std::make_shared<Communicator>(std::move(context), engine, settings, std::vector<std::uint64_t>(ranks, own.host));
  std::vector<Handshake> peers(ranks);
  communicator->all_gather(&own, peers.data(), sizeof own, deadline);
  for (std::size_t r = 0; r < ranks; ++r) {
    check_handshake(*engine, settings, static_cast<std::int32_t>(r), peers[r]);
    communicator->hosts_[r] = peers[r].host;
  }
  communicator->connection_.set_number(peers[0].number);
  communicator->channel_.set_ring(by_host(communicator->hosts_));
  if (settings.reduction_order == GRADSTEP_REDUCTION_HOSTS) {
    communicator->group_by_hosts(communicator->hosts_, deadline, connect_inside);
  }
  communicator->stats_.all_gathers = 0;
  communicator->log_connected();
  trace::set_rank(communicator->rank(), communicator->world_size());
  return communicator;
}

void Communicator::log_connected() const {
  context().log().write(GRADSTEP_LOG_INFO, "communicator: rank {} of {} by engine {}, {} order, timeout {} ms", rank(),
                        world_size(), engine(), order_name(settings_.reduction_order), settings_.timeout_ms);
}

std::int32_t local_rank(const Communicator& comm) {
  const auto own = comm.hosts().begin() + comm.rank();
  return static_cast<std::int32_t>(std::count(comm.hosts().begin(), own, *own));
}

void Communicator::perform(Engine* engine, const Call& call, const Deadline& deadline, FunctionRef<void()> body) {
  connection_.throw_if_broken();
  const Phase phase("comm", name_of(call.kind), [&] {
    return std::array<trace::Number, 4>{
        {{"bytes", bytes_of(call)}, {"comm", connection_.number()}, {"call", calls_of(stats())}, {"rank", rank()}}};
  });
  const auto begin = Deadline::Clock::now();
  try {
    if (world_size() == 1) {
      body();
    } else {
      std::optional<Engine::Use> use;
      if (engine != nullptr) use.emplace(*engine, deadline);
      connection_.check_engines();
      if (engine != nullptr) engine->said().call = code_of(call);
      body();
    }
  } catch (...) {
    connection_.break_with_current();
  }
  const auto spent = Deadline::Clock::now() - begin;
  {
    const std::lock_guard lock(stats_mutex_);
    stats_.nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
  }
  connection_.throw_if_broken();
  if (const auto counter = counter_of(call.kind); counter != nullptr) {
    const std::lock_guard lock(stats_mutex_);
    ++(stats_.*counter);
  }
}

void Communicator::run(const Call& call, const Deadline& deadline) {
  if (call.kind == CallKind::send) require_point_to_point(connection_.engine(), "send");
  if (call.kind == CallKind::recv) require_point_to_point(connection_.engine(), "recv");
  if (call.kind == CallKind::exchange && !connection_.engine().can_exchange()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "exchange: the {} engine only gathers", connection_.engine().name());
  }
  const bool by_hosts = host_sums_ != nullptr && host_sums_->is_used() && is_reduction(call.kind) && call.data.size > 0;
  if (!by_hosts) return perform(&connection_.engine(), call, deadline, [&] { channel_.run(call, deadline); });
  perform(nullptr, call, deadline, [&] {
    try {
      host_sums_->run(call, rank(), deadline);
    } catch (...) {
      host_sums_->abort();  // ranks of other groups wait for this one
      throw;
    }
  });
}

void Communicator::group_by_hosts(std::vector<std::uint64_t> hosts, const Deadline& deadline,
                                  const ConnectInside& connect_inside) {
  hosts_ = std::move(hosts);
  settings_.reduction_order = GRADSTEP_REDUCTION_HOSTS;
  // Hosts in the order of their first ranks.
  std::vector<std::uint64_t> names;
  std::vector<std::vector<std::int32_t>> members;
  for (std::int32_t r = 0; r < world_size(); ++r) {
    const std::uint64_t name = hosts_[static_cast<std::size_t>(r)];
    const auto host = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    if (host == names.size()) {
      names.push_back(name);
      members.emplace_back();
    }
    members[host].push_back(r);
  }
  if (names.size() == 1 || names.size() == hosts_.size()) return;
  require_point_to_point(connection_.engine(), "reduction_order hosts");
  const auto& own = hosts_[static_cast<std::size_t>(rank())];
  const auto host = static_cast<std::size_t>(std::ranges::find(names, own) - names.begin());
  const std::int32_t place = local_rank(*this);
  std::size_t owners = hosts_.size();
  for (const auto& ranks : members) owners = std::min(owners, ranks.size());
  CommSettings ranked = settings_;
  ranked.reduction_order = GRADSTEP_REDUCTION_RANK;
  std::shared_ptr<Communicator> inside;
  if (connect_inside) {
    const std::vector<std::uint64_t> one_host(members[host].size(), own);
    inside = std::make_shared<Communicator>(connection_.context(), connect_inside(members[host]), ranked, one_host);
    inside->connection_.set_number(connection_.next_number() + members[host].front());
  } else {
    inside = split_with(static_cast<std::int32_t>(host), rank(), ranked, deadline);
  }
  const bool is_owner = static_cast<std::size_t>(place) < owners;
  auto between = split_with(is_owner ? place : -1, /*key=*/static_cast<std::int32_t>(host), ranked, deadline);
  host_sums_ = std::make_unique<HostSums>(std::move(inside), std::move(between), static_cast<std::int32_t>(owners),
                                          static_cast<std::int32_t>(names.size()));
}

bool Communicator::overlaps() const {
  const Engine& engine = connection_.engine();
  return world_size() > 1 && own_channel_ && engine.any_thread() && engine.vtable().abort != nullptr;
}

bool Communicator::carries_notes() const {
  return connection_.engine().carries_calls() && own_channel_ && host_sums_ == nullptr &&
         world_size() <= kMostRanksThatHearAll;
}

void Communicator::set_note(std::uint64_t note) {
  Said& said = connection_.engine().said();
  said.note = note;
  said.heard = false;
}

bool Communicator::vote(bool yes, const Deadline& deadline) {
  const char own = yes ? 1 : 0;
  std::vector<char> votes;
  Call call = Call::all_gather(&own, nullptr, 1);
  // Room is made within the call: a rank that finds none breaks the channel, and no rank waits for its vote.
  perform(&connection_.engine(), call, deadline, [&] {
    votes.resize(static_cast<std::size_t>(world_size()));
    call.receive = votes.data();
    channel_.run(call, deadline);
  });
  return std::all_of(votes.begin(), votes.end(), [](char vote) { return vote == 1; });
}

std::shared_ptr<Communicator> Communicator::duplicate_host(const Deadline& deadline) {
  std::shared_ptr<Engine> engine;
  perform(&connection_.engine(), {CallKind::channel}, deadline,
          [&] { wait_.run([&] { engine = Engine::dup(connection_.shared_engine(), deadline); }); });
  const bool own = engine != connection_.shared_engine();
  auto copy = std::make_shared<Communicator>(connection_.context(), std::move(engine), settings_, hosts_);
  copy->own_channel_ = own;
  copy->connection_.set_number(connection_.next_number());
  if (host_sums_ != nullptr) copy->host_sums_ = host_sums_->dup(deadline);
  return copy;
}

std::shared_ptr<Communicator> Communicator::dup(const Deadline& deadline) {
  auto copy = duplicate_host(deadline);
  if (connection_.has_own_device_engine()) copy->attach_device(device_, nullptr, deadline);
  return copy;
}

std::shared_ptr<Communicator> Communicator::split(std::int32_t color, std::int32_t key, const Deadline& deadline) {
  auto part = split_with(color, key, settings_, deadline);
  if (part != nullptr && settings_.reduction_order == GRADSTEP_REDUCTION_HOSTS) {
    part->group_by_hosts(part->hosts_, deadline);
  }
  return part;
}

std::shared_ptr<Communicator> Communicator::split_with(std::int32_t color, std::int32_t key,
                                                       const CommSettings& settings, const Deadline& deadline) {
  require_point_to_point(connection_.engine(), "split");
  struct Choice {
    std::int32_t color;
    std::int32_t key;
    std::uint32_t number;
  };
  const Choice own{color, key, random_number()};
  std::vector<Choice> choices(static_cast<std::size_t>(world_size()));
  std::vector<std::int32_t> members;
  std::shared_ptr<Engine> group;
  const Engine& engine = connection_.engine();
  perform(&connection_.engine(), {CallKind::channel}, deadline, [&] {
    channel_.run(Call::all_gather(&own, choices.data(), sizeof own), deadline);
    for (std::int32_t r = 0; r < world_size() && color >= 0; ++r) {
      if (choices[static_cast<std::size_t>(r)].color == color) members.push_back(r);
    }
    std::stable_sort(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) {
      return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
    });
    wait_.run([&] {
      if (engine.can_split()) {
        group = engine.split(members, deadline);
        return;
      }
      auto channel = Engine::dup(connection_.shared_engine(), deadline);
      if (!members.empty()) group = make_split_engine(std::move(channel), members);
    });
  });
  if (group == nullptr) return nullptr;
  std::vector<std::uint64_t> hosts;
  for (const std::int32_t member : members) hosts.push_back(hosts_[static_cast<std::size_t>(member)]);
  auto part = std::make_shared<Communicator>(connection_.context(), std::move(group), settings, std::move(hosts));
  part->own_channel_ = engine.can_split();
  part->connection_.set_number(choices[static_cast<std::size_t>(members.front())].number);
  if (connection_.has_own_device_engine()) part->attach_device(device_, nullptr, deadline);
  return part;
}

std::unique_ptr<Channel> Communicator::device_channel(const Site& site, gradstep_device device) {
  const auto& engine = connection_.device_engine();
  if (site.is_host() || engine == nullptr || !engine->reaches(device.device_type)) return nullptr;
  if (connection_.has_own_device_engine() && !same_device(device, device_)) return nullptr;
  return std::make_unique<Channel>(engine, site, settings_.reduction_order, sent_, nullptr);
}

void Communicator::attach_device(gradstep_device device, void* native, const Deadline& deadline) {
  if (settings_.reduction_order == GRADSTEP_REDUCTION_HOSTS) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "reduction_order: is HOSTS; an engine of device memory sums in order RANK or ENGINE");
  }
  connection_.set_device_engine(connect_device_engine(*this, device, native, deadline));
  device_ = device;
}

std::shared_ptr<Communicator> Communicator::with_device(gradstep_device device, void* native,
                                                        const Deadline& deadline) {
  auto copy = duplicate_host(deadline);
  copy->attach_device(device, native, deadline);
  return copy;
}

std::shared_ptr<Communicator> Communicator::private_channel(const Deadline& deadline) {
  auto channel = dup(deadline);
  const std::lock_guard lock(channels_mutex_);
  auto channels = std::make_shared<Channels>(*channels_);
  std::erase_if(*channels, [](const auto& old) { return old.expired(); });
  channels->push_back(channel);
  channels_ = std::move(channels);
  return channel;
}

std::shared_ptr<const Communicator::Channels> Communicator::channels() const {
  const std::lock_guard lock(channels_mutex_);
  return channels_;
}

void Communicator::abort() noexcept {
  constexpr const char* kText = "the communicator was aborted";
  const auto present = channels();  // without the lock: a host's callback may abort, too
  // All learn it before any engine does, for they may share one.
  for (const auto& channel : *present) {
    if (const auto alive = channel.lock()) alive->connection_.keep_first_error(GRADSTEP_ERR_ABORTED, kText);
  }
  connection_.break_with(GRADSTEP_ERR_ABORTED, kText);
  if (host_sums_ != nullptr) host_sums_->abort();
  for (const auto& channel : *present) {
    if (const auto alive = channel.lock()) alive->abort();
  }
}

gradstep_comm_statistics Communicator::stats() const {
  const std::lock_guard lock(stats_mutex_);
  gradstep_comm_statistics stats = stats_;
  stats.bytes_sent = sent_->bytes;
  stats.rounds = sent_->rounds;
  if (host_sums_ != nullptr) host_sums_->count(stats);
  return stats;
}

}  // namespace gradstep
