// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The machinery that all optimizers share: the schema and its checks, hyper-parameters, guards of a step (clipping,
// skipping), counters. A concrete optimizer owns its state and applies its rule.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/context.h"
#include "core/buffer_list.h"
#include "core/busy_flag.h"
#include "core/schema.h"
#include "gradstep/optimizer.h"
#include "gradstep/sharding.h"
#include "optim/hyper_parameters.h"
#include "optim/sharding.h"
#include "optim/state/state_store.h"

namespace gradstep {

/// What decides whether, and by how much, a step is made.
using StepGuards = kernels::StepRequest;

/// Throws INVALID_ARGUMENT for a number outside its range, by the name of its field in gradstep_step_options.
void check_guards(const StepGuards& guards);

struct StepOutcome {
  bool applied = false;  ///< where work is queued: the step is on its way
  double grad_norm = 0;  ///< NaN when nothing asked for it
  double clip_coefficient = 1;
};

/// Up to here t is exact as a double, which is what schedules and bias corrections compute with.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The rule's name in the API and in files; of several, in the order of the groups, "muon+adam".
  const char* kind() const { return traits_.kind.c_str(); }

  /// Evaluates the hyper-parameters of the next step, which then does not do it again: what could fail in a host's
  /// callback fails here.
  void refresh() {
    take_hyper_parameters();
    refreshed_ = true;
  }
  /// Steps the buffers, which were checked against the schema. On an exception before the rule is applied nothing has
  /// changed. Collective if sharded.
  StepOutcome step(const StepBuffers& buffers, const StepGuards& guards);
  /// The step of a sharded optimizer, with gradients that are not what attach said.
  StepOutcome step_sharded(const StepBuffers& buffers, const StepGuards& guards, const GradientExchange& exchange);

  /// Collective. Deals the state out over the ranks of `comm`, or gathers it with NULL. A failure on one rank is one on
  /// all, and nothing has changed. NULL on an optimizer that is not sharded does nothing. Where a part of the state is
  /// gone on one of the ranks, it is lost on all of them, and what is dealt out waits for a saved one; with NULL a rank
  /// that finds a peer gone throws the first time.
  void attach(Communicator* comm, const gradstep_sharding_options& options);
  bool is_sharded() const { return sharding_ != nullptr; }
  /// False from a failed exchange or half a step on, until state is loaded or copied in.
  bool state_is_whole() const { return !lost_ && !torn_; }
  /// Throws INVALID_STATE.
  void check_state_is_whole() const;
  const Sharding* sharding() const { return sharding_.get(); }

  void set_schedule(std::int32_t group, const char* name, const Schedule& schedule);
  double get_value(std::int32_t group, const char* name) const;
  const HyperParameters& hyper_parameters() const { return hyper_parameters_; }
  std::int32_t group_count() const { return hyper_parameters_.group_count(); }

  /// On failure nothing is added.
  void add_parameters(const gradstep_parameter* parameters, std::size_t n);

  /// Tells apart whatever ranks that step as one must have in common, but for the hyper-parameters.
  const std::string& rule_text() const { return rule_text_; }
  /// A hash of the schedules, and of the values that callbacks gave at the last refresh.
  std::uint64_t hyper_parameter_digest() { return hyper_parameters_.digest(); }
  /// Collective. Throws MISMATCH, on all ranks alike, that names what differs.
  void compare_hyper_parameters(Communicator& comm, const Deadline& deadline) const;

  const Schema& schema() const { return schema_; }
  const std::shared_ptr<Context>& context() const { return context_; }
  /// t. On devices this waits for all that is queued, and throws NUMERIC for a hyper-parameter that has left its range
  /// there: no step is made since.
  std::int64_t step_count() const { return site_.is_host() ? scalars()->steps : awaited_scalars().steps; }
  void set_step_count(std::int64_t count);
  std::int64_t skipped_steps() const { return read(site_.queue(), &scalars()->skipped); }
  /// What the last step did, waited for. Throws as step_count().
  StepOutcome last_outcome() const;

