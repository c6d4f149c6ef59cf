// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/state/state_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/held_bytes.h"

namespace gradstep {

std::int64_t bytes_of(std::span<const StateWish> tensors) {
  std::int64_t bytes = 0;
  for (const StateWish& wish : tensors) bytes += wish.owner < 0 ? wish.form.bytes() : 0;
  return bytes;
}

const StateStore::Entry* StateStore::entry_in(const List& list, std::size_t slot) {
  const auto found = std::ranges::lower_bound(list, slot, {}, &Entry::slot);
  return found != list.end() && found->slot == slot ? &*found : nullptr;
}

const StateTensor& StateStore::tensor(std::size_t parameter, std::size_t slot) const {
  static const StateTensor kNone;
  const Entry* found = parameter < parameters_.size() ? entry_in(parameters_[parameter], slot) : nullptr;
  return found != nullptr ? found->tensor : kNone;
}

bool StateStore::is_active(std::size_t parameter, std::size_t slot) const {
  const Entry* found = parameter < parameters_.size() ? entry_in(parameters_[parameter], slot) : nullptr;
  return found != nullptr && found->active;
}

std::size_t StateStore::find(std::size_t parameter, const char* name) const {
  const List& list = parameters_[parameter];
  const auto found = std::ranges::find_if(list, [&](const Entry& e) { return e.active && e.about->name == name; });
  return found != list.end() ? found->slot : kNoSlot;
}

std::span<const std::int64_t> StateStore::shape(std::size_t parameter, std::size_t slot) const {
  const Description& about = *at({parameter, slot}).about;
  return about.is_whole ? std::span<const std::int64_t>(about.shape) : std::span<const std::int64_t>();
}

bool StateStore::is_owner(std::size_t parameter) const {
  return std::ranges::any_of(parameters_[parameter],
                             [](const Entry& entry) { return entry.owner >= 0 && entry.tensor.is_here(); });
}

bool StateStore::has_codes(std::size_t parameter) const {
  return std::ranges::any_of(parameters_[parameter], [](const Entry& entry) { return entry.tensor.is_coded(); });
}

bool StateStore::has_owner(std::size_t parameter) const {
  return std::ranges::any_of(parameters_[parameter],
                             [](const Entry& entry) { return entry.active && entry.owner >= 0; });
}

std::vector<StoredState> StateStore::stored(std::size_t parameter, const Entry& entry) {
  std::vector<StoredState> stored;
  entry.tensor.append_stored(parameter, entry.about->name, entry.about->shape, entry.owner, stored);
  for (StoredState& state : stored) state.is_whole = entry.about->is_whole;
  return stored;
}

std::vector<StoredState> StateStore::stored() const {
  std::vector<StoredState> all;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (const Entry& entry : parameters_[i]) {
      if (!entry.active) continue;
      for (StoredState& state : stored(i, entry)) all.push_back(std::move(state));
    }
  }
  return all;
}

/// Gives tensors that are to be here memory and the numbers that they begin with.
void StateStore::make(Entries& entries, std::span<const Position> positions) const {
  std::vector<StateTensor*> whole;
  std::vector<StateTensor*> cut;
  for (const Position& at : positions) {
    Entry& made = *entry_in(entries[at.parameter], at.slot);
    if (made.owner >= 0 && made.tensor.slice().size == 0) continue;
    (made.about->is_whole ? whole : cut).push_back(&made.tensor);
  }
  allocate_tensors(site_, cut, /*side_by_side=*/false);
  allocate_tensors(site_, whole, /*side_by_side=*/true);
  for (const Position& at : positions) entry_in(entries[at.parameter], at.slot)->tensor.write_initial(context_, site_);
}

bool StateStore::begins_anew(std::size_t parameter, const ParameterWish& wish) const {
  return std::ranges::any_of(wish.tensors,
                             [&](const StateWish& w) { return !w.is_whole && !is_active(parameter, w.slot); });
}

StateStore::Growth StateStore::grow(std::span<const ParameterWish> wishes, std::size_t first) {
  const std::size_t count = first + wishes.size();
  if (count > parameters_.capacity()) {
    parameters_.reserve(parameters_.empty() ? count : std::max(count, 2 * parameters_.size()));
  }
  Growth growth;
  growth.first = first;
  growth.parameters.assign(parameters_.begin() + static_cast<std::ptrdiff_t>(first), parameters_.end());
  growth.parameters.resize(wishes.size());
  std::vector<Position> fresh;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    List& list = growth.parameters[i];
    for (Entry& entry : list) entry.active = false;
    List added;
    for (const StateWish& wish : wishes[i].tensors) {
      if (Entry* known = entry_in(list, wish.slot)) {
        known->active = true;
        continue;
      }
      const Slice all{0, wish.owner >= 0 && wishes[i].slice.size == 0 ? 0 : wish.form.size()};
      Entry& entry = added.emplace_back();
      entry.about = &*descriptions_.insert({wish.name, wish.shape, wish.is_whole}).first;
      entry.tensor = StateTensor(wish.form, wish.is_whole ? all : wishes[i].slice);
      entry.slot = static_cast<std::uint32_t>(wish.slot);
      entry.owner = wish.owner;
      entry.active = true;
      fresh.push_back({i, wish.slot});
    }
    list.reserve(list.size() + added.size());
    std::ranges::move(added, std::back_inserter(list));
    std::ranges::sort(list, {}, &Entry::slot);
  }
  make(growth.parameters, fresh);
  if (flags_.size() == 0) {
    growth.flags.emplace(site_, count, flags_at_site_);
  } else if (!flags_.has_room_for(count)) {
    growth.flags = flags_.enlarged(site_, count);
  }
  // What was switched off has no owner: it may begin anew before the rest is taken over.
  for (std::size_t i = first; i < parameters_.size(); ++i) {
    for (const Entry& before : parameters_[i]) {
      const bool comes_back = !before.active && entry_in(growth.parameters[i - first], before.slot)->active;
      if (comes_back && !before.about->is_whole) before.tensor.write_initial(context_, site_);
    }
  }
  return growth;
}

