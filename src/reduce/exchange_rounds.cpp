// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// In a common round what a rank gives to another one, or to all, is one message: that of the first exchange, then that
// of the next. Sums are of one array after the other, which changes none of them: an element's sum is in the order of
// ranks or hosts wherever it lies.
#include "reduce/exchange_rounds.h"

#include <algorithm>
#include <cmath>

#include "comm/collectives.h"
#include "comm/host_sums.h"
#include "core/error.h"

namespace gradstep {

void RoundMaker::make(Rounds rounds, const Deadline& deadline) {
  blocks_.clear();
  seen_.assign(rounds.size(), {});
  const bool is_gather = std::ranges::all_of(rounds, [&](const Round* round) { return is_gathered(round->call); });
  switch (is_gather ? CallKind::all_gather : rounds[0]->call.kind) {
    case CallKind::all_reduce:
      return sum(rounds, deadline);
    case CallKind::all_gather:
      return gather_and_sum(rounds, deadline);
    case CallKind::all_gather_v:
      return gather_v(rounds, deadline);
    case CallKind::exchange:
      return exchange(rounds, deadline);
    default:
      fail(GRADSTEP_ERR_INTERNAL, "an exchange asked for a round of {}", name_of(rounds[0]->call.kind));
  }
}

Received RoundMaker::received(std::size_t k) const {
  if (blocks_.empty()) return {};
  return {std::span(blocks_).subspan(k * world_size(), world_size()), seen_[k]};
}

// Few bytes that the channel sums in the order of ranks it gathers, too, in one round; so as many bytes travel as in
// rounds apart.
bool RoundMaker::is_gathered(const Call& call) const {
  if (call.kind != CallKind::all_reduce) return call.kind == CallKind::all_gather;
  const Communicator& comm = *resources_.comm;
  const bool by_hosts = comm.host_sums() != nullptr && comm.host_sums()->is_used();
  return comm.world_size() > 1 && !by_hosts && !comm.sums_natively() &&
         call.data.bytes() * (comm.world_size() - 1) <= kGatherBytes;
}

void RoundMaker::sum(Rounds rounds, const Deadline& deadline) {
  if (rounds.size() == 1) return resources_.data->run(rounds[0]->call, deadline);
  Call common = rounds[0]->call;
  std::int64_t bytes = 0;
  common.data.size = 0;
  for (const Round* round : rounds) {
    common.data.size += round->call.data.size;
    bytes += round->call.data.bytes();
  }
  common.data.data = resources_.outgoing.reserve(bytes);
  Queue& queue = resources_.lane().queue();
  const auto for_each = [&](auto&& copy) {
    auto* place = static_cast<std::byte*>(common.data.data);
    for (const Round* round : rounds) {
      const Array& own = round->call.data;
      copy(place, static_cast<std::byte*>(own.data), static_cast<std::size_t>(own.bytes()));
      place += own.bytes();
    }
  };
  for_each([&](std::byte* place, std::byte* own, std::size_t size) { queue.copy(place, own, size); });
  resources_.data->run(common, deadline);
  for_each([&](std::byte* place, std::byte* own, std::size_t size) { queue.copy(own, place, size); });
}

void RoundMaker::gather_and_sum(Rounds rounds, const Deadline& deadline) {
  if (rounds.size() == 1 && rounds[0]->call.kind == CallKind::all_reduce) return sum(rounds, deadline);
  ShortList<Round> gathers = lists_.of<Round>();
  for (const Round* round : rounds) {
    const Array& data = round->call.data;
    const bool sums = round->call.kind == CallKind::all_reduce;
    gathers.push_back(sums ? Round{Call::all_gather(data.data, nullptr, data.bytes())} : *round);
  }
  ShortList<const Round*> common = lists_.of<const Round*>();
  for (const Round& one : gathers) common.push_back(&one);
  gather(common, deadline);
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    const Call& call = rounds[k]->call;
    if (call.kind != CallKind::all_reduce) continue;
    const auto blocks = received(k).blocks;
    ShortList<const void*> sources = lists_.of<const void*>();
    sources.assign(blocks.begin(), blocks.end());
    align(sources, call.data);
    resources_.backend().sum_ranks({call.data.data, sources, call.data.size, call.data.dtype, call.op, call.divisor},
                                   resources_.lane().queue());
  }
}

