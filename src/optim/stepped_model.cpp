// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/stepped_model.h"

#include <optional>
#include <ranges>
#include <utility>

#include "comm/all_or_none.h"
#include "core/caught.h"
#include "core/error.h"
#include "core/held_bytes.h"
#include "core/shape.h"
#include "optim/state_holdings.h"

namespace gradstep {

SteppedModel::SteppedModel(std::shared_ptr<Context> context, Schema schema, Traits traits)
    : traits_(std::move(traits)),
      context_(std::move(context)),
      site_(context_->site(schema)),
      schema_(std::move(schema)),
      state_(*context_, site_, traits_.flags_at_site) {}

void SteppedModel::check_gives_updates() const {
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    for (const auto& [state, what] :
         {std::pair(kMasterWeights, "master weights"), std::pair(kWeightAverage, "an average")}) {
      if (!state_.has(i, state)) continue;
      fail(GRADSTEP_ERR_UNSUPPORTED, "updates: parameter '{}' has {}, which only a step in place can follow",
           schema_[i].name, what);
    }
  }
}

std::int64_t SteppedModel::own_bytes() const {
  return (is_sharded() ? sharding_->bytes() : 0) +
         static_cast<std::int64_t>(held_bytes(state_, work_) + schema_.own_bytes());
}

void SteppedModel::take(const StepBuffers& buffers) {
  const bool in_place = buffers.updates.empty();
  const bool again = buffers.params.shows_again(buffers_.params) && buffers.grads.shows_again(buffers_.grads) &&
                     (in_place ? buffers_.updates.empty() : buffers.updates.shows_again(buffers_.updates));
  if (again && !buffers_changed_) return;
  if (!in_place) check_gives_updates();
  buffers_ = buffers;
  buffers_changed_ = true;
}

void SteppedModel::buffers_were_seen() {
  buffers_changed_ = false;
  if (is_sharded()) seen_gradients_ = sharding_->gradients().version;
}

void SteppedModel::write_zero_updates() {
  if (buffers_.updates.empty()) return;
  std::vector<CopyItem> items(buffers_.updates.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].destination = buffers_.updates[i];
    items[i].source.size = buffers_.updates[i].size;
  }
  site_.backend().copy({&work_, items, {}}, 1, 1, site_.queue());
}

void SteppedModel::list_work() {
  work_.reserve_for(schema_ | std::views::transform(&Parameter::size));
  for (const Parameter& parameter : schema_) work_.append(parameter.size);
}

void SteppedModel::announce(const gradstep_parameter* parameters, std::size_t n) {
  if (is_sharded()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "optimizer: is sharded: attach no communicator first, and this one again after");
  }
  const std::size_t known = schema_.size();
  const gradstep_device device = schema_.device();
  schema_.append(parameters, n);
  try {
    (void)context_->site(schema_, known);  // throws unless a backend serves them, and all on one device
    if (!same_device(schema_.device(), device)) {
      fail(GRADSTEP_ERR_UNSUPPORTED, "parameters[0]: is on {}, the optimizer is on {}", device_text(schema_.device()),
           device_text(device));
    }
    work_.reserve_for(std::span(schema_.begin(), schema_.end()).subspan(known) |
                      std::views::transform(&Parameter::size));
  } catch (...) {
    withdraw(known);
    throw;
  }
}

void SteppedModel::take_in(std::size_t known) noexcept {
  buffers_ = {};
  for (std::size_t i = known; i < schema_.size(); ++i) work_.append(schema_[i].size);
}

