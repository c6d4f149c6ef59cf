// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives on a site's own buffers. (A Communicator's are on the host's memory: plans, votes, facts, texts of
// files.) Where the site is not the host, what travels stays there if an engine of the communicator reaches it, and
// else passes through staging at the host.
//
// Calls that stay on the device are queued, and only settle() waits for them. Sums are those of every engine: in
// the order of ranks, on the device, unless the engine's own were asked for. Until settle() has returned a failure may
// not be known: what was received changes nothing that stays, and is not shown to the host. A thread keeps the deadline
// of the last call meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "backend/site.h"
#include "comm/call.h"
#include "comm/channel.h"
#include "comm/communicator.h"
#include "comm/device_watch.h"
#include "comm/staging.h"

namespace gradstep {

class DataPlane : public NamedCalls<DataPlane> {
 public:
  /// All outlive it.
  DataPlane(Communicator& comm, const Context& context, const Site& site);

  /// Nothing that travels passes through the host, and calls are queued, in the order in which they are made.
  bool is_queued() const { return device_ != nullptr; }
  /// One call on memory of the site, in the order of its queue.
  void run(const Call& call, const Deadline& deadline);
  /// Returns when all that is in the queue has been done and the engine knows of no failure. Else what is under way is
  /// aborted, so that the queue goes on, and the failure is thrown, TIMEOUT by the deadline.
  void settle(const Deadline& deadline);

  /// Where the host can read the beginning of each rank's block, until the next call.
  struct Seen {
    const std::byte* first = nullptr;
    std::int64_t stride = 0;  ///< bytes from one rank's to the next one's
  };
  /// all_gather() of which the host is to see the first `seen` bytes of each block: settles.
  Seen all_gather_seen(const void* send, void* receive, std::int64_t bytes, std::int64_t seen,
                       const Deadline& deadline);

 private:
  void run_queued(const Call& call, const Deadline& deadline);
  /// Returns where the host has what was received, until the next call.
  const std::byte* run_staged(Call call, const Deadline& deadline);
  void wait_for_queue(const Deadline& deadline);
  std::size_t rank() const { return static_cast<std::size_t>(comm_.rank()); }

  Communicator& comm_;
  const Site& site_;
  Staging staging_;
  Staging seen_;                     // at the site
  std::unique_ptr<Channel> device_;  // NULL = staged, or the host
  std::optional<DeviceWatch> watch_;
};

}  // namespace gradstep
