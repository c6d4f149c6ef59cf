// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions in rank order: every element is ((x0 + x1) + x2) + ..., whatever the engine. Three ways lead to the same
// bits: direct reduce-scatter and all-gather (each rank owns a piece, gets it from all, sums, and gives the sum to all;
// the bytes of a ring), everything gathered and summed by everyone (one message each way: for small data, and for
// engines that only gather), and an engine's own reduction where it sums in rank order too. Where the order is the
// engine's, large data go round a ring if it has one.
#include "comm/channel.h"

#include <algorithm>
#include <array>

#include "backend/backend.h"
#include "backend/plugin.h"
#include "comm/callbacks.h"
#include "core/slice.h"

namespace gradstep {

namespace {

bool engines_reduce(DType dtype) { return dtype != DType::f16 && dtype != DType::bf16; }

}  // namespace

Channel::Channel(std::shared_ptr<Engine> engine, const Site& site, std::int32_t order, std::shared_ptr<Sent> sent,
                 PeerWait* wait)
    : engine_(std::move(engine)),
      site_(site),
      order_(order),
      wait_(wait),
      collectives_(engine_, site_, std::move(sent)),
      staging_(site_.backend().memory()),
      sources_(static_cast<std::size_t>(engine_->world_size())) {}

void Channel::run(const Call& call, const Deadline& deadline) {
  switch (call.kind) {
    case CallKind::all_reduce:
      return all_reduce(call.data, call.op, call.divisor, deadline);
    case CallKind::reduce_scatter:
      return reduce_scatter(call.data, call.output, call.op, deadline);
    case CallKind::reduce_scatter_v:
      return reduce_scatter_v(call.data, call.counts, call.op, call.divisor, deadline);
    default:
      wait_for_peers([&] { move(call, deadline); });
  }
}

/// Calls that only move bytes.
void Channel::move(const Call& call, const Deadline& deadline) {
  switch (call.kind) {
    case CallKind::all_gather:
      return collectives_.all_gather(call.send, call.receive, call.bytes, deadline);
    case CallKind::all_gather_v:
      return collectives_.all_gather_v(call.send, call.receive, call.counts, deadline);
    case CallKind::all_to_all:
      return collectives_.all_to_all(call.send, call.receive, call.counts, deadline);
    case CallKind::exchange:
      return collectives_.exchange_v(call.send, call.counts, call.receive, call.receive_bytes, deadline);
    case CallKind::broadcast:
      return collectives_.broadcast(call.receive, call.bytes, call.root, deadline);
    case CallKind::send:
      if (call.bytes > 0) collectives_.send(call.send, call.bytes, call.root, deadline);
      return;
    case CallKind::recv:
      if (call.bytes > 0) collectives_.recv(call.receive, call.bytes, call.root, deadline);
      return;
    case CallKind::barrier:
      return collectives_.barrier(deadline);
    default:
      fail(GRADSTEP_ERR_INTERNAL, "a channel was asked for a call of kind {}", static_cast<int>(call.kind));
  }
}

bool Channel::native_order_serves() const {
  return order_ == GRADSTEP_REDUCTION_ENGINE || engine_->vtable().rank_ordered == 1;
}

const WorkList& Channel::work_for(std::int64_t count) {
  if (work_size_ != count) {
    work_ = WorkList({&count, 1});
    work_size_ = count;
  }
  return work_;
}

// destination[0 .. count) = the reduction of `count` elements at blocks, blocks + stride, ... in rank order; the bytes
// of this rank are read from there too.
void Channel::sum_blocks(const std::byte* blocks, std::int64_t stride, const Array& destination, std::int64_t count,
                         std::int32_t op, double divisor) {
  for (std::size_t r = 0; r < sources_.size(); ++r) sources_[r] = blocks + static_cast<std::int64_t>(r) * stride;
  site_.backend().sum_ranks({destination.data, sources_, count, destination.dtype, op, divisor}, site_.queue());
}

void Channel::all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  if (data.size == 0) return meet(deadline);
  if (world_size() == 1) {
    if (divisor != 1) sum_blocks(static_cast<std::byte*>(data.data), 0, data, data.size, op, divisor);
  } else if (sums_natively()) {
    all_reduce_native(data, op, divisor, deadline);
  } else if (goes_by_ring(data)) {
    all_reduce_by_ring(data, op, divisor, deadline);
  } else if (data.bytes() * (world_size() - 1) <= kGatherBytes || !engine_->can_exchange()) {
    all_reduce_gathered(data, op, divisor, deadline);
  } else {
    const std::int64_t step = piece_bytes_of(*engine_) / size_of(data.dtype) * world_size();
    for (std::int64_t begin = 0; begin < data.size; begin += step) {
      all_reduce_direct(part_of(data, begin, std::min(step, data.size - begin)), op, divisor, deadline);
    }
  }
}

