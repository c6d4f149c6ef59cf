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
      outgoing_(resources.site.backend().memory()) {}

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

std::int64_t SparseRoute::message_bytes(const SparseSelection& own) const {
  const std::int64_t count =
      own.by_count() ? own.next_count() : last_selected_ / static_cast<std::int64_t>(world_size());
  return SparseSelection::kHeadBytes + messages_.bytes(count);
}

std::optional<Round> SparseRoute::ask_counts(const SparseSelection& own) {
  if (own.is_fixed()) return {};
  return SelectionCounts::round(own.counts(), own.pieces());
}

void SparseRoute::read_counts(const SparseSelection& own, const Received& received) {
  counts_.read(received.seen, own.pieces());
}

std::optional<Round> SparseRoute::start(const SparseSelection& own, double divisor) {
  own_ = &own;
  divisor_ = divisor;
  if (own.pieces() > 1) return send_pieces(own.list());
  if (world_size() > 1) return gather(own);
  if (own.is_fixed()) {
    const std::int64_t numbers[] = {own.selected_nans(), own.list().count};
    counts_.read({reinterpret_cast<const std::byte*>(numbers), 0}, 1);
  }
  lists_.assign(1, own.list());
  sums_.add_up(lists_, 0, sums_.sum().size, divisor_);
  return finish();
}

std::optional<Round> SparseRoute::proceed(const Received& received) {
  switch (step_) {
    case Step::fixed_selections:
      read_heads(received.seen);
      add_up_selections(received.blocks);
      return finish();
    case Step::selections:
      add_up_selections(received.blocks);
      return finish();
    case Step::pieces:
      return add_up_piece(received);
    case Step::sum_counts:
      return send_sums(received.seen);
    case Step::sums:
      put_sums(received);
  }
  return finish();
}

std::optional<Round> SparseRoute::finish() {
  last_selected_ = counts_.total();
  return {};
}

/// All ranks' messages. If all know their lengths they have heads, by which counts_ become known.
Round SparseRoute::gather(const SparseSelection& own) {
  if (own.is_fixed()) {
    step_ = Step::fixed_selections;
    const std::int64_t bytes = SparseSelection::kHeadBytes + messages_.bytes(own.list().count);
    return {Call::all_gather(own.message_with_head(), nullptr, bytes), SparseSelection::kHeadBytes};
  }
  step_ = Step::selections;
  for (std::size_t r = 0; r < world_size(); ++r) bytes_[r] = messages_.bytes(counts_.of(r, 0));
  return {Call::all_gather_v(own.list().indices, nullptr, bytes_)};
}

void SparseRoute::read_heads(const DataPlane::Seen& heads) {
  counts_.read(heads, 1);
  const std::int64_t count = own_->list().count;
  for (std::size_t r = 0; r < world_size(); ++r) {
    if (counts_.of(r, 0) != count) {
      fail(GRADSTEP_ERR_MISMATCH, "rank {} has selected {} elements, this rank {}: they are not in the same window", r,
           counts_.of(r, 0), count);
    }
  }
}

void SparseRoute::add_up_selections(std::span<const std::byte* const> messages) {
  const std::int64_t head = own_->is_fixed() ? SparseSelection::kHeadBytes : 0;
  lists_.clear();
  for (std::size_t r = 0; r < world_size(); ++r) lists_.push_back(messages_.read(messages[r] + head, counts_.of(r, 0)));
  sums_.add_up(lists_, 0, sums_.sum().size, divisor_);
}

/// Pieces are equal shares of all indices.
std::int64_t SparseRoute::piece_begin(std::size_t q) const {
  return sums_.sum().size * static_cast<std::int64_t>(q) / static_cast<std::int64_t>(world_size());
}

/// What this rank has selected in each piece, to the piece's owner.
Round SparseRoute::send_pieces(const SparseList& own) {
  step_ = Step::pieces;
  for (std::size_t q = 0; q < world_size(); ++q) {
    bytes_[q] = messages_.bytes(counts_.of(rank(), q));
    incoming_bytes_[q] = messages_.bytes(counts_.of(q, rank()));
  }
  std::byte* const outgoing = outgoing_.reserve(total_of(bytes_));
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
  return {Call::exchange(outgoing, bytes_, nullptr, incoming_bytes_)};
}

/// Returns the round that tells all how many elements the sums of each piece have.
Round SparseRoute::add_up_piece(const Received& received) {
  lists_.clear();
  for (std::size_t r = 0; r < world_size(); ++r) {
    lists_.push_back(messages_.read(received.blocks[r], counts_.of(r, rank())));
  }
  sums_.add_up(lists_, piece_begin(rank()), piece_begin(rank() + 1), divisor_);
  step_ = Step::sum_counts;
  constexpr std::int64_t kCountBytes = sizeof(std::int64_t);
  return {Call::all_gather(sums_.touched().present, nullptr, kCountBytes), kCountBytes};
}

Round SparseRoute::send_sums(const DataPlane::Seen& counts) {
  for (std::size_t r = 0; r < world_size(); ++r) {
    std::memcpy(&lists_[r].count, counts.first + static_cast<std::int64_t>(r) * counts.stride, sizeof lists_[r].count);
    bytes_[r] = messages_.bytes(lists_[r].count);
  }
  const SparseList& touched = sums_.touched();
  const std::int64_t own_sums = lists_[rank()].count;
  std::byte* const outgoing = outgoing_.reserve(bytes_[rank()]);
  const Selection sums = messages_.write(outgoing, own_sums, queue());
  queue().copy(sums.indices, touched.indices, static_cast<std::size_t>(SparseMessages::indices_bytes(own_sums)));
  resources_.backend().take(sums_.sum(), {touched.indices, nullptr, own_sums, nullptr}, sums.values, queue());
  step_ = Step::sums;
  return {Call::all_gather_v(outgoing, nullptr, bytes_)};
}

/// From the sums of each piece to those of all.
void SparseRoute::put_sums(const Received& received) {
  for (std::size_t r = 0; r < world_size(); ++r) lists_[r] = messages_.read(received.blocks[r], lists_[r].count);
  sums_.put(lists_);
}

}  // namespace gradstep
