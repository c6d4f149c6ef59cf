// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives on a device's memory, by an engine that reaches it. They are put into the site's queue, and no byte
// passes through the host. Sums are those of every engine: in the order of ranks, on the device, unless the engine's
// own were asked for.
//
// Nobody waits for a collective but settle(). Until then a failure may not be known: what was received is not to be
// shown to a host, nor to change what stays. The deadline of the last call is kept meanwhile by a thread.
#pragma once

#include <cstdint>
#include <span>

#include "backend/site.h"
#include "comm/communicator.h"
#include "comm/device_watch.h"
#include "comm/reductions.h"

namespace gradstep {

class EngineCommunicator;

class DeviceCollectives {
 public:
  /// Both outlive it.
  DeviceCollectives(EngineCommunicator& comm, const Site& site);

  // As the calls of Communicator of the same names.
  void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline);
  void reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op, double divisor,
                        const Deadline& deadline);
  void all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline);
  void all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  void all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  void exchange(std::span<const Communicator::Outgoing> outgoing, std::span<const Communicator::Incoming> incoming,
                const Deadline& deadline);
  void broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline);
  void send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline);
  void recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline);

  /// Returns when all that is in the queue has been done and the engine knows of no failure. Else what is under way is
  /// aborted, so that the queue goes on, and the failure is thrown, TIMEOUT by the deadline.
  void settle(const Deadline& deadline);

 private:
  /// A call whose work is looked after from here on, until settle().
  void perform(std::int64_t gradstep_comm_statistics::* counter, const Deadline& deadline, FunctionRef<void()> body);

  EngineCommunicator& comm_;
  const Site& site_;
  Reductions reductions_;
  DeviceWatch watch_;
};

}  // namespace gradstep
