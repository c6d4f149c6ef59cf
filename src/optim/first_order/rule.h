// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rule of src/rules with the options of one optimizer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/schedule.h"
#include "backend/step.h"
#include "core/schema.h"
#include "optim/first_order/state_storage.h"
#include "optim/hyper_parameters.h"
#include "rules/kernels.h"
#include "rules/text/program.h"

namespace gradstep {

/// What the elements of a gradient are clipped together with (Brock et al. 2021); in one axis, with all of them.
enum class ClipUnits : std::int32_t {
  rows,     ///< all but the first axis: the weights of an output
  columns,  ///< the first of two or three axes; all but the last of more: optax
  second,   ///< the second of two or three axes; all but the first of more: pytorch_optimizer
};

struct UnitClip {
  double ratio = 0;       ///< gradients are at most this times as long as their parameters; 0 = off
  double epsilon = 1e-3;  ///< parameters count as this long at least
  ClipUnits units = ClipUnits::rows;
};

/// What a host chooses at the creation of an optimizer. Hyper-parameters, settings and choices are in the order of the
/// rule's description.
struct RuleOptions {
  std::array<double, rules::kMaxFields> fields{};
  std::array<double, rules::kMaxSettings> settings{};
  std::array<std::int32_t, rules::kMaxChoices> choices{};
  bool maximize = false;
  bool counts_each = false;  ///< t of a parameter: the steps that it took part in
  bool trust_ratio = false;
  CautiousUpdate cautious_update = CautiousUpdate::off;
  bool cautious_decay = false;  ///< no decay where it opposes the change
  rules::DecayMode decay_mode = rules::DecayMode::of_rule;
  UnitClip unit_clip;
  bool center_gradients = false;
  double peak_learning_rate = 0;  ///< of decay modes that divide by it
  kernels::AverageForm average;
  StateStorage storage;
};

/// A state that is not cut into slices.
struct WholeState {
  static constexpr std::size_t kMost = 3;  ///< of a parameter

  std::size_t place = 0;  ///< below kMost
  const char* name = nullptr;
  std::vector<std::int64_t> shape;
  bool is_random = false;  ///< begins with random numbers; others with zeros
};

/// A rule, for code that does not know which. Rules that are written as text have a program in place of functions.
struct RuleType {
  std::int32_t place = 0;  ///< in the list; -1 = a program
  const rules::Description& about;
  std::size_t weight_decay = 0;                   ///< place of the hyper-parameter
  const rules::text::Program* program = nullptr;  ///< outlives all rules
  int (*variant)(const rules::Setup& setup) = nullptr;
  std::uint32_t (*states)(int variant) = nullptr;
  rules::Decay (*decay)(const std::int32_t* choices) = nullptr;
  double (*largest_gradient)(const rules::Setup& setup, double largest) = nullptr;
  // Present in rules of matrices, whose changes are orthogonalized, or projected.
  double (*step_scale)(const std::int32_t* choices, const double* settings, double rows, double columns) = nullptr;
  rules::NewtonSchulz (*orthogonalization)(const std::int32_t* choices, const double* settings) = nullptr;
  rules::Variance (*variance)(const std::int32_t* choices, const double* settings) = nullptr;
  rules::Projection (*projection)(const std::int32_t* choices, const double* settings) = nullptr;
  std::int64_t (*rank_of)(const double* settings, std::int64_t rows, std::int64_t columns) = nullptr;
  // Present in rules whose changes follow from second moments in factors.
  rules::Factoring (*factoring)(const std::int32_t* choices, const double* settings) = nullptr;
  rules::FactoredAxes (*axes)(const std::int32_t* choices, const double* settings,
                              std::span<const std::int64_t> shape) = nullptr;
  std::size_t momentum = 0;  ///< place of the hyper-parameter
  /// Whether each parameter has constants of its own, which follow from sums over tensors or from numbers that are
  /// kept.
  bool settles = false;
  int sums = 0;
  rules::Scope scope = rules::Scope::tensor;
  /// Present in rules that have an average of the weights: the share of the state `averaged` in it, beside that of the
  /// parameter. `values` are the hyper-parameters.
  double (*average_share)(const std::int32_t* choices, const double* values) = nullptr;
  std::size_t averaged = 0;
};

/// What is done to the change of a whole tensor before it is added.
struct FinishOptions {
  ChangeScale scale = ChangeScale::none;
  CautiousUpdate cautious = CautiousUpdate::off;
  bool decays = false;          ///< the weight decay is subtracted then
  bool decays_aligned = false;  ///< where it does not oppose the change

  bool are_needed() const { return scale != ChangeScale::none || cautious != CautiousUpdate::off || decays; }
};

/// The rules of the list, in its order.
std::span<const RuleType> rule_types();

/// The rule of a program, which stays.
RuleType program_rule(const rules::text::Program& program);

template <class Rule>
const RuleType& rule_type() {
  return rule_types()[static_cast<std::size_t>(rules::place_of<Rule>(rules::AllRules{}))];
}

/// The schedules of a group decide which kernel and which states it needs.
class Rule {
 public:
  /// Throws INVALID_ARGUMENT for a setting or a choice that is out of its range. HyperParameters checks the fields.
  Rule(const RuleType& type, const RuleOptions& options);

