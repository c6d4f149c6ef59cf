// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/exchange_rounds.h"

#include "core/error.h"

namespace gradstep {

Received RoundMaker::make(const Round& round, const Deadline& deadline) {
  switch (round.call.kind) {
    case CallKind::all_reduce:
      resources_.data->run(round.call, deadline);
      return {};
    case CallKind::all_gather:
      return gather(round.call, round.seen, deadline);
    case CallKind::all_gather_v:
      return gather_v(round.call, round.call.counts, deadline);
    case CallKind::exchange:
      return gather_v(round.call, round.call.receive_bytes, deadline);
    default:
      fail(GRADSTEP_ERR_INTERNAL, "an exchange asked for a round of {}", name_of(round.call.kind));
  }
}

Received RoundMaker::gather(Call call, std::int64_t seen, const Deadline& deadline) {
  const std::int32_t ranks = resources_.comm->world_size();
  std::byte* received = resources_.incoming.reserve(call.bytes * ranks);
  const DataPlane::Seen heads = resources_.data->all_gather_seen(call.send, received, call.bytes, seen, deadline);
  blocks_.clear();
  for (std::int32_t r = 0; r < ranks; ++r) blocks_.push_back(received + r * call.bytes);
  return {blocks_, heads};
}

/// Gets a block of bytes[r] from each rank r.
Received RoundMaker::gather_v(Call call, std::span<const std::int64_t> bytes, const Deadline& deadline) {
  std::byte* received = resources_.incoming.reserve(total_of(bytes));
  call.receive = received;
  resources_.data->run(call, deadline);
  blocks_.clear();
  for (const std::int64_t block : bytes) {
    blocks_.push_back(received);
    received += block;
  }
  return {blocks_};
}

void ExchangeByRounds::exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  std::optional<Round> round = start(divisor, stats);
  while (round) round = proceed(maker_.make(*round, deadline), stats);
}

}  // namespace gradstep
