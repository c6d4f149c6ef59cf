// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/state_holdings.h"

#include <algorithm>

#include "comm/all_or_none.h"
#include "core/slice.h"

namespace gradstep {

namespace {

constexpr int kMostNamed = 3;

/// By rank, what each has of one state.
struct Held {
  std::span<const Slice> all;  // of all ranks, one after the other
  std::size_t states;
  std::size_t state;
  const Slice& of(std::size_t rank) const { return all[rank * states + state]; }
  std::size_t ranks() const { return all.size() / states; }
};

/// The rank that has what begins at `element`.
std::size_t rank_with(const Held& held, std::int64_t element) {
  std::size_t rank = 0;
  while (rank < held.ranks()) {
    const Slice& slice = held.of(rank);
    if (slice.begin <= element && element < slice.begin + slice.size) break;
    ++rank;
  }
  return rank;
}

/// Where after `element` some rank has something; else `total`.
std::int64_t next_begin(const Held& held, std::int64_t element, std::int64_t total) {
  std::int64_t next = total;
  for (std::size_t rank = 0; rank < held.ranks(); ++rank) {
    const Slice& slice = held.of(rank);
    if (slice.size > 0 && slice.begin > element) next = std::min(next, slice.begin);
  }
  return next;
}

}  // namespace

Holdings find_holdings(Communicator& comm, const Schema& schema, std::span<const StoredState> states, bool holds,
                       const Deadline& deadline) {
  const std::size_t count = states.size();
  std::vector<Slice> own;
  std::vector<Slice> all;
  Holdings found;
  all_or_none(comm, "find the state", deadline, [&] {
    for (const StoredState& state : states) own.push_back(holds ? Slice{state.begin, state.array.size} : Slice{});
    all.resize(count * static_cast<std::size_t>(comm.world_size()));
    found.pieces.resize(count);
  });
  if (count == 0) return found;
  comm.all_gather(own.data(), all.data(), static_cast<std::int64_t>(count * sizeof(Slice)), deadline);
  int named = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Held held{all, count, k};
    const StoredState& state = states[k];
    const std::int64_t size = size_of(state.array.dtype);
    for (std::int64_t at = 0; at < state.total;) {
      const std::size_t rank = rank_with(held, at);
      if (rank < held.ranks()) {
        const Slice& slice = held.of(rank);
        const std::int64_t end = slice.begin + slice.size;
        found.pieces[k].push_back(
            {static_cast<std::int32_t>(rank), at * size, (end - at) * size, (at - slice.begin) * size});
        at = end;
        continue;
      }
      const std::int64_t end = next_begin(held, at, state.total);
      if (++named <= kMostNamed) {
        found.missing += fmt::format("{}elements {} to {} of '{}/{}'", named > 1 ? ", " : "", at, end - 1,
                                     schema[state.parameter].name, state.name);
      }
      at = end;
    }
  }
  if (named > kMostNamed) found.missing += fmt::format(" and {} more parts", named - kMostNamed);
  return found;
}

}  // namespace gradstep