  const RuleType& type() const { return *type_; }
  /// In the API and in files.
  const char* name() const { return type_->about.name; }
  /// NULL = the rule is one of the list.
  const rules::text::Program* program() const { return type_->program; }
  std::span<const rules::Field> fields() const { return type_->about.fields; }
  /// The constants of the options, by field.
  std::span<const double> values() const { return {options_.fields.data(), fields().size()}; }
  std::span<const char* const> state_names() const { return state_names_; }
  const StateStorage& storage() const { return options_.storage; }
  bool maximize() const { return options_.maximize; }
  bool counts_each() const { return options_.counts_each; }
  /// Whether parameters are matrices, whose changes are orthogonalized, or projected.
  bool is_of_matrices() const { return type_->step_scale != nullptr; }
  bool is_orthogonalized() const { return type_->orthogonalization != nullptr; }
  rules::NewtonSchulz orthogonalization() const;
  double step_scale(std::int64_t rows, std::int64_t columns) const;
  bool is_projected() const { return type_->projection != nullptr; }
  rules::Projection projection() const;
  std::int64_t rank_of(std::int64_t rows, std::int64_t columns) const;
  bool is_factored() const { return type_->factoring != nullptr; }
  rules::Factoring factoring() const;
  rules::FactoredAxes axes(const Parameter& parameter) const;
  /// States of a tensor as a whole, which one rank has.
  std::vector<WholeState> whole_states(const Parameter& parameter, std::span<const Schedule> schedules) const;
  /// The names of all that there may be.
  std::vector<const char*> whole_state_names() const;
  /// What orthogonalized matrices are divided by.
  rules::Variance variance() const;
  /// Bit s: sum s is taken over all parameters that the rule steps.
  std::uint32_t shared_sums() const {
    if (program() != nullptr) return program()->code().shared_sums();
    return type_->scope == rules::Scope::rule ? (1U << type_->sums) - 1 : 0;
  }
  std::span<const rules::Number> numbers() const { return type_->about.numbers; }
  double first_number(std::size_t number) const;
  bool has_average() const { return type_->average_share != nullptr; }
  double average_share(const double* values) const { return type_->average_share(options_.choices.data(), values); }
  const UnitClip& unit_clip() const { return options_.unit_clip; }
  bool centers_gradients() const { return options_.center_gradients; }
  FinishOptions finish(std::span<const Schedule> schedules) const;
  const kernels::AverageForm& average() const { return options_.average; }
  const rules::State& state(std::size_t state) const { return type_->about.states[state]; }
  double initial_value(std::size_t state) const;

  /// Throws INVALID_ARGUMENT where a flag needs other values of hyper-parameters. Called at creation and before a
  /// schedule changes.
  void check(std::span<const Schedule> schedules) const;
  /// Bit s: state s exists for the parameters of such a group.
  std::uint32_t states(std::span<const Schedule> schedules) const;
  rules::KernelId kernel(std::span<const Schedule> schedules) const;
  /// The largest element of a gradient with which the states stay within `largest`. A hyper-parameter that changes with
  /// the steps counts as the value that allows least.
  double largest_gradient(std::span<const Schedule> schedules, double largest) const;

  /// How constants follow from hyper-parameters.
  rules::RuleForm form() const;
  /// Equal on two ranks whose rules step alike, given the same kernels and schedules.
  std::string key() const;

 private:
  void check_own_average(rules::Decay decay) const;
  /// Returns the kind of decay that the options ask for.
  rules::Decay check_decay() const;
  void check_requirements(std::size_t flag, std::span<const Schedule> schedules) const;
  /// Whether a decay that is subtracted waits for the change of the whole tensor.
  bool decays_later() const;
  /// The kind of weight decay that a group needs.
  rules::Decay decay(std::span<const Schedule> schedules) const;

  double initial_of(int setting) const {
    return setting == rules::State::kNone ? 0 : options_.settings[static_cast<std::size_t>(setting)];
  }

  const RuleType* type_;
  RuleOptions options_;
  std::vector<const char*> state_names_;
};

/// The rules of an optimizer: one for all groups, or one for each group.
class RulesByGroup {
 public:
  explicit RulesByGroup(std::vector<Rule> rules);

  const Rule& of(std::int32_t group) const {
    return rules_.size() == 1 ? rules_.front() : rules_[static_cast<std::size_t>(group)];
  }
  /// Throws INVALID_ARGUMENT for a parameter whose group has no rule; those before `first` have one.
  void check(const Schema& schema, std::size_t first) const;

  /// "adam"; of several, "lion+adam".
  std::string name() const;
  std::vector<GroupFields> fields() const;
  /// The names of all rules, each once.
  std::vector<const char*> state_names() const;
  /// Names of states of tensors as a whole, and of the numbers that are kept, each once.
  std::vector<const char*> whole_state_names() const;
  std::vector<const char*> number_names() const;
  bool settles() const {
    return any([](const Rule& rule) { return rule.type().settles; });
  }
  /// The texts of those that are written as text, each once; empty = there are none.
  std::string texts() const;
  /// Equal on two ranks whose rules step alike, given the same kernels and schedules.
  std::string key() const;
  template <class Test>
  bool any(Test test) const {
    return std::ranges::any_of(rules_, test);
  }

  // Equal in all.
  bool maximize() const { return rules_.front().maximize(); }
  bool counts_each() const { return rules_.front().counts_each(); }

 private:
  std::vector<Rule> rules_;
};

}  // namespace gradstep
