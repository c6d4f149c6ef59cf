// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move bytes, over whatever functions an engine has: its own where it gives them, else built from
// exchange, else from send_recv, else from send and recv, else from all_gather. Nothing here adds numbers. Where the
// site is not the host everything is put into its queue, and no call waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/site.h"
#include "comm/engine.h"
#include "comm/staging.h"
#include "core/function_ref.h"

namespace gradstep {

/// Gathering everything is one round where a direct exchange of pieces takes two, but moves world_size / 2 times the
/// bytes. Up to this many bytes sent by a rank the round costs more.
inline constexpr std::int64_t kGatherBytes = 64 * 1024;
/// What each rank contributes at a time when everything is gathered; bounds the staging memory.
inline constexpr std::int64_t kGatherSliceBytes = std::int64_t{1} << 20;
/// What each rank owns of the data at a time when it is summed directly. Each takes two rounds, which a network makes
/// expensive; where ranks copy through memory it is better to stay in the caches.
inline constexpr std::int64_t kPieceBytes = std::int64_t{1} << 23;
inline constexpr std::int64_t kPieceBytesInMemory = std::int64_t{1} << 21;

/// From so many bytes of each rank's piece on, a ring takes less than a direct exchange where both may be: its delays
/// are 2 (P - 1) where the latter's are 2.
inline constexpr std::int64_t kRingPieceBytes = std::int64_t{1} << 18;

/// That of an engine.
inline std::int64_t piece_bytes_of(const Engine& engine) {
  return engine.shares_memory() ? kPieceBytesInMemory : kPieceBytes;
}

/// Pieces begin at multiples of this many elements, so that sums are aligned.
inline constexpr std::int64_t kPieceGrain = 64;

struct Outgoing {
  const void* data = nullptr;
  std::int64_t bytes = 0;
};
struct Incoming {
  void* data = nullptr;
  std::int64_t bytes = 0;
};

/// What a rank has sent, counted as the algorithms below send it.
struct Sent {
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> rounds{0};  ///< in which all ranks send to each other, or meet
};

class Collectives {
 public:
  /// Moves memory of `site`, which outlives it.
  Collectives(std::shared_ptr<Engine> engine, const Site& site, std::shared_ptr<Sent> sent);

  std::int32_t rank() const { return engine_->rank(); }
  std::int32_t world_size() const { return engine_->world_size(); }

  /// Sends outgoing(p) to, and receives incoming(p) from, every other rank p. The two sides of a pair agree on the
  /// bytes; what has none is not sent. Needs point to point.
  void exchange(FunctionRef<Outgoing(std::int32_t)> outgoing, FunctionRef<Incoming(std::int32_t)> incoming,
                const Deadline& deadline);

  /// `send` may be this rank's block of `receive`.
  void all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline);
  void all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  /// Piece q of `send` has bytes[q] bytes; receive = this rank's piece of every rank, in their order.
  void all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  /// As Call::exchange(). Needs can_exchange() of the engine.
  void exchange_v(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                  std::span<const std::int64_t> receive_bytes, const Deadline& deadline);
  void broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline);
  void send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline);
  void recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline);
  void barrier(const Deadline& deadline);

  /// A round of the engine's own.
  void count_round(std::int64_t bytes) {
    sent_->bytes += bytes;
    ++sent_->rounds;
  }

 private:
  void exchange_at_once(FunctionRef<Outgoing(std::int32_t)> outgoing, FunctionRef<Incoming(std::int32_t)> incoming,
                        const Deadline& deadline);
  void exchange_shifted(FunctionRef<Outgoing(std::int32_t)> outgoing, FunctionRef<Incoming(std::int32_t)> incoming,
                        const Deadline& deadline);
  void exchange_paired(FunctionRef<Outgoing(std::int32_t)> outgoing, FunctionRef<Incoming(std::int32_t)> incoming,
                       const Deadline& deadline);
  void copy(void* destination, const void* source, std::int64_t bytes) const;
  void engine_all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline);
  void padded_all_gather_v(const void* send, std::byte* receive, std::span<const std::int64_t> bytes,
                           const Deadline& deadline);
  void gathered_all_to_all(const void* send, std::byte* receive, std::span<const std::int64_t> bytes,
                           const Deadline& deadline);
  void meet(const Deadline& deadline);
  void give_part(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline);
  void receive_part(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline);
  void tree_broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline);
  void gathered_broadcast(std::byte* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline);

  std::shared_ptr<Engine> engine_;
  const Site& site_;
  // Arguments of the engine's exchange, one entry per rank.
  std::vector<const void*> send_data_;
  std::vector<std::int64_t> send_bytes_;
  std::vector<void*> receive_data_;
  std::vector<std::int64_t> receive_bytes_;
  std::vector<std::int64_t> offsets_;  // of the blocks of all ranks, of what is sent or gathered
  std::vector<std::int64_t> receive_offsets_;
  Staging send_staging_;
  Staging receive_staging_;
  std::shared_ptr<Sent> sent_;
};

/// The partner of `rank` in round `round` of a tournament in which each of `world_size` ranks meets every other once,
/// in tournament_rounds(world_size) rounds; -1 = it sits this round out.
std::int32_t tournament_partner(std::int32_t rank, std::int32_t round, std::int32_t world_size);
constexpr std::int32_t tournament_rounds(std::int32_t world_size) { return world_size - 1 + world_size % 2; }

}  // namespace gradstep
