// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Exchanges in phases. Each phase prepares a round and is told what has come of it; who makes the rounds may join those
// of several buckets.
#pragma once

#include <optional>
#include <span>
#include <vector>

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

  /// One exchange's. Collective.
  Received make(const Round& round, const Deadline& deadline);

 private:
  Received gather(Call call, std::int64_t seen, const Deadline& deadline);
  Received gather_v(Call call, std::span<const std::int64_t> bytes, const Deadline& deadline);

  ExchangeResources& resources_;
  std::vector<const std::byte*> blocks_;
};

/// An exchange whose rounds are made for it. What a round sends stays as it is until proceed().
class ExchangeByRounds : public BucketExchange {
 public:
  using BucketExchange::BucketExchange;

  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) final;
  /// Begins to exchange what is packed, as exchange() does. Returns the first round; nothing = it is done.
  virtual std::optional<Round> start(double divisor, gradstep_bucket_statistics& stats) = 0;
  /// Goes on with what has come of the last round. Returns the next one; nothing = it is done.
  virtual std::optional<Round> proceed(const Received& received, gradstep_bucket_statistics& stats) = 0;

 private:
  RoundMaker maker_{resources_};
};

}  // namespace gradstep
