// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A local socket is one of Linux's abstract namespace, which leaves nothing behind. Between machines the store is
// served over TCP to callers that know the job's variables, as torch.distributed's is.
#include "comm/rendezvous/launched_store.h"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "comm/engines/peer_processes.h"
#include "comm/rendezvous/socket.h"
#include "comm/rendezvous/tcp_store_server.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"

namespace gradstep {

namespace {

constexpr std::chrono::milliseconds kPause{20};
constexpr std::int64_t kAttemptMs = 2000;  // for which one address may keep silent

tcp_store::Token token_of(const std::string& job) {
  const std::uint64_t halves[] = {hash_bytes(job.data(), job.size()),
                                  hash_bytes(job.data(), job.size(), hash_bytes("gradstep", 8))};
  tcp_store::Token token{};
  std::memcpy(token.data(), halves, token.size());
  return token;
}

NetworkAddress local_socket(const std::string& name) {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  const std::string path = '\0' + name;
  std::copy(path.begin(), path.end(), local.sun_path);
  NetworkAddress address;
  std::memcpy(&address.storage, &local, sizeof local);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  return address;
}

/// Empty with a text in `failure` where the name is unknown (yet).
std::vector<NetworkAddress> addresses_of(const MeetingPoint& point, std::string& failure) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(point.host.c_str(), nullptr, &hints, &list);
  if (failed == EAI_MEMORY) throw std::bad_alloc();
  if (failed != 0) {
    failure = fmt::format("the name '{}': {}", point.host, ::gai_strerror(failed));
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  std::vector<NetworkAddress> found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    NetworkAddress& address = found.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
    address.set_port(point.port);
  }
  return found;
}

/// What rank 0 serves at, and then calls itself at: the name may be one by which others know this machine, so beyond
/// loopback all interfaces are served.
std::pair<NetworkAddress, NetworkAddress> served_at(const MeetingPoint& point) {
  std::string unknown;
  const auto named = addresses_of(point, unknown);
  const bool is_v6 = !named.empty() && named.front().family() == AF_INET6;
  std::vector<NetworkAddress> loopback = addresses_of({is_v6 ? "::1" : "127.0.0.1", point.port}, unknown);
  if (loopback.empty()) fail(GRADSTEP_ERR_IO, "{}", unknown);
  if (!named.empty() && named.front().text() == loopback.front().text()) return {loopback.front(), loopback.front()};
  const auto any = addresses_of({is_v6 ? "::" : "0.0.0.0", point.port}, unknown);
  if (any.empty()) fail(GRADSTEP_ERR_IO, "{}", unknown);
  return {any.front(), loopback.front()};
}

/// A store among the ranks of a job. That of rank 0 knows at which address other machines have called it.
class LaunchedStore final : public Store {
 public:
  LaunchedStore(std::unique_ptr<Store> client, std::shared_ptr<const StoreVisitors> visitors, std::string place,
                bool is_for_machines = false)
      : client_(std::move(client)),
        visitors_(std::move(visitors)),
        place_(std::move(place)),
        is_for_machines_(is_for_machines) {}

  void set(const std::string& key, const void* data, std::size_t length) override { client_->set(key, data, length); }
  bool get(const std::string& key, void* data, std::size_t& length, const Deadline& deadline) override {
    return client_->get(key, data, length, deadline);
  }
  std::optional<NetworkAddress> reached_from() const override {
    // Rank 0 calls itself over loopback, which says nothing of how others reach it.
    return visitors_ != nullptr && is_for_machines_ ? visitors_->reached_at() : client_->reached_from();
  }
  std::string about() const override {
    if (visitors_ == nullptr) return fmt::format(" (they meet at {})", place_);
    return fmt::format(" (at {} came rank{} {})", place_, visitors_->ranks().size() == 1 ? "" : "s",
                       join(visitors_->ranks(), ", ", [](std::uint32_t rank) { return std::to_string(rank); }));
  }

 private:
  std::unique_ptr<Store> client_;
  std::shared_ptr<const StoreVisitors> visitors_;
  std::string place_;
  bool is_for_machines_;
};

/// The store that this process has served last, until it ends: then its place is free.
class LatestServed {
 public:
  void set(const std::shared_ptr<StoreVisitors>& visitors) {
    const std::lock_guard lock(mutex_);
    latest_ = visitors;
  }
  bool is_there() const {
    const std::lock_guard lock(mutex_);
    return !latest_.expired();
  }

