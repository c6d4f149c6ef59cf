// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The machinery that all optimizers share: a step under its guards (clipping, skipping), alone or by several ranks, and
// what hosts change between steps. A concrete optimizer applies its rule.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/busy_flag.h"
#include "gradstep/optimizer.h"
#include "gradstep/sharding.h"
#include "optim/step_numbers.h"
#include "optim/stepped_model.h"
#include "optim/wholeness.h"

namespace gradstep {

/// Up to here t is exact as a double, which is what schedules and bias corrections compute with.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

class Optimizer : public SteppedModel {
 public:
  /// Evaluates the hyper-parameters of the next step, which then does not do it again: what could fail in a host's
  /// callback fails here.
  void refresh() { step_numbers_.refresh(); }
  /// Steps the buffers, which were checked against the schema. On an exception before the rule is applied nothing has
  /// changed. Collective if sharded.
  StepOutcome step(const StepBuffers& buffers, const StepGuards& guards);
  /// The step of a sharded optimizer, with gradients that are not what attach said.
  StepOutcome step_sharded(const StepBuffers& buffers, const StepGuards& guards, const GradientExchange& exchange);

  /// Collective. Deals the state out over the ranks of `comm`, or gathers it with NULL. A failure on one rank is one on
  /// all, and nothing has changed. NULL on an optimizer that is not sharded does nothing. Where a part of the state is
  /// gone on one of the ranks, it is lost on all of them, and what is dealt out waits for a saved one; with NULL a rank
  /// that finds a peer gone throws the first time. With `groups` (Dealing) steps get their gradients in slices: by
  /// step_sharded() alone.
  /// With `in_parts` the ranks of `comm` have parts of the parameters (parts.h), and no state moves: each steps what it
  /// has, or owns (part_owners.h), and what a rule needs to know of the whole they find together.
  void attach(Communicator* comm, const gradstep_sharding_options& options,
              const std::vector<std::vector<std::size_t>>& groups = {}, bool in_parts = false);
  /// Collective over `comm`, a channel of their own. Deals the state out over its ranks from what they have, or, as
  /// `handover` says, from what the ranks that share it now have, of which those that leave attach NULL. Nothing has
  /// changed until take_over(). Throws INVALID_STATE on all ranks where a part of the state is gone.
  std::unique_ptr<Sharding> prepare_handover(const std::shared_ptr<Communicator>& comm,
                                             const gradstep_sharding_options& options,
                                             const std::vector<std::vector<std::size_t>>& groups,
                                             const Handover& handover, const Deadline& deadline);
  /// What was prepared; set_counters() belongs after it.
  void take_over(std::unique_ptr<Sharding> next) { commit_move(std::move(next)); }
  void drop_handover() { store().discard_move(); }
  /// What attach() with `groups` gives the ranks. Throws UNSUPPORTED where every rank steps the whole model.
  DealtSlices slices_of(const std::vector<std::vector<std::size_t>>& groups, std::int32_t ranks) const;
  /// Whether the state is as good as step_count() says.
  const Wholeness& wholeness() const { return wholeness_; }
  /// Nothing is known to keep the ranks that share the state from an exchange.
  bool can_reach_peers() const { return wholeness_.holds() && can_be_reached(); }
  /// Throws INVALID_STATE.
  void check_state_is_whole() const { wholeness_.check(can_be_reached()); }

  void set_schedule(std::int32_t group, const char* name, const Schedule& schedule);
  double get_value(std::int32_t group, const char* name) const;
  /// The average that a parameter's rule has by itself; no state = none.
  const OwnAverage& own_average(std::size_t parameter) const;
  /// Its share at the hyper-parameters of the next step.
  double average_share(std::size_t parameter) const;
  const HyperParameters& hyper_parameters() const { return step_numbers_.hyper_parameters(); }

  /// On failure nothing is added.
  void add_parameters(const gradstep_parameter* parameters, std::size_t n);

  /// Tells apart whatever ranks that step as one must have in common, but for the hyper-parameters.
  const std::string& rule_text() const { return rule_text_; }

  // Counters and outcome of the steps, as StepClock has them.
  std::int64_t step_count() const { return step_numbers_.clock().steps(); }
  std::int64_t skipped_steps() const { return step_numbers_.clock().skipped(); }
  StepOutcome last_outcome() const { return step_numbers_.clock().last_outcome(); }
  void set_step_count(std::int64_t count);
  /// Both counters, after buffers and flags were replaced: the state is whole again.
  void set_counters(std::int64_t steps, std::int64_t skipped);
  void copy_state(Optimizer& source);

  /// Numbers of this rule about its parameters, beside the counters. Valid until the next call.
  std::span<const gradstep_metric> metrics();
  /// Beside the state.
  std::int64_t other_bytes() const {
    return own_bytes() + scratch_bytes() + static_cast<std::int64_t>(step_numbers_.bytes());
  }

  BusyFlag& busy() { return busy_; }

 protected:
  /// `fields` by group: those behind the last one are like it.
  Optimizer(std::shared_ptr<Context> context, Schema schema, std::span<const GroupFields> fields, Traits traits);

  /// Applies the rule to the buffers of the step if scalars() says so, and closes it; hyper-parameters are fresh.
  virtual void apply(double clip_value) = 0;
  /// For parameters or schedules that are new: checks them and gives store() what they need. Throws with everything as
  /// before. Parameters before `first` are as they were, and so are the groups that there were, unless it is 0.
  virtual void prepare(const Schema& schema, const HyperParameters& hyper_parameters, std::size_t first) = 0;
  /// Bytes beside the state.
  virtual std::int64_t scratch_bytes() const = 0;

  /// What must be equal on all ranks that share the state.
  void set_rule_text(std::string text) { rule_text_ = std::move(text); }
  /// By group.
  void set_own_averages(std::vector<OwnAverage> averages) { own_averages_ = std::move(averages); }
  kernels::StepScalars* scalars() const { return step_numbers_.clock().scalars(); }
  /// The subclass fills in the fields that its rule uses.
  StepPlan& step_plan() { return step_numbers_.plan(); }
  bool gate_is_open() const { return step_numbers_.clock().gate_is_open(); }
  std::int64_t t() const { return step_numbers_.clock().t(); }
  /// In apply(): what was done so far leaves parameters and state as good as they were, if the step fails right here.
  void nothing_has_changed() { wholeness_.nothing_has_changed(); }

  std::vector<gradstep_metric> metrics_;  // of this rank

 private:
  Sharding::Agreement agree_on_step(const StepGuards& guards, const GradientExchange& exchange,
                                    const Deadline& deadline);
  void apply_guarded(double clip_value);
  StepOutcome outcome(const StepGuards& guards);
  /// The ranks that share the state, as far as is known.
  bool can_be_reached() const { return !is_sharded() || sharding_->comm().status().code == GRADSTEP_OK; }
  void deal_out_state(const std::shared_ptr<Communicator>& channel, const gradstep_sharding_options& options,
                      const Dealing& dealing, bool keep, const Deadline& deadline);
  std::unique_ptr<Sharding> prepare_to_deal(const std::shared_ptr<Communicator>& channel,
                                            const gradstep_sharding_options& options, const Dealing& dealing, bool keep,
                                            const Deadline& deadline, const Handover* handover = nullptr);

  std::string rule_text_;
  std::vector<OwnAverage> own_averages_;  // by group; empty = none
  StepNumbers step_numbers_;
  Wholeness wholeness_;
  BusyFlag busy_;
};

}  // namespace gradstep
