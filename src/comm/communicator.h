// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's connection to its peers: collectives on the host's memory, with deadlines, one error for good, interrupts
// and statistics, over any engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/context.h"
#include "comm/call.h"
#include "comm/channel.h"
#include "comm/collectives.h"
#include "comm/comm_settings.h"
#include "comm/connection.h"
#include "comm/peer_wait.h"
#include "core/deadline.h"
#include "core/function_ref.h"
#include "gradstep/comm.h"

namespace gradstep {

class HostSums;

/// Shared by the public handle and by reducers. One call at a time; abort(), status() and stats() from any thread.
/// Every call throws the first error for good once the communicator is broken.
class Communicator : public NamedCalls<Communicator> {
 public:
  using Status = Connection::Status;

  /// `hosts` has, for each rank, a number that is equal for ranks of one host.
  Communicator(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine, const CommSettings& settings,
               std::vector<std::uint64_t> hosts);
  ~Communicator();
  /// Connects ranks of one host, which are ranks `members` here; NULL = as the engine does.
  using ConnectInside = std::function<std::shared_ptr<Engine>(std::span<const std::int32_t> members)>;
  /// Collective: the ranks tell each other their hosts, and compare what must be equal (else MISMATCH).
  static std::shared_ptr<Communicator> handshake(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine,
                                                 const CommSettings& settings, const Deadline& deadline,
                                                 const ConnectInside& connect_inside = nullptr);
  /// Collective: reductions are in the order of hosts from here on; rank r is on host hosts[r]. Where all ranks share a
  /// host, or none do, that is the order of ranks.
  void group_by_hosts(std::vector<std::uint64_t> hosts, const Deadline& deadline,
                      const ConnectInside& connect_inside = nullptr);
  void log_connected() const;

  std::int32_t rank() const { return connection_.rank(); }
  std::int32_t world_size() const { return connection_.world_size(); }
  /// By rank: a number that is equal for ranks of one host.
  const std::vector<std::uint64_t>& hosts() const { return hosts_; }
  /// That it was made with.
  const Context& context() const { return *connection_.context(); }
  /// The name of what carries the bytes.
  const std::string& engine() const { return connection_.name(); }
  Connection& connection() { return connection_; }
  /// The deadline of a public call that starts now.
  Deadline deadline() const { return Deadline::after_ms(settings_.timeout_ms); }
  /// An all-reduce in the order of ranks is one of the engine.
  bool sums_natively() const { return channel_.sums_natively(); }
  std::int32_t reduction_order() const { return settings_.reduction_order; }
  /// NULL = reductions are in the order of ranks, or the engine's.
  HostSums* host_sums() const { return host_sums_.get(); }

  /// One call, on the host's memory.
  void run(const Call& call, const Deadline& deadline);
  /// Returns whether all ranks say yes. Collective.
  bool vote(bool yes, const Deadline& deadline);
  /// Runs `body` as `call` of `engine`: refuses if broken, takes the engine (NULL = none: `body` makes calls of other
  /// communicators), counts and times. Any failure of `body` breaks the communicator.
  void perform(Engine* engine, const Call& call, const Deadline& deadline, FunctionRef<void()> body);

  std::shared_ptr<Communicator> split(std::int32_t color, std::int32_t key, const Deadline& deadline);
  std::shared_ptr<Communicator> dup(const Deadline& deadline);
  /// A dup for an object of the library, which its host cannot reach: abort() of this communicator is abort() of it
  /// too.
  std::shared_ptr<Communicator> private_channel(const Deadline& deadline);
  /// A dup whose engine of `device`'s memory is a new one or, unless NULL, the host's `native`, an object of that
  /// engine's library. Collective.
  std::shared_ptr<Communicator> with_device(gradstep_device device, void* native, const Deadline& deadline);
  /// Collective: from here on memory of `device` is carried too, as in with_device().
  void attach_device(gradstep_device device, void* native, const Deadline& deadline);

  /// A channel on memory of `site`, which is that of `device`, whose calls are put into the site's queue; NULL where
  /// the bytes have to pass through the host, and for the host itself. This and `site` outlive it.
  std::unique_ptr<Channel> device_channel(const Site& site, gradstep_device device);

  /// Whether notes go with this rank's messages, so that ranks with different ones all hear of it in an all-reduce of
  /// more than nothing.
  bool carries_notes() const;
  /// What stands for whatever callers want to be equal on all ranks, from the next call on. Forgets what was heard.
  void set_note(std::uint64_t note);
  /// A peer's note was another one since set_note().
  bool heard_other_note() const { return connection_.engine().said().heard; }

  /// True if start() may be used: calls may come from gradstep's own threads and can be aborted, and no other
  /// communicator uses the channel, so that the order of calls on it is this communicator's alone.
  bool overlaps() const;
  /// Runs `job`, which makes calls of this communicator, on the progress thread. Until finish() has returned no other
  /// thread may make any, but abort(), status() and stats().
  void start(std::function<void()> job) { wait_.start(std::move(job)); }
  /// Returns when the job has ended; its exception is rethrown as an Error. The host's interrupt is polled meanwhile,
  /// and aborts the engines.
  void finish() { wait_.finish(); }

  void abort() noexcept;
  Status status() const { return connection_.status(); }
  gradstep_comm_statistics stats() const;

 private:
  using Channels = std::vector<std::weak_ptr<Communicator>>;
  /// As they are now; some may be gone.
  std::shared_ptr<const Channels> channels() const;
  /// With an engine of its own for the host's memory alone.
  std::shared_ptr<Communicator> duplicate_host(const Deadline& deadline);
  std::shared_ptr<Communicator> split_with(std::int32_t color, std::int32_t key, const CommSettings& settings,
                                           const Deadline& deadline);

  Connection connection_;
  Site site_;  // the host
  CommSettings settings_;
  gradstep_device device_{};  // of a device engine that is another one
  std::vector<std::uint64_t> hosts_;
  std::shared_ptr<Sent> sent_ = std::make_shared<Sent>();
  PeerWait wait_{connection_};
  Channel channel_;                      // of the host's memory
  std::unique_ptr<HostSums> host_sums_;  // NULL = reductions are the channel's
  bool own_channel_ = false;             // no other communicator calls the engine

  mutable std::mutex stats_mutex_;
  gradstep_comm_statistics stats_{};

  mutable std::mutex channels_mutex_;
  std::shared_ptr<const Channels> channels_ = std::make_shared<Channels>();  // replaced, never changed
};

/// The rank among those of its host.
std::int32_t local_rank(const Communicator& comm);

}  // namespace gradstep
