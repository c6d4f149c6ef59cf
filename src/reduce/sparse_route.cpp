// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/sparse_route.h"

#include <cstring>

#include "core/error.h"

namespace gradstep {

SparseRoute::SparseRoute(ExchangeResources& resources, const gradstep_reducer_options& options, SparseSums& sums)
    : resources_(resources),
      options_(options),
      sums_(sums),
      messages_{sums.sum().dtype},
      counts_(resources, options.nan_policy == GRADSTEP_NAN_ERROR),
      bytes_(world_size()),
      incoming_bytes_(world_size()),
      sum_counts_(resources.site.allocate(world_size() * sizeof(std::int64_t), /*zeroed=*/true)) {}

// With T selected by P ranks together and U different indices among them, a rank sends T (P - 1) / P entries when they
// are gathered, and (T / P + U) (P - 1) / P when they are split. U and T of the last window are known to all ranks.
// Two or three more rounds must be worth it.
std::size_t SparseRoute::next_pieces() const {
  if (world_size() == 1 || !resources_.comm->connection().engine().can_exchange()) return 1;
  if (options_.sparse_exchange != GRADSTEP_SPARSE_EXCHANGE_AUTO) {
    return options_.sparse_exchange == GRADSTEP_SPARSE_EXCHANGE_SPLIT ? world_size() : 1;
  }
  const auto ranks = static_cast<std::int64_t>(world_size());
  const auto pays = [&](std::int64_t different) {
    const std::int64_t saved = last_selected_ - last_selected_ / ranks - different;
    return saved * (ranks - 1) / ranks * (4 + size_of(messages_.dtype)) > kGatherBytes;
  };
  // U is no less than a rank's share of T: often that settles it, and a device need not be asked.
  return pays(last_selected_ / ranks) && pays(sums_.touched_count()) ? world_size() : 1;
}

void SparseRoute::agree(const SparseSelection& own, const Deadline& deadline) {
  if (!own.is_fixed()) counts_.gather(own.counts(), own.pieces(), deadline);
}

void SparseRoute::exchange(const SparseSelection& own, double divisor, const Deadline& deadline) {
  if (own.pieces() == 1) {
    gather(own, divisor, deadline);
  } else {
    exchange_pieces(own.list(), deadline);
    sums_.add_up(lists_, piece_begin(rank()), piece_begin(rank() + 1), divisor);
    share_sums(deadline);
  }
  last_selected_ = counts_.total();
}

void SparseRoute::gather(const SparseSelection& own, double divisor, const Deadline& deadline) {
  const std::byte* received = own.is_fixed() ? gather_fixed(own, deadline) : gather_agreed(own, deadline);
  const std::int64_t head = own.is_fixed() ? SparseSelection::kHeadBytes : 0;
  lists_.clear();
  if (world_size() == 1) {
    lists_.push_back(own.list());
  } else {
    for (std::size_t r = 0; r < world_size(); ++r) {
      lists_.push_back(messages_.read(received + head, counts_.of(r, 0)));
      received += head + messages_.bytes(counts_.of(r, 0));
    }
  }
  sums_.add_up(lists_, 0, sums_.sum().size, divisor);
}

/// All ranks' messages, each with its head, by which counts_ become known.
const std::byte* SparseRoute::gather_fixed(const SparseSelection& own, const Deadline& deadline) {
  const std::int64_t count = own.list().count;
  if (world_size() == 1) {
    const std::int64_t numbers[] = {own.selected_nans(), count};
    counts_.read({reinterpret_cast<const std::byte*>(numbers), 0}, 1);
    return nullptr;
  }
  const std::int64_t bytes = SparseSelection::kHeadBytes + messages_.bytes(count);
  std::byte* all = resources_.incoming.reserve(bytes * static_cast<std::int64_t>(world_size()));
  counts_.read(
      resources_.data->all_gather_seen(own.message_with_head(), all, bytes, SparseSelection::kHeadBytes, deadline), 1);
  for (std::size_t r = 0; r < world_size(); ++r) {
    if (counts_.of(r, 0) != count) {
      fail(GRADSTEP_ERR_MISMATCH, "rank {} has selected {} elements, this rank {}: they are not in the same window", r,
           counts_.of(r, 0), count);
    }
  }
  return all;
}

const std::byte* SparseRoute::gather_agreed(const SparseSelection& own, const Deadline& deadline) {
  if (world_size() == 1) return nullptr;
  for (std::size_t r = 0; r < world_size(); ++r) bytes_[r] = messages_.bytes(counts_.of(r, 0));
  std::byte* all = resources_.incoming.reserve(total_of(bytes_));
  resources_.data->all_gather_v(own.list().indices, all, bytes_, deadline);
  return all;
}

/// Pieces are equal shares of all indices.
std::int64_t SparseRoute::piece_begin(std::size_t q) const {
  return sums_.sum().size * static_cast<std::int64_t>(q) / static_cast<std::int64_t>(world_size());
}

/// lists_ = what all ranks have selected in this rank's piece.
void SparseRoute::exchange_pieces(const SparseList& own, const Deadline& deadline) {
  for (std::size_t q = 0; q < world_size(); ++q) {
    bytes_[q] = messages_.bytes(counts_.of(rank(), q));
    incoming_bytes_[q] = messages_.bytes(counts_.of(q, rank()));
  }
  std::byte* outgoing = resources_.outgoing.reserve(total_of(bytes_));
  std::byte* message = outgoing;
  const auto* indices = own.indices;
  const auto* values = static_cast<const std::byte*>(own.values);
  for (std::size_t q = 0; q < world_size(); ++q) {
    const std::int64_t count = counts_.of(rank(), q);
    const Selection piece = messages_.write(message, count, queue());
    queue().copy(piece.indices, indices, static_cast<std::size_t>(SparseMessages::indices_bytes(count)));
    queue().copy(piece.values, values, static_cast<std::size_t>(messages_.values_bytes(count)));
    message += bytes_[q];
    indices += count;
    values += messages_.values_bytes(count);
  }
  std::byte* received = resources_.incoming.reserve(total_of(incoming_bytes_));
  resources_.data->exchange(outgoing, bytes_, received, incoming_bytes_, deadline);
  lists_.clear();
  for (std::size_t r = 0; r < world_size(); ++r) {
    lists_.push_back(messages_.read(received, counts_.of(r, rank())));
    received += incoming_bytes_[r];
  }
}

/// From the sums of this rank's piece to those of all.
void SparseRoute::share_sums(const Deadline& deadline) {
  constexpr std::int64_t kCountBytes = sizeof(std::int64_t);
  const SparseList& touched = sums_.touched();
  const DataPlane::Seen counted =
      resources_.data->all_gather_seen(touched.present, sum_counts_.data(), kCountBytes, kCountBytes, deadline);
  for (std::size_t r = 0; r < world_size(); ++r) {
    std::memcpy(&lists_[r].count, counted.first + static_cast<std::int64_t>(r) * counted.stride,
                sizeof lists_[r].count);
    bytes_[r] = messages_.bytes(lists_[r].count);
  }
  const std::int64_t own_sums = lists_[rank()].count;
  std::byte* outgoing = resources_.outgoing.reserve(bytes_[rank()]);
  const Selection sums = messages_.write(outgoing, own_sums, queue());
  queue().copy(sums.indices, touched.indices, static_cast<std::size_t>(SparseMessages::indices_bytes(own_sums)));
  resources_.backend().take(sums_.sum(), {touched.indices, nullptr, own_sums, nullptr}, sums.values, queue());
  std::byte* all = resources_.incoming.reserve(total_of(bytes_));
  resources_.data->all_gather_v(outgoing, all, bytes_, deadline);
  for (std::size_t r = 0; r < world_size(); ++r) {
    lists_[r] = messages_.read(all, lists_[r].count);
    all += bytes_[r];
  }
  sums_.put(lists_);
}

}  // namespace gradstep