// A call of nothing is a call: ranks wait for each other and compare what they call. Devices have nothing to wait for.
void Channel::meet(const Deadline& deadline) {
  if (!site_.is_host()) return;
  wait_for_peers([&] { collectives_.barrier(deadline); });
}

void Channel::all_reduce_gathered(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  const std::int64_t step = std::min(data.size, kGatherSliceBytes / size_of(data.dtype));
  std::byte* gathered = staging_.reserve(step * size_of(data.dtype) * world_size());
  for (std::int64_t begin = 0; begin < data.size; begin += step) {
    const Array part = part_of(data, begin, std::min(step, data.size - begin));
    wait_for_peers([&] { collectives_.all_gather(part.data, gathered, part.bytes(), deadline); });
    sum_blocks(gathered, part.bytes(), part, part.size, op, divisor);
  }
}

// Each rank gets its piece from all and sums in place.
void Channel::scatter_pieces(std::span<const Array> pieces, std::int32_t op, double divisor, const Deadline& deadline) {
  const Array& own = pieces[static_cast<std::size_t>(rank())];
  std::byte* received = staging_.reserve(own.bytes() * world_size());
  const auto block_of = [&](std::int32_t r) { return received + r * own.bytes(); };
  wait_for_peers([&] {
    collectives_.exchange(
        [&](std::int32_t to) {
          const Array& part = pieces[static_cast<std::size_t>(to)];
          return Outgoing{part.data, part.bytes()};
        },
        [&](std::int32_t from) { return Incoming{block_of(from), own.bytes()}; }, deadline);
  });
  if (own.size == 0) return;
  for (std::int32_t r = 0; r < world_size(); ++r) sources_[static_cast<std::size_t>(r)] = block_of(r);
  sources_[static_cast<std::size_t>(rank())] = own.data;
  site_.backend().sum_ranks({own.data, sources_, own.size, own.dtype, op, divisor}, site_.queue());
}

void Channel::all_reduce_direct(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  const std::int64_t piece = equal_share(data.size, world_size(), kPieceGrain);
  const auto piece_of = [&](std::int32_t r) {
    const std::int64_t begin = std::min(data.size, r * piece);
    return part_of(data, begin, std::min(piece, data.size - begin));
  };
  pieces_.clear();
  for (std::int32_t r = 0; r < world_size(); ++r) pieces_.push_back(piece_of(r));
  const Array own = piece_of(rank());
  scatter_pieces(pieces_, op, divisor, deadline);
  wait_for_peers([&] {
    collectives_.exchange([&](std::int32_t) { return Outgoing{own.data, own.bytes()}; },
                          [&](std::int32_t from) {
                            const Array part = piece_of(from);
                            return Incoming{part.data, part.bytes()};
                          },
                          deadline);
  });
}

// Two ranks exchange directly: that is a ring of two. f16 and bf16 would be rounded by every rank.
bool Channel::goes_by_ring(const Array& data) const {
  return has_ring() && world_size() > 2 && engines_reduce(data.dtype) && data.bytes() >= kRingPieceBytes * world_size();
}

void Channel::all_reduce_by_ring(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  struct Sum {
    const Site& site;
    DType dtype;
    std::int32_t op;
    double divisor;
  } sum{site_, data.dtype, op, divisor};
  gradstep_plugin_ring ring{};
  ring.data = data.data;
  ring.count = data.size;
  ring.element_bytes = size_of(data.dtype);
  ring.ranks = ring_.data();
  ring.user = &sum;
  ring.add = [](void* user, void* into, const void* from, std::int64_t count, std::int32_t is_last) {
    return guarded([&] {
      const Sum& own = *static_cast<const Sum*>(user);
      const void* const sources[] = {from, into};
      own.site.backend().sum_ranks({into, sources, count, own.dtype, own.op, is_last != 0 ? own.divisor : 1},
                                   own.site.queue());
    });
  };
  wait_for_peers([&] {
    call_engine(*engine_, "all_reduce", deadline,
                [&](std::int64_t timeout_ms) { return engine_->reduce_by_ring(ring, timeout_ms); });
    for (std::int32_t step = 0; step < 2 * (world_size() - 1); ++step) {
      collectives_.count_round(data.bytes() / world_size());
    }
  });
}

// Engines reduce f32, f64 and the integers; f16 and bf16 travel as f32 and are rounded once, after the division.
void Channel::all_reduce_native(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  Array wide = data;
  if (!engines_reduce(data.dtype)) {
    wide.dtype = DType::f32;
    wide.data = staging_.reserve(wide.bytes());
    const std::array<CopyItem, 1> widen{CopyItem{wide, data}};
    site_.backend().copy({&work_for(data.size), widen, {}}, 1, 1, site_.queue());
  }
  wait_for_peers([&] {
    call_engine(*engine_, "all_reduce", deadline, [&](std::int64_t timeout_ms) {
      const gradstep_dtype dtype = to_dlpack(wide.dtype);
      return engine_->vtable().all_reduce(engine_->user(), wide.data, wide.size, dtype.code, dtype.bits, op,
                                          site_.stream(), timeout_ms);
    });
    collectives_.count_round(2 * wide.bytes() * (world_size() - 1) / world_size());
  });
  if (!engines_reduce(data.dtype)) {
    const std::array<CopyItem, 1> narrow{CopyItem{data, wide}};
    site_.backend().copy({&work_for(data.size), narrow, {}}, 1, divisor, site_.queue());
  } else if (divisor != 1) {
    const void* summed = data.data;
    site_.backend().sum_ranks({data.data, {&summed, 1}, data.size, data.dtype, op, divisor}, site_.queue());
  }
}