  std::span<const char* const> state_names() const { return traits_.state_names; }
  /// The buffer of one state. Throws INVALID_ARGUMENT, INVALID_STATE, or UNSUPPORTED where no such buffer exists.
  Array state(std::size_t index, const char* name);
  /// The shape of a state; that of the parameter where the name says nothing else. Valid as long as the optimizer.
  std::span<const std::int64_t> state_shape(std::size_t index, const char* name) const;
  /// Copies a state to or from a tensor of the state's size and any float dtype. To read what is spread over ranks is
  /// collective.
  void get_state(std::size_t index, const char* name, const Array& host);
  void set_state(std::size_t index, const char* name, const Array& host);
  /// Every buffer that exists, in an order that is the same on all ranks; together with flags and counters it is the
  /// whole state.
  std::vector<StoredState> stored_states();
  /// By parameter, 1 = a gradient has gone into its state.
  std::vector<std::uint8_t> state_flags() const { return state_.flags().read(site_); }
  void set_state_flags(std::span<const std::uint8_t> flags);
  std::int64_t other_bytes() const;
  /// Numbers of this rule about its parameters, beside the counters. Valid until the next call.
  std::span<const gradstep_metric> metrics();
  /// Writes the whole of a stored state to memory for its `total` elements, contiguous. Collective if it is spread over
  /// the ranks. Allocates nothing.
  void gather(const StoredState& stored, void* whole) const;
  void gather(const StoredState& stored, void* whole, const Deadline& deadline) const;

  void copy_state(Optimizer& source);
  /// Both counters, after buffers and flags were replaced: the state is whole again.
  void set_counters(std::int64_t steps, std::int64_t skipped);

  /// Throws INVALID_STATE unless a parameter has an average of its weights.
  void check_average(std::size_t index);
  /// Throws UNSUPPORTED if deltas cannot be given out instead of stepping in place.
  void check_gives_updates() const;

  BusyFlag& busy() { return busy_; }
  Site& site() { return site_; }
  const Site& site() const { return site_; }

 protected:
  /// What tells optimizers apart.
  struct Traits {
    std::string kind;
    std::vector<const char*> state_names;  ///< "statistics.{block}.{axis}" stands for all that begin with "statistics."
    Dealing dealing = Dealing::chunks;
    bool flags_at_site = false;  ///< the step that the backend makes writes state_flags()
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

  /// `fields` by group: those behind the last one are like it.
  Optimizer(std::shared_ptr<Context> context, Schema schema, std::span<const GroupFields> fields, Traits traits);

  /// Applies the rule to the buffers of the step if scalars() says so, and closes it; hyper-parameters are fresh.
  virtual void apply(double clip_value) = 0;
  /// For parameters or schedules that are new: checks them and gives state() what they need. Throws with everything as
  /// before.
  virtual void prepare(const Schema& schema, const HyperParameters& hyper_parameters) = 0;
  virtual void on(StateEvent /*event*/) {}
  /// The rank that is to have a matrix of the state under `next`; -1 = all. NULL = all have all.
  using OwnerOf = std::function<std::int32_t(std::size_t parameter, std::size_t slot)>;
  virtual OwnerOf owners(const Sharding* /*next*/) { return nullptr; }
  /// Bytes beside the state.
  virtual std::int64_t scratch_bytes() const = 0;

  /// The part of parameter i whose state is this rank's.
  Slice slice_of(const Schema& schema, std::size_t i) const { return slice_under(sharding_.get(), schema[i], i); }
  StateStore& store() { return state_; }
  const StateStore& store() const { return state_; }
  /// What must be equal on all ranks that share the state.
  void set_rule_text(std::string text) { rule_text_ = std::move(text); }