// What can fail on one rank comes first and is agreed on.
void SteppedModel::prepare_move(const Sharding* next, bool keep, const Deadline& deadline, const Handover* handover) {
  using Gathers = StateStore::Gathers;
  const auto are_parts = [](const Sharding* ranks) { return ranks == nullptr || ranks->parts() != nullptr; };
  const bool stays = are_parts(sharding_.get()) && are_parts(next);
  const bool is_spread = keep && is_sharded() && !stays && (handover == nullptr || handover->asks_peers);
  Gathers gathers = is_spread && has_slices() ? Gathers::slices : Gathers::owned;
  if (stays) gathers = Gathers::nothing;
  if (handover != nullptr) gathers = Gathers::everything;
  if (!keep && is_sharded()) on(StateEvent::is_lost);
  Buffer whole;
  std::optional<StateGather> spread;
  const auto make_room = [&] {
    all_or_none(is_spread ? &sharding_->comm() : nullptr, "allocate its part of the state", deadline, [&] {
      const OwnerOf owner_of = owners(next);
      const bool cuts = next != nullptr && next->has_slices();
      const std::int32_t rank = next != nullptr ? next->comm().rank() : 0;
      const auto place = [&](std::size_t i, std::size_t slot) -> StatePlace {
        const std::int32_t owner = owner_of ? owner_of(i, slot) : -1;
        const StateTensor& tensor = state_.tensor(i, slot);
        bool is_here = owner < 0 || owner == rank;
        if (owner >= 0 && stays) is_here = next != nullptr ? next->slice(i).size > 0 : tensor.is_here();
        if (owner >= 0 || state_.is_whole(i, slot)) return {{0, is_here ? tensor.form().size() : 0}, owner};
        return {cuts ? next->slice(i) : Slice{0, schema_[i].size}, -1};
      };
      state_.prepare_move(place, gathers, keep);
      if (!is_spread && handover == nullptr) return;
      whole = context_->allocate(static_cast<std::size_t>(state_.largest_moved()), /*zeroed=*/false);
      if (is_spread) spread.emplace(*this, state_.gathered_by_move(gathers));
    });
    if (keep) on(StateEvent::is_dealt_out);
  };
  if (handover != nullptr) {
    all_or_none(next->comm(), "allocate its part of the state", deadline, make_room);
    return bring_together(*next, gathers, *handover, spread ? &*spread : nullptr, whole.data(), deadline);
  }
  make_room();
  if (!keep) return;
  std::size_t k = 0;
  const auto gather = [&](const StoredState&, void* to) { spread->gather(k++, to, deadline); };
  state_.fill_moved(gathers, gather, whole.data());
}

/// `peers`: brings together what the ranks of the present sharding have, on those; else the ranks of `next` have it.
void SteppedModel::bring_together(const Sharding& next, StateStore::Gathers gathers, const Handover& handover,
                                  StateGather* peers, void* whole, const Deadline& deadline) {
  Communicator& comm = next.comm();
  std::size_t k = 0;
  if (!handover.asks_peers) {
    const std::vector<StoredState> states = state_.gathered_by_move(gathers);
    Holdings holdings = find_holdings(comm, schema_, states, handover.holds, deadline);
    if (!holdings.missing.empty()) {
      fail(GRADSTEP_ERR_INVALID_STATE,
           "recover: the ranks are gone that had {} of the state: attach the optimizer to the ranks that are left, and "
           "load a saved state",
           holdings.missing);
    }
    std::optional<StateGather> gathering;
    all_or_none(comm, "allocate its part of the state", deadline,
                [&] { gathering.emplace(*this, states, comm, std::move(holdings.pieces)); });
    const auto gather = [&](const StoredState&, void* to) { gathering->gather(k++, to, deadline); };
    return state_.fill_moved(gathers, gather, whole);
  }
  std::exception_ptr failure;  // the ranks that have shared nothing wait for what comes
  const auto gather = [&](const StoredState& state, void* to) {
    const std::int64_t bytes = state.total * size_of(state.array.dtype);
    if (peers != nullptr && !failure) failure = caught([&] { peers->gather(k, to, deadline); });
    ++k;
    if (handover.has_receivers && bytes > 0) comm.broadcast(to, bytes, handover.root, deadline);
  };
  state_.fill_moved(gathers, gather, whole);
  if (failure) std::rethrow_exception(failure);
}

void SteppedModel::commit_move(std::unique_ptr<Sharding> next) noexcept {
  sharding_ = std::move(next);
  on(StateEvent::is_moving);
  state_.commit_move();
  buffers_ = {};
}

}  // namespace gradstep