/// Copies blocks whose address is no multiple of their numbers' size: f64 may begin behind an odd count of f32. The
/// room of what was sent is free again.
void RoundMaker::align(ShortList<const void*>& blocks, const Array& data) {
  const auto is_aligned = [width = static_cast<std::uintptr_t>(size_of(data.dtype))](const void* block) {
    return reinterpret_cast<std::uintptr_t>(block) % width == 0;
  };
  if (std::ranges::all_of(blocks, is_aligned)) return;
  std::byte* place = resources_.outgoing.reserve(static_cast<std::int64_t>(blocks.size()) * data.bytes());
  for (const void*& block : blocks) {
    resources_.lane().queue().copy(place, block, static_cast<std::size_t>(data.bytes()));
    block = place;
    place += data.bytes();
  }
}

void RoundMaker::gather(Rounds rounds, const Deadline& deadline) {
  const auto block = [](const Call& call, std::size_t) { return call.bytes; };
  std::int64_t bytes = 0;
  for (const Round* round : rounds) bytes += round->call.bytes;
  const std::int64_t seen = rounds.size() == 1 ? rounds[0]->seen : bytes;
  const void* own = pack(rounds, 1, block);
  std::byte* received = make_room(rounds, block);
  const DataPlane::Seen heads = resources_.data->all_gather_seen(own, received, bytes, seen, deadline);
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    seen_[k] = {heads.first + (blocks_[k * world_size()] - received), heads.stride};
  }
}

void RoundMaker::gather_v(Rounds rounds, const Deadline& deadline) {
  const auto rank = static_cast<std::size_t>(resources_.comm->rank());
  const void* own = pack(rounds, 1, [rank](const Call& call, std::size_t) { return call.counts[rank]; });
  std::byte* received = make_room(rounds, [](const Call& call, std::size_t r) { return call.counts[r]; });
  resources_.data->all_gather_v(own, received, received_bytes_, deadline);
}

void RoundMaker::exchange(Rounds rounds, const Deadline& deadline) {
  const void* own = pack(rounds, world_size(), [](const Call& call, std::size_t q) { return call.counts[q]; });
  std::byte* received = make_room(rounds, [](const Call& call, std::size_t r) { return call.receive_bytes[r]; });
  resources_.data->exchange(own, sent_bytes_, received, received_bytes_, deadline);
}

/// For each of `receivers` the blocks of all rounds, one after the other. sent_bytes_ says how many bytes these are.
const void* RoundMaker::pack(Rounds rounds, std::size_t receivers, Bytes bytes) {
  sent_bytes_.assign(receivers, 0);
  for (std::size_t q = 0; q < receivers; ++q) {
    for (const Round* round : rounds) sent_bytes_[q] += bytes(round->call, q);
  }
  if (rounds.size() == 1) return rounds[0]->call.send;
  std::byte* const packed = resources_.outgoing.reserve(total_of(sent_bytes_));
  ShortList<const std::byte*> blocks = lists_.of<const std::byte*>();  // by rounds: the next one
  for (const Round* round : rounds) blocks.push_back(static_cast<const std::byte*>(round->call.send));
  std::byte* place = packed;
  for (std::size_t q = 0; q < receivers; ++q) {
    for (std::size_t k = 0; k < rounds.size(); ++k) {
      const std::int64_t length = bytes(rounds[k]->call, q);
      resources_.lane().queue().copy(place, blocks[k], static_cast<std::size_t>(length));
      blocks[k] += length;
      place += length;
    }
  }
  return packed;
}

