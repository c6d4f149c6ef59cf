// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/staged_parameters.h"

#include <algorithm>
#include <numeric>

namespace gradstep {

namespace {

constexpr std::int64_t kBlockAlignment = 64;

std::int64_t sum_of(std::span<const std::int64_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

}  // namespace

// The widest numbers come first, so that every slice is aligned to its own.
RankBlocks::RankBlocks(const Schema& schema, const RankSlices& slices) : bytes(slices.size()) {
  std::vector<std::size_t> order(schema.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return size_of(schema[i].dtype); });
  std::int64_t begin = 0;
  for (std::size_t r = 0; r < slices.size(); ++r) {
    std::int64_t place = begin;
    for (const std::size_t i : order) {
      if (slices[r][i].size == 0) continue;
      pieces.push_back({static_cast<std::int32_t>(r), i, place});
      place += slices[r][i].size * size_of(schema[i].dtype);
    }
    bytes[r] = whole_units(place - begin, kBlockAlignment);
    begin += bytes[r];
  }
}

std::int64_t RankBlocks::total_bytes() const { return sum_of(bytes); }

void StagedParameters::place(const Schema& schema, const RankSlices& slices, std::int32_t own_rank, RankBlocks blocks) {
  block_bytes_ = std::move(blocks.bytes);
  own_block_ = sum_of(std::span(block_bytes_).first(static_cast<std::size_t>(own_rank)));
  slices_.resize(schema.size());
  for (std::size_t i = 0; i < schema.size(); ++i) {
    slices_[i] = compact_array(arena_.as<std::byte>() + own_block_, 0, schema[i].dtype);
  }
  for (const RankBlocks::Piece& piece : blocks.pieces) {
    const std::size_t i = piece.parameter;
    const Slice slice = slices[static_cast<std::size_t>(piece.rank)][i];
    const DType dtype = schema[i].dtype;
    std::byte* first = arena_.as<std::byte>() + piece.place;
    // The whole parameter as it would lie around this slice, of which alone work is done.
    const Array around = compact_array(first - slice.begin * size_of(dtype), schema[i].size, dtype);
    out_.add(i, around);
    work_.append_part(slice.begin, slice.size);
    if (piece.rank != own_rank) continue;
    in_.add(i, around);
    own_work_.append_part(slice.begin, slice.size);
    slices_[i] = compact_array(first, slice.size, dtype);
  }
}

void StagedParameters::stage(const BufferList& params) {
  site_.backend().copy(in_.plan(own_work_, params), 1, 1, site_.queue());
}

void StagedParameters::publish(const BufferList& targets, const Deadline& deadline) {
  std::byte* blocks = arena_.as<std::byte>();
  data_.all_gather_v(blocks + own_block_, blocks, block_bytes_, deadline);
  data_.settle(deadline);
  site_.backend().copy(out_.plan(work_, targets), 1, 1, site_.queue());
}

}  // namespace gradstep
