// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/state/state_store.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace gradstep {

namespace {

constexpr auto slot_of = [](const auto& entry) -> std::size_t { return entry.slot; };

}  // namespace

std::int64_t bytes_of(std::span<const StateWish> tensors) {
  std::int64_t bytes = 0;
  for (const StateWish& wish : tensors) bytes += wish.owner < 0 ? wish.form.bytes() : 0;
  return bytes;
}

const StateStore::Entry* StateStore::Entries::find(std::size_t parameter, std::size_t slot) const {
  if (parameter >= size()) return nullptr;
  const std::span<const Entry> list = (*this)[parameter];
  const auto found = std::ranges::lower_bound(list, slot, {}, slot_of);
  return found != list.end() && found->slot == slot ? &*found : nullptr;
}

void StateStore::Entries::append(std::span<Entry> entries) {
  std::ranges::sort(entries, {}, slot_of);
  all_.insert(all_.end(), std::move_iterator(entries.begin()), std::move_iterator(entries.end()));
  ends_.push_back(static_cast<std::uint32_t>(all_.size()));  // memory ends before its 32 bits do
}

void StateStore::Entries::reserve(std::size_t parameters, std::size_t entries) {
  ends_.reserve(parameters);
  all_.reserve(entries);
}

void StateStore::Entries::make_room(std::size_t first, const Entries& added) {
  if (first == 0) return;
  const auto room_for = [](auto& list, std::size_t count) {
    if (count > list.capacity()) list.reserve(std::max(count, 2 * list.size()));
  };
  room_for(all_, begin(first) + added.all_.size());
  room_for(ends_, first + added.ends_.size());
}

void StateStore::Entries::replace(std::size_t first, Entries added) noexcept {
  if (first == 0) {
    *this = std::move(added);
    return;
  }
  all_.resize(begin(first));
  ends_.resize(first);
  const auto kept = static_cast<std::uint32_t>(all_.size());
  all_.insert(all_.end(), std::move_iterator(added.all_.begin()), std::move_iterator(added.all_.end()));
  for (const std::uint32_t end : added.ends_) ends_.push_back(kept + end);
}

const StateTensor& StateStore::tensor(std::size_t parameter, std::size_t slot) const {
  static const StateTensor kNone;
  const Entry* found = parameters_.find(parameter, slot);
  return found != nullptr ? found->tensor : kNone;
}

bool StateStore::is_active(std::size_t parameter, std::size_t slot) const {
  const Entry* found = parameters_.find(parameter, slot);
  return found != nullptr && found->active;
}

std::size_t StateStore::find(std::size_t parameter, const char* name) const {
  const std::span<const Entry> list = parameters_[parameter];
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
    Entry& made = *entries.find(at.parameter, at.slot);
    if (made.owner >= 0 && made.tensor.slice().size == 0) continue;
    (made.about->is_whole ? whole : cut).push_back(&made.tensor);
  }
  allocate_tensors(site_, cut, /*side_by_side=*/false);
  allocate_tensors(site_, whole, /*side_by_side=*/true);
  for (const Position& at : positions) entries.find(at.parameter, at.slot)->tensor.write_initial(context_, site_);
}

bool StateStore::begins_anew(std::size_t parameter, const ParameterWish& wish) const {
  return std::ranges::any_of(wish.tensors,
                             [&](const StateWish& w) { return !w.is_whole && !is_active(parameter, w.slot); });
}