/// Where the ranks' blocks of all rounds are received. blocks_ and received_bytes_ say where and how many.
std::byte* RoundMaker::make_room(Rounds rounds, Bytes bytes) {
  received_bytes_.assign(world_size(), 0);
  for (std::size_t r = 0; r < world_size(); ++r) {
    for (const Round* round : rounds) received_bytes_[r] += bytes(round->call, r);
  }
  std::byte* const received = resources_.incoming.reserve(total_of(received_bytes_));
  blocks_.resize(rounds.size() * world_size());
  const std::byte* block = received;
  for (std::size_t r = 0; r < world_size(); ++r) {
    for (std::size_t k = 0; k < rounds.size(); ++k) {
      blocks_[k * world_size() + r] = block;
      block += bytes(rounds[k]->call, r);
    }
  }
  return received;
}

void ExchangeByRounds::exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  ExchangeByRounds* const alone = this;
  exchange_together(resources_, {&alone, 1}, divisor, deadline, {&stats, 1});
}

namespace {

std::int64_t bytes_given(const Call& call, std::size_t rank) {
  return call.kind == CallKind::all_gather_v ? call.counts[rank] : bytes_of(call);
}

/// Adds to each of the rounds' statistics its part of the bytes that were sent for all.
void count_bytes(std::span<const Round* const> rounds, std::span<gradstep_bucket_statistics* const> stats,
                 std::size_t rank, std::int64_t sent) {
  std::int64_t left = 0;
  for (const Round* round : rounds) left += bytes_given(round->call, rank);
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    const std::int64_t given = bytes_given(rounds[k]->call, rank);
    const double share = left > 0 ? static_cast<double>(given) / static_cast<double>(left) : 1;
    const auto own = static_cast<std::int64_t>(std::llround(static_cast<double>(sent) * share));
    stats[k]->bytes_sent += own;
    sent -= own;
    left -= given;
  }
}

}  // namespace

bool exchange_together(ExchangeResources& resources, std::span<ExchangeByRounds* const> exchanges, double divisor,
                       const Deadline& deadline, std::span<gradstep_bucket_statistics> stats, const Array* beside) {
  RoundMaker maker(resources);
  ShortLists lists;
  auto asked = lists.of<std::optional<Round>>();
  for (std::size_t i = 0; i < exchanges.size(); ++i) asked.push_back(exchanges[i]->start(divisor, stats[i]));
  const auto has_round = [](const std::optional<Round>& round) { return round.has_value(); };
  const auto are_gathered = [&](std::span<const std::optional<Round>> rounds) {
    return std::ranges::all_of(rounds, [&](const auto& round) { return !round || maker.is_gathered(round->call); });
  };
  gradstep_bucket_statistics of_beside{};
  bool has_beside = false;
  if (beside != nullptr) {
    const Call sum = Call::all_reduce(*beside, GRADSTEP_REDUCE_SUM, 1);
    has_beside = maker.is_gathered(sum) && std::ranges::any_of(asked, has_round) && are_gathered(asked);
    if (has_beside) asked.emplace_back(Round{sum});
  }
  auto rounds = lists.of<const Round*>();
  auto counted = lists.of<gradstep_bucket_statistics*>();
  auto travelling = lists.of<std::size_t>();
  for (;;) {
    std::optional<CallKind> kind;  // of the first that has a round
    for (const auto& round : asked) {
      if (round && !kind) kind = round->call.kind;
    }
    if (!kind) return has_beside;
    const bool is_gather = are_gathered(asked);
    rounds.clear();
    counted.clear();
    travelling.clear();
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::optional<Round>& round = asked[i];
      if (!round || !(is_gather || round->call.kind == *kind)) continue;
      rounds.push_back(&*round);
      counted.push_back(i < stats.size() ? &stats[i] : &of_beside);
      travelling.push_back(i);
    }
    const std::int64_t before = resources.comm->stats().bytes_sent;
    maker.make(rounds, deadline);
    count_bytes(rounds, counted, static_cast<std::size_t>(resources.comm->rank()),
                resources.comm->stats().bytes_sent - before);
    for (std::size_t k = 0; k < travelling.size(); ++k) {
      const std::size_t i = travelling[k];
      asked[i] = i < exchanges.size() ? exchanges[i]->proceed(maker.received(k), stats[i]) : std::nullopt;
    }
  }
}

}  // namespace gradstep
