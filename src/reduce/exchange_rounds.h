// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Exchanges in phases. Each phase prepares a round, and the next one reads what has come of it. Rounds of several
// buckets may be made as one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/function_ref.h"
#include "core/short_lists.h"
#include "reduce/bucket_exchange.h"

namespace gradstep {

/// A call that an exchange asks for: an all_reduce in place, or an all_gather, all_gather_v or exchange that leaves
/// open where blocks are received.
struct Round {
  Call call;
  std::int64_t seen = 0;  ///< of an all_gather: bytes of each block that the host reads
};

/// What has come of a round; nothing of an all_reduce. Valid until the next round.
struct Received {
  std::span<const std::byte* const> blocks;  ///< at the site, by rank
  DataPlane::Seen seen{};
};

/// Makes rounds, one after the other.
class RoundMaker {
 public:
  /// `resources`, with a channel, outlive it.
  explicit RoundMaker(ExchangeResources& resources) : resources_(resources) {}

  /// One exchange's round. Collective.
  Received make(const Round& round, const Deadline& deadline) {
    const Round* const alone = &round;
    make({&alone, 1}, deadline);
    return received(0);
  }
  /// It is a gather, or a sum of few bytes that can be made as one.
  bool is_gathered(const Call& call) const;
  /// Rounds of several exchanges in one call: all is_gathered(), or of one kind. Sums that are not gathered are of one
  /// dtype and have one divisor.
  void make(std::span<const Round* const> rounds, const Deadline& deadline);
  /// What has come of rounds[k].
  Received received(std::size_t k) const;

 private:
  using Rounds = std::span<const Round* const>;
  using Bytes = FunctionRef<std::int64_t(const Call&, std::size_t)>;  // of a round's block from or for a rank

  void sum(Rounds rounds, const Deadline& deadline);
  void gather_and_sum(Rounds rounds, const Deadline& deadline);
  void align(ShortList<const void*>& blocks, const Array& data);
  void gather(Rounds rounds, const Deadline& deadline);
  void gather_v(Rounds rounds, const Deadline& deadline);
  void exchange(Rounds rounds, const Deadline& deadline);
  const void* pack(Rounds rounds, std::size_t receivers, Bytes bytes);
  std::byte* make_room(Rounds rounds, Bytes bytes);
  std::size_t world_size() const { return static_cast<std::size_t>(resources_.comm->world_size()); }

  ExchangeResources& resources_;
  ShortLists lists_;
  ShortList<const std::byte*> blocks_ = lists_.of<const std::byte*>();  // by rounds, then rank
  ShortList<DataPlane::Seen> seen_ = lists_.of<DataPlane::Seen>();      // by rounds
  ShortList<std::int64_t> sent_bytes_ = lists_.of<std::int64_t>();      // by rank
  ShortList<std::int64_t> received_bytes_ = lists_.of<std::int64_t>();
};

/// An exchange whose rounds are made for it. What a round sends stays as it is until proceed().
class ExchangeByRounds : public BucketExchange {
 public:
  using BucketExchange::BucketExchange;

  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) final;
  ExchangeByRounds* by_rounds() final { return this; }
  /// What this rank gives in one round of the next window, alike on all ranks.
  virtual std::int64_t round_bytes() const = 0;
  /// Begins to exchange what is packed, as exchange() does. Returns the first round; nothing = it is done.
  virtual std::optional<Round> start(double divisor, gradstep_bucket_statistics& stats) = 0;
  /// Goes on with what has come of the last round. Returns the next one; nothing = it is done.
  virtual std::optional<Round> proceed(const Received& received, gradstep_bucket_statistics& stats) = 0;
};

/// The most that each of so many ranks gives in one round of buckets that leave together: an engine for networks sends
/// it at once. What a rank gets of all is bounded, too.
constexpr std::int64_t most_common_bytes(std::int64_t ranks) {
  return std::min(std::int64_t{1} << 20, (std::int64_t{1} << 24) / ranks);
}

/// exchange() of several buckets of one channel, which have one mode and dtype. Their rounds of one kind are made in
/// one call. `stats` of each; bytes_sent grows by its part of what the channel sends. A sum over the ranks, `beside`
/// unless NULL, is made in the first round if it can be: returns whether it was.
bool exchange_together(ExchangeResources& resources, std::span<ExchangeByRounds* const> exchanges, double divisor,
                       const Deadline& deadline, std::span<gradstep_bucket_statistics> stats,
                       const Array* beside = nullptr);

}  // namespace gradstep