StateStore::Growth StateStore::grow(std::span<const ParameterWish> wishes, std::size_t first) {
  const std::size_t count = first + wishes.size();
  Growth growth;
  growth.first = first;
  std::vector<Position> fresh;
  std::vector<Entry> list;  // of one parameter
  std::size_t entries = 0;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (first + i < parameters_.size()) entries += parameters_[first + i].size();
    entries += static_cast<std::size_t>(std::ranges::count_if(
        wishes[i].tensors, [&](const StateWish& wish) { return parameters_.find(first + i, wish.slot) == nullptr; }));
  }
  growth.parameters.reserve(wishes.size(), entries);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    list.clear();
    if (first + i < parameters_.size()) {
      for (const Entry& before : parameters_[first + i]) list.emplace_back(before).active = false;
    }
    for (const StateWish& wish : wishes[i].tensors) {
      const auto known = std::ranges::find(list, wish.slot, slot_of);
      if (known != list.end()) {
        known->active = true;
        continue;
      }
      const Slice all{0, wish.owner >= 0 && wishes[i].slice.size == 0 ? 0 : wish.form.size()};
      Entry& entry = list.emplace_back();
      entry.about = &*descriptions_.insert({wish.name, wish.shape, wish.is_whole}).first;
      entry.tensor = StateTensor(wish.form, wish.is_whole ? all : wishes[i].slice);
      entry.slot = wish.slot & kSlotBits;
      entry.owner = wish.owner;
      entry.active = true;
      fresh.push_back({i, wish.slot});
    }
    growth.parameters.append(list);
  }
  make(growth.parameters, fresh);
  parameters_.make_room(first, growth.parameters);
  if (flags_.size() == 0) {
    growth.flags.emplace(site_, count, flags_at_site_);
  } else if (!flags_.has_room_for(count)) {
    growth.flags = flags_.enlarged(site_, count);
  }
  // What was switched off has no owner: it may begin anew before the rest is taken over.
  for (std::size_t i = first; i < parameters_.size(); ++i) {
    for (const Entry& before : parameters_[i]) {
      const bool comes_back = !before.active && growth.parameters.find(i - first, before.slot)->active;
      if (comes_back && !before.about->is_whole) before.tensor.write_initial(context_, site_);
    }
  }
  return growth;
}

void StateStore::commit(Growth growth) noexcept {
  const std::size_t count = growth.first + growth.parameters.size();
  parameters_.replace(growth.first, std::move(growth.parameters));
  if (growth.flags) flags_ = std::move(*growth.flags);
  flags_.resize(count);
}

void StateStore::prepare_move(FunctionRef<StatePlace(std::size_t, std::size_t)> place, Gathers gathers, bool keep) {
  discard_move();
  next_.reserve(parameters_.size(), parameters_.all().size());
  std::vector<Entry> list;  // of one parameter
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    list.clear();
    for (const Entry& entry : parameters_[i]) {
      if (entry.active || entry.about->is_whole) list.push_back(entry);
    }
    for (Entry& entry : list) {
      const StatePlace to = place(i, entry.slot);
      const bool stays = !is_spread(entry, gathers) && (to.owner < 0 || gathers == Gathers::nothing) &&
                         entry.tensor.slice() == to.slice;
      entry.owner = to.owner;
      if (stays) continue;
      entry.tensor = StateTensor(entry.tensor.form(), to.slice);
      moved_.push_back({i, entry.slot});
    }
    next_.append(list);
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
    const std::vector<StoredState> to = stored(moved.parameter, *next_.find(moved.parameter, moved.slot));
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
  next_ = {};
  moved_.clear();
  next_flags_ = {};
}

std::size_t StateStore::bytes() const {
  std::size_t bytes = held_bytes(flags_, parameters_);
  for (const Description& about : descriptions_) {
    bytes += allocated_bytes(sizeof about + 4 * sizeof(void*)) + allocated_bytes(held_bytes(about.shape));
  }
  std::set<std::reference_wrapper<const StateTensor>, decltype(&StateTensor::memory_is_before)> in_buffers(
      &StateTensor::memory_is_before);
  const StateTensor* last = nullptr;
  for (const Entry& entry : parameters_.all()) {
    const StateTensor& tensor = entry.tensor;
    bytes += tensor.padding();
    if (!tensor.is_here()) continue;
    const bool is_in_another =
        last == nullptr || StateTensor::memory_is_before(*last, tensor) || StateTensor::memory_is_before(tensor, *last);
    if (is_in_another) in_buffers.insert(tensor);
    last = &tensor;
  }
  return bytes + in_buffers.size() * (allocated_bytes(sizeof(Buffer) + 2 * sizeof(void*)) + kAlignment);
}

}  // namespace gradstep
