// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/state_gather.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/block_code.h"
#include "optim/stepped_model.h"

namespace gradstep {

StateGather::StateGather(SteppedModel& model, std::vector<StoredState> states)
    : model_(model), states_(std::move(states)), pieces_(states_.size()) {
  if (!model_.is_sharded()) return;
  comm_ = &model_.sharding()->comm();
  pieces_ = slices();
  make_room();
}

StateGather::StateGather(SteppedModel& model, std::vector<StoredState> states, Communicator& comm, StatePieces pieces)
    : model_(model), states_(std::move(states)), comm_(&comm), pieces_(std::move(pieces)) {
  make_room();
}

StatePieces StateGather::slices() const {
  StatePieces pieces(states_.size());
  for (std::size_t k = 0; k < states_.size(); ++k) {
    const StoredState& state = states_[k];
    if (state.owner < 0 && (model_.sharding()->is_whole() || state.is_whole)) continue;
    if (const Parts* parts = model_.sharding()->parts(); parts != nullptr && state.owner < 0) {
      pieces[k] = boxes(state, *parts);
      continue;
    }
    std::int64_t begin = 0;
    for (std::int32_t rank = 0; rank < comm_->world_size(); ++rank) {
      const std::int64_t bytes = bytes_of(state, rank);
      if (bytes > 0) pieces[k].push_back({rank, begin, bytes});
      begin += bytes;
    }
  }
  return pieces;
}

/// None of a parameter that every rank has all of.
std::vector<StatePiece> StateGather::boxes(const StoredState& state, const Parts& parts) const {
  std::vector<StatePiece> pieces;
  if (!parts.is_divided(state.parameter)) return pieces;
  const std::int64_t each = size_of(state.array.dtype);
  for (std::int32_t rank = 0; rank < comm_->world_size(); ++rank) {
    if (!parts.stands(rank, state.parameter)) continue;
    std::int64_t from = 0;
    for_each_run(model_.schema()[state.parameter].whole_shape(), parts.box(rank, state.parameter),
                 [&](std::int64_t begin, std::int64_t count) {
                   pieces.push_back({rank, begin * each, count * each, from});
                   from += count * each;
                 });
  }
  return pieces;
}

void StateGather::make_room() {
  rank_bytes_.resize(static_cast<std::size_t>(comm_->world_size()));
  places_.resize(rank_bytes_.size());
  std::int64_t largest = 0;
  std::int64_t largest_own = 0;
  for (std::size_t k = 0; k < states_.size();) {
    std::int64_t bytes = 0;
    std::int64_t own = 0;
    for (const std::size_t end = batch_end(k); k < end; ++k) {
      bytes += travelling(k);
      for (const StatePiece& piece : pieces_[k]) own += piece.rank == comm_->rank() ? piece.bytes : 0;
    }
    largest = std::max(largest, bytes);
    largest_own = std::max(largest_own, own);
  }
  const auto room_for = [&](std::int64_t bytes) {
    return model_.context()->allocate(static_cast<std::size_t>(bytes), /*zeroed=*/false);
  };
  own_ = room_for(largest_own);
  received_ = room_for(largest);
}

std::int64_t StateGather::travelling(std::size_t k) const {
  std::int64_t bytes = 0;
  for (const StatePiece& piece : pieces_[k]) bytes += piece.bytes;
  return bytes;
}

std::int64_t StateGather::bytes_of(const StoredState& state, std::int32_t rank) const {
  if (state.owner >= 0) return state.owner == rank ? state.total * size_of(state.array.dtype) : 0;
  const std::int64_t per_block = state.is_blocked ? kernels::kCodeBlock : 1;
  const std::int64_t elements = model_.sharding()->slice(rank, state.parameter).size;
  return (elements + per_block - 1) / per_block * size_of(state.array.dtype);
}

/// What does not travel ends no batch: not all ranks have it in their lists.
std::size_t StateGather::batch_end(std::size_t k) const {
  std::int64_t bytes = 0;
  std::size_t end = k;
  while (end < states_.size() && (bytes == 0 || bytes + travelling(end) <= kBatchBytes)) bytes += travelling(end++);
  return end;
}

void StateGather::gather(std::size_t k, void* whole, const Deadline& deadline) {
  const StoredState& state = states_[k];
  if (travelling(k) == 0) {
    const auto bytes = static_cast<std::size_t>(state.array.bytes());
    if (bytes > 0) model_.site().queue().download(whole, state.array.data, bytes);
    return;
  }
  if (k >= end_) {
    end_ = batch_end(k);
    bring(k, end_, deadline);
  }
  auto* to = static_cast<std::byte*>(whole);
  for (const StatePiece& piece : pieces_[k]) {
    std::int64_t& place = places_[static_cast<std::size_t>(piece.rank)];
    std::memcpy(to + piece.begin, received_.as<std::byte>() + place, static_cast<std::size_t>(piece.bytes));
    place += piece.bytes;
  }
}

void StateGather::gather(std::size_t k, void* whole) {
  gather(k, whole, model_.is_sharded() ? model_.sharding()->comm().deadline() : Deadline::after_ms(0));
}

void StateGather::bring(std::size_t begin, std::size_t end, const Deadline& deadline) {
  std::ranges::fill(rank_bytes_, 0);
  for (std::size_t k = begin; k < end; ++k) {
    for (const StatePiece& piece : pieces_[k]) rank_bytes_[static_cast<std::size_t>(piece.rank)] += piece.bytes;
  }
  try {
    auto* sent = own_.as<std::byte>();
    for (std::size_t k = begin; k < end; ++k) {
      const StoredState& state = states_[k];
      for (const StatePiece& piece : pieces_[k]) {
        if (piece.rank != comm_->rank()) continue;
        model_.site().queue().download(sent, static_cast<const std::byte*>(state.array.data) + piece.from,
                                       static_cast<std::size_t>(piece.bytes));
        sent += piece.bytes;
      }
    }
  } catch (...) {
    comm_->abort();  // the others wait in this exchange
    throw;
  }
  comm_->all_gather_v(own_.data(), received_.data(), rank_bytes_, deadline);
  std::exclusive_scan(rank_bytes_.begin(), rank_bytes_.end(), places_.begin(), std::int64_t{0});
}

}  // namespace gradstep
