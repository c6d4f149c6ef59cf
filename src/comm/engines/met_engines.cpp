// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/engines/met_engines.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "comm/communicator.h"
#include "comm/communicators.h"
#include "comm/engines/peer_processes.h"
#include "comm/rendezvous/launch.h"
#include "comm/rendezvous/rendezvous.h"
#include "comm/rendezvous/tcp_store_server.h"
#include "core/error.h"

namespace gradstep {

namespace {

/// The value of options.rank by which rank and world size, and where none is given the store, are the launcher's.
constexpr std::int32_t kRankOfLauncher = -1;

/// Whether every rank could open the memory of every other one: all see the same processes, as the same user.
/// `asked`: the engine that the host has asked for. `room`: where they meet.
bool share_a_host(Store& store, const Context& context, std::string_view asked, const gradstep_comm_options& options,
                  const Deadline& deadline, const std::string& room = {}) {
  struct Place {
    std::uint64_t process_space;
    std::uint64_t user;
  };
  const Place own{process_space(), ::geteuid()};
  const std::vector<Place> everywhere(static_cast<std::size_t>(options.world_size), own);
  const auto* bytes = reinterpret_cast<const char*>(everywhere.data());
  Rendezvous rendezvous(store, context, asked, options, room);
  const std::vector<char> met = rendezvous.meet({bytes, everywhere.size() * sizeof own}, sizeof own, deadline);
  return std::equal(met.begin(), met.end(), bytes);
}

}  // namespace

const bool kConnectsProcesses = true;

std::shared_ptr<Communicator> make_met_communicator(std::shared_ptr<Context> context,
                                                    const gradstep_comm_options& asked) {
  const bool on_devices = std::string_view(asked.engine) == "nccl";
  gradstep_comm_options options = asked;
  if (on_devices) options.engine = "auto";
  std::optional<Launch> launch;
  if (asked.rank == kRankOfLauncher) {
    launch = read_launch(environment_of_process);
    options.rank = launch->rank;
    options.world_size = launch->world_size;
  }
  const std::string_view name = options.engine;
  const CommSettings settings = comm_settings(options);
  const Deadline deadline = Deadline::after_ms(settings.timeout_ms);
  Deadline asks_from = Deadline::after_ms(0);
  const auto poll = [&] {
    if (!asks_from.passed()) return;
    if (context->interrupted()) fail(GRADSTEP_ERR_ABORTED, "the host interrupted the call");
    asks_from = Deadline::after_ms(kInterruptPoll.count());
  };
  const auto store =
      open_store(options, name == "shm" ? kMaxShmRanks : kMaxGlooRanks, deadline, launch ? &*launch : nullptr, poll);
  const bool shares_memory =
      name == "shm" || (name == "auto" && share_a_host(*store, *context, asked.engine, options, deadline) &&
                        options.world_size <= kMaxShmRanks);
  if (name == "auto") {
    context->log().write(GRADSTEP_LOG_INFO, "communicator: engine auto is {}: {}", shares_memory ? "shm" : "gloo",
                         shares_memory ? "all ranks share a machine" : "not all ranks share a machine's memory");
  }
  auto engine = (shares_memory ? connect_shm : connect_gloo)(*store, *context, options,
                                                             name == "auto" ? kChosenRoom : "", deadline);
  const std::shared_ptr<Context> kept = std::move(context);
  // Ranks of a host share memory where they may; the group of a host meets in a room of its own.
  Communicator::ConnectInside inside;
  if (!shares_memory && settings.reduction_order == GRADSTEP_REDUCTION_HOSTS) {
    inside = [&](std::span<const std::int32_t> members) {
      gradstep_comm_options group = options;
      const auto own = std::ranges::find(members, options.rank);
      group.rank = static_cast<std::int32_t>(own - members.begin());
      group.world_size = static_cast<std::int32_t>(members.size());
      group.engine = "auto";
      const std::string room = fmt::format("hosts/{}/", members.front());
      const bool shares = share_a_host(*store, *kept, asked.engine, group, deadline, room);
      return (shares ? connect_shm : connect_gloo)(*store, *kept, group, room + kChosenRoom, deadline);
    };
  }
  auto communicator = Communicator::handshake(kept, std::move(engine), settings, deadline, inside);
  if (on_devices) communicator->attach_device({GRADSTEP_DEVICE_CUDA, options.device}, nullptr, deadline);
  return communicator;
}

UniqueId make_unique_id(const char* network_interface) { return tcp_store::encode(start_tcp_store(network_interface)); }

std::int32_t count_newcomers(const gradstep_comm_options& options, std::int32_t first, const Deadline& deadline) {
  const auto store = open_store(options, kMaxGlooRanks, deadline, /*launch=*/nullptr, [] {});
  return count_waiting(*store, options, first);
}

}  // namespace gradstep
