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
    : model_(model), states_(std::move(states)) {
  if (!model_.is_sharded()) return;
  Communicator& comm = model_.sharding()->comm();
  rank_bytes_.resize(static_cast<std::size_t>(comm.world_size()));
  places_.resize(rank_bytes_.size());
  std::int64_t largest = 0;
  std::int64_t largest_own = 0;
  for (std::size_t k = 0; k < states_.size();) {
    std::int64_t bytes = 0;
    std::int64_t own = 0;
    for (const std::size_t end = batch_end(k); k < end; ++k) {
      if (!travels(states_[k])) continue;
      bytes += bytes_of(states_[k]);
      own += bytes_of(states_[k], comm.rank());
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

bool StateGather::travels(const StoredState& state) const {
  return model_.is_sharded() && (state.owner >= 0 || (!model_.sharding()->is_whole() && !state.is_whole));
}

std::int64_t StateGather::bytes_of(const StoredState& state) const { return state.total * size_of(state.array.dtype); }

std::int64_t StateGather::bytes_of(const StoredState& state, std::int32_t rank) const {
  if (state.owner >= 0) return state.owner == rank ? bytes_of(state) : 0;
  const std::int64_t per_block = state.is_blocked ? kernels::kCodeBlock : 1;
  const std::int64_t elements = model_.sharding()->slice(rank, state.parameter).size;
  return (elements + per_block - 1) / per_block * size_of(state.array.dtype);
}

std::size_t StateGather::batch_end(std::size_t k) const {
  std::int64_t bytes = 0;
  std::size_t end = k;
  while (end < states_.size() && (end == k || bytes + bytes_of(states_[end]) <= kBatchBytes)) {
    bytes += bytes_of(states_[end++]);
  }
  return end;
}

void StateGather::gather(std::size_t k, void* whole, const Deadline& deadline) {
  const StoredState& state = states_[k];
  if (!travels(state)) {
    const auto bytes = static_cast<std::size_t>(state.array.bytes());
    if (bytes > 0) model_.site().queue().download(whole, state.array.data, bytes);
    return;
  }
  if (k >= end_) {
    end_ = batch_end(k);
    bring(k, end_, deadline);
  }
  auto* to = static_cast<std::byte*>(whole);
  for (std::size_t r = 0; r < places_.size(); ++r) {
    const std::int64_t bytes = bytes_of(state, static_cast<std::int32_t>(r));
    if (bytes > 0) std::memcpy(to, received_.as<std::byte>() + places_[r], static_cast<std::size_t>(bytes));
    to += bytes;
    places_[r] += bytes;
  }
}

void StateGather::gather(std::size_t k, void* whole) {
  gather(k, whole, model_.is_sharded() ? model_.sharding()->comm().deadline() : Deadline::after_ms(0));
}

void StateGather::bring(std::size_t begin, std::size_t end, const Deadline& deadline) {
  Communicator& comm = model_.sharding()->comm();
  std::ranges::fill(rank_bytes_, 0);
  for (std::size_t k = begin; k < end; ++k) {
    for (std::int32_t r = 0; travels(states_[k]) && r < comm.world_size(); ++r) {
      rank_bytes_[static_cast<std::size_t>(r)] += bytes_of(states_[k], r);
    }
  }
  try {
    auto* sent = own_.as<std::byte>();
    for (std::size_t k = begin; k < end; ++k) {
      const std::int64_t own = travels(states_[k]) ? bytes_of(states_[k], comm.rank()) : 0;
      if (own > 0) model_.site().queue().download(sent, states_[k].array.data, static_cast<std::size_t>(own));
      sent += own;
    }
  } catch (...) {
    comm.abort();  // the others wait in this exchange
    throw;
  }
  comm.all_gather_v(own_.data(), received_.data(), rank_bytes_, deadline);
  std::exclusive_scan(rank_bytes_.begin(), rank_bytes_.end(), places_.begin(), std::int64_t{0});
}

}  // namespace gradstep