void Channel::reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline) {
  if (output.size == 0) return meet(deadline);
  const auto& vtable = engine_->vtable();
  if (world_size() > 1 && vtable.reduce_scatter != nullptr && native_order_serves() && engines_reduce(input.dtype)) {
    wait_for_peers([&] {
      call_engine(*engine_, "reduce_scatter", deadline, [&](std::int64_t timeout_ms) {
        const gradstep_dtype dtype = to_dlpack(input.dtype);
        return vtable.reduce_scatter(engine_->user(), input.data, output.data, output.size, dtype.code, dtype.bits, op,
                                     site_.stream(), timeout_ms);
      });
      collectives_.count_round(output.bytes() * (world_size() - 1));
    });
  } else if (world_size() > 1 && !engine_->can_exchange()) {
    reduce_scatter_gathered(input, output, op, deadline);
  } else {
    reduce_scatter_direct(input, output, op, deadline);
  }
}

void Channel::reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op, double divisor,
                               const Deadline& deadline) {
  pieces_.clear();
  std::int64_t begin = 0;
  for (const std::int64_t count : counts) {
    pieces_.push_back(part_of(data, begin, count));
    begin += count;
  }
  if (begin == 0) return meet(deadline);
  if (world_size() > 1 && !engine_->can_exchange()) {
    scatter_pieces_gathered(pieces_, op, divisor, deadline);
  } else {
    scatter_pieces(pieces_, op, divisor, deadline);
  }
}

// As reduce_scatter_gathered, with pieces of any sizes.
void Channel::scatter_pieces_gathered(std::span<const Array> pieces, std::int32_t op, double divisor,
                                      const Deadline& deadline) {
  const std::int64_t step = kGatherSliceBytes / size_of(pieces[0].dtype);
  std::byte* gathered = staging_.reserve(kGatherSliceBytes * world_size());
  for (std::size_t owner = 0; owner < pieces.size(); ++owner) {
    for (std::int64_t begin = 0; begin < pieces[owner].size; begin += step) {
      const Array part = part_of(pieces[owner], begin, std::min(step, pieces[owner].size - begin));
      wait_for_peers([&] { collectives_.all_gather(part.data, gathered, part.bytes(), deadline); });
      if (static_cast<std::int32_t>(owner) == rank()) sum_blocks(gathered, part.bytes(), part, part.size, op, divisor);
    }
  }
}

void Channel::reduce_scatter_direct(const Array& input, const Array& output, std::int32_t op,
                                    const Deadline& deadline) {
  const std::int64_t block = output.bytes();
  std::byte* received = staging_.reserve(block * world_size());
  const auto sent = [&](std::int32_t r) { return part_of(input, r * output.size, output.size).data; };
  wait_for_peers([&] {
    collectives_.exchange([&](std::int32_t to) { return Outgoing{sent(to), block}; },
                          [&](std::int32_t from) { return Incoming{received + from * block, block}; }, deadline);
  });
  for (std::int32_t r = 0; r < world_size(); ++r) sources_[static_cast<std::size_t>(r)] = received + r * block;
  sources_[static_cast<std::size_t>(rank())] = sent(rank());
  site_.backend().sum_ranks({output.data, sources_, output.size, output.dtype, op, 1}, site_.queue());
}

// Every rank sees all blocks and keeps its own: the price of an engine that only gathers.
void Channel::reduce_scatter_gathered(const Array& input, const Array& output, std::int32_t op,
                                      const Deadline& deadline) {
  const std::int64_t step = std::min(output.size, kGatherSliceBytes / size_of(input.dtype));
  std::byte* gathered = staging_.reserve(step * size_of(input.dtype) * world_size());
  for (std::int32_t owner = 0; owner < world_size(); ++owner) {
    for (std::int64_t begin = 0; begin < output.size; begin += step) {
      const std::int64_t count = std::min(step, output.size - begin);
      const Array part = part_of(input, owner * output.size + begin, count);
      wait_for_peers([&] { collectives_.all_gather(part.data, gathered, part.bytes(), deadline); });
      if (owner == rank()) sum_blocks(gathered, part.bytes(), part_of(output, begin, count), count, op, 1);
    }
  }
}

}  // namespace gradstep
