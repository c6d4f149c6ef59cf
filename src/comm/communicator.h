// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's connection to its peers: collectives in rank order over whatever the engine's vtable offers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backend/context.h"
#include "core/array.h"
#include "core/deadline.h"
#include "gradstep/comm.h"

namespace gradstep {

class DeviceCollectives;

/// Gathering everything is one round where a direct exchange of pieces takes two, but moves world_size / 2 times the
/// bytes. Up to this many bytes sent by a rank the round is dearer.
inline constexpr std::int64_t kGatherBytes = 64 * 1024;
/// What each rank contributes at a time when everything is gathered; bounds the staging memory.
inline constexpr std::int64_t kGatherSliceBytes = std::int64_t{1} << 20;
/// What each rank owns of the data at a time when it is summed directly. Each takes two rounds, which a network makes
/// dear; where ranks copy through memory it is better to stay in the caches.
inline constexpr std::int64_t kPieceBytes = std::int64_t{1} << 23;
inline constexpr std::int64_t kPieceBytesInMemory = std::int64_t{1} << 21;

/// Shared by the public handle and by reducers. One call at a time; abort(), status() and stats() from any thread.
/// Every call throws the first error for good once the communicator is broken.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual std::int32_t rank() const = 0;
  virtual std::int32_t world_size() const = 0;
  virtual std::int32_t local_rank() const = 0;
  /// That it was made with.
  virtual const Context& context() const = 0;
  /// The name of what carries the bytes.
  virtual const std::string& engine() const = 0;

  /// The deadline of a public call that starts now.
  virtual Deadline deadline() const = 0;

  /// data = reduction over ranks [/ divisor], in place, contiguous. The division is done once, by the owner of each
  /// piece. Counts as one all-reduce.
  virtual void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) = 0;
  virtual void reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline) = 0;
  /// Piece r of `data`, one after the other, has counts[r] elements (equal on all ranks). This rank's piece becomes the
  /// reduction [/ divisor]; the others keep what they were.
  virtual void reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op,
                                double divisor, const Deadline& deadline) = 0;
  /// receive holds world_size blocks of `bytes`.
  virtual void all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline) = 0;
  /// Block r has bytes[r] bytes; bytes is equal on all ranks.
  virtual void all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes,
                            const Deadline& deadline) = 0;
  /// Piece q of `send`, one after the other, has bytes[q] bytes (equal on all ranks) and goes to rank q. receive = this
  /// rank's piece of every rank, in their order.
  virtual void all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes,
                          const Deadline& deadline) = 0;
  /// False where an engine only gathers; exchange() is UNSUPPORTED there, all_to_all() gathers everything.
  virtual bool can_exchange() const = 0;
  /// kPieceBytes, or kPieceBytesInMemory.
  virtual std::int64_t piece_bytes() const = 0;
  struct Outgoing {
    const void* data = nullptr;
    std::int64_t bytes = 0;
  };
  struct Incoming {
    void* data = nullptr;
    std::int64_t bytes = 0;
  };
  /// Sends outgoing[q] to, and receives incoming[q] from, every other rank q. The two sides of a pair agree on the
  /// bytes; what has none is not sent, and the own entries are not looked at.
  virtual void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming,
                        const Deadline& deadline) = 0;
  virtual void broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) = 0;
  virtual void send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) = 0;
  virtual void recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) = 0;
  virtual void barrier(const Deadline& deadline) = 0;
  virtual bool vote(bool yes, const Deadline& deadline) = 0;

  virtual std::shared_ptr<Communicator> split(std::int32_t color, std::int32_t key, const Deadline& deadline) = 0;
  virtual std::shared_ptr<Communicator> dup(const Deadline& deadline) = 0;
  /// A dup for an object of the library, which its host cannot reach: abort() of this communicator is abort() of it
  /// too.
  virtual std::shared_ptr<Communicator> private_channel(const Deadline& deadline) = 0;

  /// The collectives on memory of `site`, which is that of `device`, put into its queue; NULL where the bytes have to
  /// pass through the host, and for the host itself. This and `site` outlive it.
  virtual std::unique_ptr<DeviceCollectives> reach(const Site& site, gradstep_device device) = 0;
  /// A dup whose engine of `device`'s memory is a new one or, unless NULL, the host's `native`, an object of that
  /// engine's library. Collective.
  virtual std::shared_ptr<Communicator> with_device(gradstep_device device, void* native, const Deadline& deadline) = 0;

  /// Whether notes go with this rank's messages, so that ranks with different ones all hear of it in an all-reduce of
  /// more than nothing.
  virtual bool carries_notes() const = 0;
  /// What stands for whatever callers want to be equal on all ranks, from the next call on. Forgets what was heard.
  virtual void set_note(std::uint64_t note) = 0;
  /// A peer's note was another one since set_note().
  virtual bool heard_other_note() const = 0;

  /// True if start() may be used: calls may come from gradstep's own threads and can be aborted, and no other
  /// communicator uses the channel, so that the order of calls on it is this communicator's alone.
  virtual bool overlaps() const = 0;
  /// Runs `job`, which makes calls of this communicator, on the channel's progress thread. Until finish() has returned
  /// nobody else may make any, but abort(), status() and stats().
  virtual void start(std::function<void()> job) = 0;
  /// Returns when the job has ended; its exception is rethrown as an Error. The host's interrupt is polled meanwhile,
  /// and aborts the channel.
  virtual void finish() = 0;

  virtual void abort() noexcept = 0;
  struct Status {
    gradstep_status code = GRADSTEP_OK;
    std::string text;
  };
  virtual Status status() const = 0;
  virtual gradstep_comm_statistics stats() const = 0;
};

}  // namespace gradstep
