// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The machinery that all optimizers share: the schema and its checks, hyper-parameters, guards of a step (clipping,
// skipping), counters. A concrete optimizer owns its state and applies its rule.
#pragma once

#include <cstdint>
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

/// One tensor of the state in the form that it is kept in: this rank's part of it.
struct StoredState {
  std::size_t parameter = 0;
  std::string name;         ///< "exp_avg"; block-wise codes keep their factors beside, as "exp_avg.scales"
  Array array;              ///< contiguous; elements [begin, begin + size) of the whole tensor
  std::int64_t begin = 0;   ///< 0 and all of them, unless the optimizer is sharded
  std::int64_t total = 0;   ///< elements of the whole: those of the parameter, or one per 256 of them for factors
  bool is_blocked = false;  ///< the latter
  /// >= 0: the one rank that has it, whole; the others have nothing of it.
  std::int32_t owner = -1;
  /// The shape of the whole state; empty = the parameter's shape, or the length of the list of factors.
  std::vector<std::int64_t> shape = {};  // NOLINT(readability-redundant-member-init): lists may leave it out
  /// How 8-bit codes are read. Their factors are the stored state after this one.
  enum class Code : std::uint8_t { none, of_magnitudes, with_signs } code = Code::none;
};

/// Up to here t is exact as a double, which is what schedules and bias corrections compute with.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

class Optimizer {
 public:
  Optimizer(std::shared_ptr<Context> context, Schema schema, std::span<const rules::Field> fields,
            std::span<const double> values);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  virtual const char* kind() const = 0;

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
  std::vector<const char*> hyper_parameter_names() const { return hyper_parameters_.names(); }
  std::int32_t group_count() const { return hyper_parameters_.group_count(); }

  /// On failure nothing is added.
  void add_parameters(const gradstep_parameter* parameters, std::size_t n);

  /// Tells apart whatever ranks that step as one must have in common, but for the hyper-parameters.
  std::string rule_text() const { return sharding_key(); }
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

  virtual std::span<const char* const> state_names() const = 0;
  /// The buffer of one state, shaped as the parameter. Throws INVALID_ARGUMENT, INVALID_STATE, or UNSUPPORTED where no
  /// such buffer exists.
  virtual Array state(std::size_t index, const char* name) = 0;
  /// The shape of a state; that of the parameter where the name says nothing else. Valid as long as the optimizer.
  virtual std::span<const std::int64_t> state_shape(std::size_t index, const char* /*name*/) const {
    return schema_[index].shape;
  }
  /// Copies a state to or from a tensor of the state's size and any float dtype.
  virtual void get_state(std::size_t index, const char* name, const Array& host) = 0;
  virtual void set_state(std::size_t index, const char* name, const Array& host) = 0;
  /// Every buffer that exists, in an order that is the same on all ranks; together with flags and counters it is the
  /// whole state.
  virtual std::vector<StoredState> stored_states() = 0;
  /// By parameter, 1 = a gradient has gone into its state.
  virtual std::vector<std::uint8_t> state_flags() const = 0;
  virtual void set_state_flags(std::span<const std::uint8_t> flags) = 0;
  virtual std::int64_t other_bytes() const;
  /// Numbers of this rule about its parameters, beside the counters.
  virtual void append_metrics(std::vector<gradstep_metric>& /*metrics*/) {}
  /// Writes the whole of a stored state to memory for its `total` elements, contiguous. Collective if it is spread over
  /// the ranks. Allocates nothing.
  void gather(const StoredState& stored, void* whole) const;
  void gather(const StoredState& stored, void* whole, const Deadline& deadline) const;

  void copy_state(Optimizer& source);
  /// Both counters, after buffers and flags were replaced: the state is whole again.
  void set_counters(std::int64_t steps, std::int64_t skipped);

  /// Throws UNSUPPORTED if deltas cannot be given out instead of stepping in place.
  virtual void check_gives_updates() const {}

  BusyFlag& busy() { return busy_; }
  Site& site() { return site_; }
  const Site& site() const { return site_; }

 protected:
  /// Applies the rule to the buffers of the step if scalars() says so, and closes it; hyper-parameters are fresh.
  virtual void apply(double clip_value) = 0;
  /// Throws if the rule cannot take this change of schedules; called before it is made.
  virtual void check_schedules(std::span<const Schedule> schedules) const = 0;
  /// Schedules or parameters changed: allocate buffers that have become necessary. Must either succeed or throw with
  /// everything as before.
  virtual void prepare(const Schema& schema, const HyperParameters& hyper_parameters) = 0;
  /// The part of parameter i whose state is this rank's.
  Slice slice_of(const Schema& schema, std::size_t i) const {
    return sharding_ != nullptr ? sharding_->slice(i) : Slice{0, schema[i].size};
  }
  /// Makes the state that this rank has under another sharding (NULL = none), aside. `keep` = with its present values,
  /// which is collective if it is sharded now; else as at creation. A rank that fails must not leave the others in an
  /// exchange: what can fail on one of them (memory) comes first and is agreed on. `deadline` is that of the call.
  virtual void prepare_slices(const Sharding* next, bool keep, const Deadline& deadline) = 0;
  virtual void commit_slices() noexcept = 0;
  /// Drops what was prepared.
  virtual void discard_slices() noexcept {}
  virtual Dealing dealing() const { return Dealing::chunks; }
  /// What must be equal on all ranks that share the state.
  virtual std::string sharding_key() const { return kind(); }
  /// The buffers of stored_states() and the counters were replaced from outside.
  virtual void state_replaced() {}
  /// The step count is about to be set from outside: what waits for a later step happens now.
  virtual void finish_pending() {}

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
  const HyperParameters& hyper_parameters() const { return hyper_parameters_; }
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

 private:
  bool has_slices() const { return is_sharded() && !sharding_->is_whole(); }
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

  std::shared_ptr<Context> context_;
  Site site_;
  Schema schema_;
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