void StateStore::commit(Growth growth) noexcept {
  const std::size_t count = growth.first + growth.parameters.size();
  parameters_.resize(growth.first);
  for (List& list : growth.parameters) parameters_.push_back(std::move(list));
  if (growth.flags) flags_ = std::move(*growth.flags);
  flags_.resize(count);
}

void StateStore::prepare_move(FunctionRef<StatePlace(std::size_t, std::size_t)> place, Gathers gathers, bool keep) {
  discard_move();
  next_ = parameters_;
  for (std::size_t i = 0; i < next_.size(); ++i) {
    std::erase_if(next_[i], [](const Entry& entry) { return !entry.active && !entry.about->is_whole; });
    for (Entry& entry : next_[i]) {
      const StatePlace to = place(i, entry.slot);
      const bool stays = !is_spread(entry, gathers) && (to.owner < 0 || gathers == Gathers::nothing) &&
                         entry.tensor.slice() == to.slice;
      entry.owner = to.owner;
      if (stays) continue;
      entry.tensor = StateTensor(entry.tensor.form(), to.slice);
      moved_.push_back({i, entry.slot});
    }
  }
  make(next_, moved_);
  next_flags_ = UsedFlags(site_, flags_.size(), flags_at_site_);
  if (keep) next_flags_.write(site_, flags_.read(site_));
}

std::int64_t StateStore::largest_moved() const {
  std::int64_t largest = 0;
  for (const Position& moved : moved_) {
    for (const StoredState& state : stored(moved.parameter, at(moved))) {
      largest = std::max(largest, state.total * size_of(state.array.dtype));
    }
  }
  return largest;
}

std::vector<StoredState> StateStore::gathered_by_move(Gathers gathers) const {
  std::vector<StoredState> all;
  for (const Position& moved : moved_) {
    const Entry& before = at(moved);
    if (!is_spread(before, gathers)) continue;
    for (StoredState& state : stored(moved.parameter, before)) all.push_back(std::move(state));
  }
  return all;
}

void StateStore::fill_moved(Gathers gathers, FunctionRef<void(const StoredState&, void*)> gather, void* whole) {
  for (const Position& moved : moved_) {
    const Entry& before = at(moved);
    const std::vector<StoredState> from = stored(moved.parameter, before);
    const std::vector<StoredState> to = stored(moved.parameter, *entry_in(next_[moved.parameter], moved.slot));
    for (std::size_t part = 0; part < from.size(); ++part) {
      const Array& array = to[part].array;
      const auto bytes = static_cast<std::size_t>(array.bytes());
      const std::int64_t first = to[part].begin * size_of(array.dtype);
      if (is_spread(before, gathers)) {
        gather(from[part], whole);
        site_.queue().upload(array.data, static_cast<const std::byte*>(whole) + first, bytes);
      } else if (bytes > 0 && before.tensor.is_here()) {
        site_.queue().copy(array.data, static_cast<const std::byte*>(from[part].array.data) + first, bytes);
      }
    }
  }
}

void StateStore::commit_move() noexcept {
  parameters_ = std::move(next_);
  flags_ = std::move(next_flags_);
  discard_move();
}

void StateStore::discard_move() noexcept {
  next_.clear();
  moved_.clear();
  next_flags_ = {};
}

std::size_t StateStore::bytes() const {
  std::size_t bytes = held_bytes(flags_) + parameters_.capacity() * sizeof(List);
  for (const Description& about : descriptions_) {
    bytes += allocated_bytes(sizeof about + 4 * sizeof(void*)) + allocated_bytes(held_bytes(about.shape));
  }
  std::vector<const Buffer*> memories;
  for (const List& list : parameters_) {
    bytes += allocated_bytes(list.capacity() * sizeof(Entry));
    for (const Entry& entry : list) {
      bytes += entry.tensor.padding();
      const Buffer* memory = entry.tensor.memory();
      if (memory != nullptr && (memories.empty() || memory != memories.back())) memories.push_back(memory);
    }
  }
  std::ranges::sort(memories);
  const auto again = std::ranges::unique(memories);
  memories.erase(again.begin(), again.end());
  return bytes + memories.size() * (allocated_bytes(sizeof(Buffer) + 2 * sizeof(void*)) + kAlignment);
}

}  // namespace gradstep