 private:
  mutable std::mutex mutex_;
  std::weak_ptr<StoreVisitors> latest_;
};

LatestServed& latest_served() {
  static LatestServed latest;
  return latest;
}

/// Where and for whom the ranks of a job meet in one call.
struct Meeting {
  const Launch& launch;
  const Deadline& deadline;
  FunctionRef<void()> poll;
  tcp_store::Token token;
  std::string place;  // for messages

  /// Rank 0's part: `at` becomes free if an earlier store of this process is there.
  std::shared_ptr<StoreVisitors> serve(const NetworkAddress& at) const {
    auto visitors = std::make_shared<StoreVisitors>();
    for (;;) {
      try {
        const auto patience = std::chrono::milliseconds(std::max<std::int64_t>(1, deadline.remaining_ms()));
        serve_tcp_store(listen_at(at), token, {.patience = patience}, visitors);
        latest_served().set(visitors);
        return visitors;
      } catch (const Error& error) {
        if (error.status() != GRADSTEP_ERR_IO) throw;
        if (!latest_served().is_there() || deadline.passed()) {
          fail(GRADSTEP_ERR_IO, "rank 0 cannot listen at {}: {} (GRADSTEP_PORT names another port)", place,
               error.what());
        }
      }
      pause();
    }
  }

  /// Until rank 0 answers for this call. `addresses(failure)`: where it may be.
  template <class Addresses>
  std::unique_ptr<Store> call(Addresses addresses) const {
    std::string failure = "nobody is there";
    while (!deadline.passed()) {
      for (const NetworkAddress& address : addresses(failure)) {
        poll();
        try {
          const auto attempt = Deadline::after_ms(std::min(kAttemptMs, deadline.remaining_ms()));
          return try_tcp_store({address, token}, launch.rank, launch.world_size, attempt, deadline);
        } catch (const Error& error) {
          if (error.status() != GRADSTEP_ERR_IO && error.status() != GRADSTEP_ERR_TIMEOUT) throw;
          failure = error.what();
        }
      }
      pause();
    }
    fail(GRADSTEP_ERR_TIMEOUT, "rank 0 did not answer rank {} of {} at {}: {}", launch.rank, launch.world_size, place,
         failure);
  }

  void pause() const {
    poll();
    std::this_thread::sleep_for(kPause);
  }

  std::unique_ptr<Store> open(const NetworkAddress& served, const NetworkAddress& called) const {
    auto visitors = serve(served);
    auto client = call([&](std::string&) { return std::vector{called}; });
    const bool is_for_machines = served.family() != AF_UNIX && !served.is_loopback();
    return std::make_unique<LaunchedStore>(std::move(client), std::move(visitors), place, is_for_machines);
  }
};

}  // namespace

std::int64_t next_launched_call() {
  static std::atomic<std::int64_t> calls{0};
  return calls++;
}

std::unique_ptr<Store> open_launched_store(const Launch& launch, Environment environment, std::int64_t call,
                                           const Deadline& deadline, FunctionRef<void()> poll) {
  const std::string job = job_text(launch, environment);
  if (const char* folder = environment("GRADSTEP_STORE"); folder != nullptr) {
    ::mkdir(folder, 0700);  // where it fails, so does what is made inside
    return open_directory_store(fmt::format("{}/connect.{:016x}.{}", folder, hash_bytes(job.data(), job.size()), call));
  }
  const std::string in_call = fmt::format("{}; call {}", job, call);
  Meeting meeting{launch, deadline, poll, token_of(in_call), "this machine's local socket"};
  if (launch.one_machine) {
    // Each machine counts torchrun's attempts by itself, so they tell them apart on one machine alone.
    const char* attempt = environment("TORCHELASTIC_RESTART_COUNT");
    // Containers may share the names of sockets, and each has a process of any number.
    const std::string own = fmt::format("{}; {} of {}; attempt {}; {}", ::geteuid(), launcher_process(launch),
                                        process_space(), attempt == nullptr ? "" : attempt, in_call);
    const auto at = local_socket(fmt::format("gradstep-{:016x}", hash_bytes(own.data(), own.size())));
    if (launch.rank == 0) return meeting.open(at, at);
    auto client = meeting.call([&](std::string&) { return std::vector{at}; });
    return std::make_unique<LaunchedStore>(std::move(client), nullptr, meeting.place);
  }
  const MeetingPoint point = meeting_point(launch, environment);
  meeting.place = fmt::format("{}:{}", point.host, point.port);
  if (launch.rank == 0) {
    const auto [served, called] = served_at(point);
    return meeting.open(served, called);
  }
  auto client = meeting.call([&](std::string& failure) { return addresses_of(point, failure); });
  return std::make_unique<LaunchedStore>(std::move(client), nullptr, meeting.place);
}

}  // namespace gradstep
