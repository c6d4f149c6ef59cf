// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/chunk_pieces.h"

namespace gradstep {

ChunkPieces::ChunkPieces(ExchangeResources& resources, const BucketPlan& plan, std::span<const Chunk> chunks)
    : resources_(resources), division_(division_among_all(resources)) {
  if (HostSums* sums = resources.comm->host_sums(); sums != nullptr) {
    hosts_ = std::make_unique<HostPlanes>(*sums, resources);
    division_ = hosts_->division();
  }
  const std::int64_t others = resources.comm->world_size() - 1;
  const bool is_small = plan.elements * size_of(plan.dtype) * others <= kGatherBytes;
  const auto pieces = static_cast<std::int64_t>(hosts_ == nullptr && is_small ? 1 : division_.owners * division_.ranks);
  std::int64_t done = 0;
  std::size_t chunk = 0;
  for (std::int64_t q = 0; q <= pieces; ++q) {
    const std::int64_t goal = plan.elements * q / pieces;
    while (chunk < chunks.size() && done < goal) done += chunks[chunk++].length;
    chunks_.push_back(static_cast<std::int64_t>(chunk));
    elements_.push_back(done);
  }
}

void ChunkPieces::run(const Deadline& deadline, FunctionRef<void()> body) {
  hosts_ != nullptr ? hosts_->run(*resources_.comm, deadline, body) : body();
}

void ChunkPieces::deal(const Array& packed, std::byte* blocks, const Deadline& deadline) {
  if (!is_cut()) return division_.group->all_gather(packed.data, blocks, packed.bytes(), deadline);
  if (hosts_ != nullptr) {
    const auto ranks = static_cast<double>(hosts_->ranks_inside());
    hosts_->inside().reduce_scatter_v(packed, stretch_bytes(elements_, 1), GRADSTEP_REDUCE_SUM, ranks, deadline);
  }
  if (division_.group == nullptr) return;
  const std::int64_t width = size_of(packed.dtype);
  const std::byte* stretch = static_cast<const std::byte*>(packed.data) + elements_[first_piece()] * width;
  division_.group->all_to_all(stretch, blocks, piece_bytes(elements_, width), deadline);
}

void ChunkPieces::gather(void* by_chunk, std::int64_t bytes, const Deadline& deadline) {
  if (!is_cut()) return;
  auto* all = static_cast<std::byte*>(by_chunk);
  spread(all + chunks_[own_piece()] * bytes, all, chunks_, bytes, deadline);
}

void ChunkPieces::collect(const std::byte* piece, const Array& packed, const Deadline& deadline) {
  if (!is_cut()) {
    return resources_.lane().queue().copy(packed.data, piece, static_cast<std::size_t>(packed.bytes()));
  }
  spread(piece, static_cast<std::byte*>(packed.data), elements_, size_of(packed.dtype), deadline);
}

void ChunkPieces::spread(const std::byte* own, std::byte* all, const Bounds& bounds, std::int64_t bytes,
                         const Deadline& deadline) {
  std::byte* stretch = all + bounds[first_piece()] * bytes;
  if (division_.group != nullptr) division_.group->all_gather_v(own, stretch, piece_bytes(bounds, bytes), deadline);
  if (hosts_ != nullptr) hosts_->inside().all_gather_v(stretch, all, stretch_bytes(bounds, bytes), deadline);
}

void ChunkPieces::settle(const Deadline& deadline) {
  (hosts_ != nullptr ? hosts_->inside() : *resources_.data).settle(deadline);
}

std::span<const std::int64_t> ChunkPieces::piece_bytes(const Bounds& bounds, std::int64_t bytes) {
  sizes_.resize(division_.ranks);
  const std::size_t first = first_piece();
  for (std::size_t v = 0; v < division_.ranks; ++v) sizes_[v] = (bounds[first + v + 1] - bounds[first + v]) * bytes;
  return sizes_;
}

std::span<const std::int64_t> ChunkPieces::stretch_bytes(const Bounds& bounds, std::int64_t bytes) {
  sizes_.assign(hosts_->ranks_inside(), 0);
  for (std::size_t r = 0; r < division_.owners; ++r) {
    sizes_[r] = (bounds[(r + 1) * division_.ranks] - bounds[r * division_.ranks]) * bytes;
  }
  return sizes_;
}

}  // namespace gradstep