  // What apply() works on: the buffers of the step, or this rank's slices.
  std::span<const Array> params() const { return has_slices() ? sharding_->staged() : buffers_.params.arrays; }
  std::span<const Array> grads() const { return is_sharded() ? sharding_->gradients().arrays : buffers_.grads.arrays; }
  std::span<const Array> updates() const {
    return has_slices() && !buffers_.updates.empty() ? sharding_->staged() : buffers_.updates.arrays;
  }
  /// False if apply() has seen the same buffers before.
  bool buffers_changed() const { return buffers_changed_; }
  /// When all state is there: a list of the work on more than memory can hold takes minutes.
  void list_work();
  const WorkList& work() const { return is_sharded() ? sharding_->work() : work_; }
  kernels::StepScalars* scalars() const { return scalars_.as<kernels::StepScalars>(); }
  /// The subclass fills in the fields that its rule uses.
  StepPlan& step_plan() { return step_plan_; }
  /// Whether the step is made, and t. On devices this waits if a step since it was last asked for could have been
  /// skipped there.
  bool gate_is_open() const { return clock().gate != 0; }
  std::int64_t t() const { return clock().steps; }
  void write_zero_updates();
  /// In apply(): what was done so far leaves parameters and state as good as they were, if the step fails right here.
  void nothing_has_changed() { loops_before_ = context_->loops_begun(); }

  std::vector<StoredState> pending_;      // state beside the store
  std::vector<gradstep_metric> metrics_;  // of this rule

 private:
  bool has_slices() const { return is_sharded() && !sharding_->is_whole(); }
  Slice slice_under(const Sharding* sharding, const Parameter& parameter, std::size_t i) const {
    const bool is_whole = sharding == nullptr || traits_.dealing == Dealing::whole;
    return is_whole ? Slice{0, parameter.size} : sharding->slice(i);
  }
  /// The slot of a state that exists. Throws INVALID_ARGUMENT or INVALID_STATE.
  std::size_t find_state(std::size_t index, const char* name) const;
  void prepare_move(const Sharding* next, bool keep, const Deadline& deadline);
  void take(const StepBuffers& buffers);
  void take_hyper_parameters();
  Sharding::Agreement agree_on_step(const StepGuards& guards, const GradientExchange& exchange,
                                    const Deadline& deadline);
  /// In a text about what ranks disagree on.
  std::string hyper_parameter_text(std::size_t field) const;
  std::uint64_t digest_of_step(const StepGuards& guards, const GradientExchange& exchange);
  [[noreturn]] void compare_step(const StepGuards& guards, const GradientExchange& exchange, const Deadline& deadline);
  kernels::StepScalars awaited_scalars() const;
  const kernels::StepScalars& clock() const;
  bool is_evaluated_here() const;
  void begin_step(const StepGuards& guards);
  void apply_guarded(double clip_value);
  StepOutcome outcome(const StepGuards& guards) const;
  void tell_skipped(const StepGuards& guards, const StepOutcome& outcome) const;
  void change_state(FunctionRef<void()> body);
  /// The ranks that share the state, as far as is known.
  bool can_be_reached() const;
  void deal_out(const std::shared_ptr<Communicator>& channel, const gradstep_sharding_options& options, bool keep,
                const Deadline& deadline);

  Traits traits_;
  std::string rule_text_;
  std::shared_ptr<Context> context_;
  Site site_;
  Schema schema_;
  StateStore state_;
  HyperParameters hyper_parameters_;
  WorkList work_;
  StepBuffers buffers_;  // of the last step; what they show is valid during a step alone
  Buffer scalars_;       // kernels::StepScalars
  // On devices: gate and counters as they are after all that is queued, as long as the host can tell.
  mutable std::optional<kernels::StepScalars> clock_;
  StepPlan step_plan_;
  std::vector<kernels::HyperParameterForm> forms_;  // of devices, which evaluate schedules themselves
  std::unique_ptr<Sharding> sharding_;
  bool lost_ = false;              // an exchange failed: the ranks' slices no longer belong together
  bool torn_ = false;              // a step was broken off: some parameters and states have made it, others have not
  std::int64_t loops_before_ = 0;  // of the context, when the step began to change something
  BusyFlag busy_;
  bool buffers_changed_ = true;
  std::uint64_t stepped_gradients_ = 0;  // version of the slices that apply() has seen
  bool refreshed_ = false;               // hyper-parameters are those of the next step
};

}  // namespace gradstep
