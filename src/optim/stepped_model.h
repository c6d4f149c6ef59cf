// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The model that an optimizer steps: its parameters and their state, how both are spread over ranks, and the buffers of
// a step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/context.h"
#include "core/buffer_list.h"
#include "core/schema.h"
#include "optim/host_state.h"
#include "optim/sharding.h"
#include "optim/state/state_store.h"

namespace gradstep {

struct Handover;
class StateGather;

class SteppedModel {
 public:
  virtual ~SteppedModel() = default;
  SteppedModel(const SteppedModel&) = delete;
  SteppedModel& operator=(const SteppedModel&) = delete;

  /// The rule's name in the API and in files; of several, in the order of the groups, "muon+adam".
  const char* kind() const { return traits_.kind.c_str(); }
  /// What a host has written of these rules; empty = nothing.
  const std::string& rule_texts() const { return traits_.rule_texts; }
  const Schema& schema() const { return schema_; }
  const std::shared_ptr<Context>& context() const { return context_; }
  Site& site() { return site_; }
  const Site& site() const { return site_; }
  bool is_sharded() const { return sharding_ != nullptr; }
  const Sharding* sharding() const { return sharding_.get(); }
  HostState state() { return HostState(*this); }
  /// Throws UNSUPPORTED if deltas cannot be given out instead of stepping in place.
  void check_gives_updates() const;

 protected:
  /// What tells optimizers apart.
  struct Traits {
    std::string kind;
    /// The texts of rules that are written as text; empty = there are none.
    std::string rule_texts = {};           // NOLINT(readability-redundant-member-init): most have none
    std::vector<const char*> state_names;  ///< "statistics.{block}.{axis}" stands for all that begin with "statistics."
    bool steps_whole = false;              ///< sharded, every rank still steps the whole model
    bool flags_at_site = false;            ///< the step that the backend makes writes the flags
  };
  /// What happens to the state.
  enum class StateEvent : std::uint8_t {
    is_read,        ///< by name
    is_saved,       ///< as a whole: pending_ is filled
    is_measured,    ///< metrics_ is filled
    is_dealt_out,   ///< numbers are about to be gathered and dealt out
    is_lost,        ///< it is about to be dealt out without its numbers
    has_new_flags,  ///< from outside
    is_moving,      ///< what was shown of it will lie elsewhere; nothing may fail
    was_replaced,   ///< buffers and counters, from outside
    is_counted,     ///< the step count is about to be set from outside
    was_counted,    ///< that is done
  };

  SteppedModel(std::shared_ptr<Context> context, Schema schema, Traits traits);

  virtual void on(StateEvent /*event*/) {}
  /// The rank that is to have a tensor of the state under `next`, alone or with those that have the whole parameter;
  /// -1 = all, or each its slice. NULL = -1 for all. Without ranks: kOwnerToCome where one has it.
  using OwnerOf = std::function<std::int32_t(std::size_t parameter, std::size_t slot)>;
  virtual OwnerOf owners(const Sharding* /*next*/) { return nullptr; }

  /// The part of parameter i whose state is this rank's. `owner`: as of StateWish.
  Slice slice_of(const Schema& schema, std::size_t i, std::int32_t owner = -1) const {
    if (is_sharded()) return sharding_->slice(i);
    return owner >= 0 ? Slice{} : Slice{0, schema[i].size};
  }
  StateStore& store() { return state_; }
  const StateStore& store() const { return state_; }
  /// In the host's memory and at the site, beside the state.
  std::int64_t own_bytes() const;

  // What a step works on: the host's buffers, this rank's slices, or what it owns.
  std::span<const Array> params() const {
    const WorkingBuffers* working = is_sharded() ? sharding_->working() : nullptr;
    return working != nullptr ? working->params() : buffers_.params.arrays;
  }
  std::span<const Array> grads() const { return is_sharded() ? sharding_->gradients().arrays : buffers_.grads.arrays; }
  std::span<const Array> updates() const {
    const WorkingBuffers* working = is_sharded() && !buffers_.updates.empty() ? sharding_->working() : nullptr;
    return working != nullptr ? working->updates() : buffers_.updates.arrays;
  }
  const WorkList& work() const { return is_sharded() ? sharding_->work() : work_; }
  bool has_slices() const { return is_sharded() && sharding_->has_slices(); }
  /// False if a step has worked on the same buffers before.
  bool buffers_changed() const {
    return buffers_changed_ || (is_sharded() && !sharding_->gradients().shows_again({{}, seen_gradients_}));
  }
  void buffers_were_seen();
  /// Takes the buffers of a step that begins, which were checked against the schema.
  void take(const StepBuffers& buffers);
  void write_zero_updates();

  /// When all state is there: a list of the work on more than memory can hold takes minutes.
  void list_work();

  /// Parameters to come: announce() throws where they cannot. Then either withdraw() or take_in(); neither fails.
  void announce(const gradstep_parameter* parameters, std::size_t n);
  void withdraw(std::size_t known) noexcept { schema_.shrink(known); }
  void take_in(std::size_t known) noexcept;

  /// By parameter: what a step of it costs, where one rank is to have all of it; 0 = ranks have slices. Empty = ranks
  /// have slices of every parameter.
  virtual std::vector<double> undivided() const { return {}; }
  /// `groups`: as of Dealing.
  Dealing dealing_by(std::vector<std::vector<std::size_t>> groups) const {
    return {undivided(), std::move(groups), traits_.steps_whole};
  }
  /// Collective among the ranks that share the state. Makes ready, aside, what is to be elsewhere under `next`, with
  /// its numbers if `keep`. A rank that fails leaves no other one in an exchange. With a handover it is collective over
  /// the ranks of `next` too, and throws INVALID_STATE on all of them where a part of the state is gone.
  void prepare_move(const Sharding* next, bool keep, const Deadline& deadline, const Handover* handover = nullptr);
  void commit_move(std::unique_ptr<Sharding> next) noexcept;

 private:
  friend class HostState;

  void bring_together(const Sharding& next, StateStore::Gathers gathers, const Handover& handover, StateGather* peers,
                      void* whole, const Deadline& deadline);

  Traits traits_;
  std::shared_ptr<Context> context_;
  Site site_;
  Schema schema_;
  StateStore state_;
  WorkList work_;  // on all of every parameter
  bool buffers_changed_ = true;
  std::uint64_t seen_gradients_ = 0;  // version of the slices that a step has worked on

 protected:
  std::vector<StoredState> pending_;  // state beside the store
  StepBuffers buffers_;               // of the last step; what they show is valid during a step alone
  std::unique_ptr<Sharding> sharding_;
};

}  // namespace gradstep
