// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"
#include "kernels/elementary.h"
#include "optim/weight_averages.h"

namespace gradstep {

namespace {

template <class Rule>
constexpr RuleType type_of(std::int32_t place) {
  static_assert(std::size(Rule::kFields) <= rules::kMaxFields && std::size(Rule::kStates) <= rules::kMaxStates);
  static_assert(Rule::kAbout.settings.size() <= rules::kMaxSettings);
  static_assert(Rule::kAbout.choices.size() <= rules::kMaxChoices);
  static_assert(Rule::kAbout.numbers.size() <= rules::kMaxNumbers && rules::sums_of<Rule>() <= rules::kMaxSums);
  static_assert(std::ranges::is_sorted(Rule::kStates, {}, [](const rules::State& s) { return s.listed_with >= 0; }),
                "states that a flag names come last");
  static_assert((Rule::kAbout.text != nullptr) != (Rule::kAbout.no_text != nullptr),
                "a rule has a text, or says why it has none");
  RuleType type{.place = place,
                .about = Rule::kAbout,
                .weight_decay = Rule::weight_decay,
                .variant = &Rule::variant,
                .states = &Rule::states,
                .decay = &Rule::decay,
                .largest_gradient = &Rule::largest_gradient};
  if constexpr (requires { &Rule::step_scale; }) type.step_scale = &Rule::step_scale;
  if constexpr (requires { &Rule::orthogonalization; }) {
    type.orthogonalization = &Rule::orthogonalization;
    type.variance = &Rule::variance;
  }
  if constexpr (requires { &Rule::projection; }) {
    type.projection = &Rule::projection;
    type.rank_of = &Rule::rank_of;
  }
  if constexpr (requires { &Rule::factoring; }) {
    type.factoring = &Rule::factoring;
    type.axes = &Rule::axes;
    type.momentum = Rule::momentum;
  }
  type.settles = rules::settles<Rule>();
  type.sums = rules::sums_of<Rule>();
  if constexpr (requires { Rule::kScope; }) type.scope = Rule::kScope;
  if constexpr (requires { &Rule::average_share; }) {
    type.average_share = &Rule::average_share;
    type.averaged = Rule::kAveraged;
  }
  return type;
}

template <class... Rules>
std::span<const RuleType> types_of(rules::RuleList<Rules...> list) {
  static const RuleType types[] = {type_of<Rules>(rules::place_of<Rules>(list))...};
  return types;
}

/// The kind of decay that a rule has by itself.
rules::Decay own_decay(const RuleType& type, const RuleOptions& options) {
  return type.program != nullptr ? rules::Decay::decoupled : type.decay(options.choices.data());
}

/// The schedules of a group as its rule sees them.
class GroupSetup {
 public:
  GroupSetup(const RuleOptions& options, std::span<const Schedule> schedules) : choices_(options.choices.data()) {
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      const Schedule& schedule = schedules[i];
      const double constant = schedule.is_constant() ? schedule.value(0) : std::numeric_limits<double>::quiet_NaN();
      values_[i] = {constant, schedule.is_absent()};
    }
  }

  operator rules::Setup() const { return {choices_, values_.data()}; }

 private:
  const std::int32_t* choices_;
  std::array<rules::Setup::Value, rules::kMaxFields> values_{};
};

constexpr const char* kVariance = "variance";
constexpr const char* kRowVariance = "row_variance";
constexpr const char* kColumnVariance = "column_variance";
constexpr const char* kMomentum = "momentum";
constexpr const char* kFactors = "Q";

void append_new(const char* name, std::vector<const char*>& names) {
  if (std::ranges::find(names, std::string_view(name)) == names.end()) names.push_back(name);
}

/// "0 (dampen) or 1 (copy)"
std::string listed(std::span<const char* const> values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? " or " : ", ";
    text += fmt::format("{} ({})", i, values[i]);
  }
  return text;
}

}  // namespace

RuleType program_rule(const rules::text::Program& program) {
  const int sums = program.code().sum_count;
  return {.place = -1,
          .about = program.about(),
          .weight_decay = program.weight_decay(),
          .program = &program,
          .settles = sums > 0,
          .sums = sums};
}

std::span<const RuleType> rule_types() { return types_of(rules::AllRules{}); }

Rule::Rule(const RuleType& type, const RuleOptions& options) : type_(&type), options_(options) {
  const rules::Description& about = type.about;
  for (std::size_t i = 0; i < about.choices.size(); ++i) {
    const rules::Choice& choice = about.choices[i];
    const std::int32_t value = options.choices[i];
    if (choice.values.empty() || (value >= 0 && static_cast<std::size_t>(value) < choice.values.size())) continue;
    fail_argument("options.{}: is {}, expected {}", choice.name, value, listed(choice.values));
  }
  for (std::size_t i = 0; i < about.settings.size(); ++i) {
    const rules::Field& setting = about.settings[i];
    if (setting.range.holds(options.settings[i])) continue;
    fail_out_of_range(setting.range, options.settings[i], GRADSTEP_ERR_INVALID_ARGUMENT,
                      fmt::format("options.{}", setting.name));
  }
  const bool divides =
      options.decay_mode == rules::DecayMode::relative || options.decay_mode == rules::DecayMode::corrected;
  if (divides && !(options.peak_learning_rate > 0)) {
    fail_argument("options.peak_learning_rate: is {}, expected above 0, for decay_mode divides by it",
                  options.peak_learning_rate);
  }
  check_average(options.average);
  options_.trust_ratio = options.trust_ratio || about.trust_ratio;
  if (options_.trust_ratio && is_of_matrices()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.trust_ratio: {} has a scale of its own, {}", about.name,
         is_orthogonalized() ? "step_scale" : "sqrt(rows / columns)");
  }
  if (options_.trust_ratio && is_factored()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.trust_ratio: {} has a scale of its own, scales_by_parameter", about.name);
  }
  if (options_.trust_ratio && options.cautious_decay) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.cautious_decay: with a trust ratio the decay is part of the change");
  }
  const rules::Decay decay = check_decay();
  if (has_average()) check_own_average(decay);
  if (options.counts_each && type.scope == rules::Scope::rule) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.step_counting: all parameters of {} share one number, and so one t",
         about.name);
  }
  for (const rules::State& state : about.states) {
    const bool is_known =
        state.listed_with == rules::State::kNone || options.choices[static_cast<std::size_t>(state.listed_with)] != 0;
    if (is_known) state_names_.push_back(state.name);
  }
}

/// Its formula averages the parameter as it leaves it: nothing else may move it.
void Rule::check_own_average(rules::Decay decay) const {
  if (options_.average.exists()) {
    fail_argument("options.average_decay, average_equal: {} has an average of its own", name());
  }
  const auto refuse = [&](bool is_asked_for, const char* option) {
    if (!is_asked_for) return;
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.{}: {} has an average of its own, which would not follow", option, name());
  };
  refuse(options_.trust_ratio, "trust_ratio");
  refuse(options_.cautious_update != CautiousUpdate::off, "cautious_update");
  refuse(decay == rules::Decay::decoupled, "decay_mode");
}

rules::Decay Rule::check_decay() const {
  const rules::Decay decay = rules::decay_of(options_.decay_mode, own_decay(*type_, options_));
  if (options_.cautious_decay && decay == rules::Decay::coupled) {
    fail_argument("options.cautious_decay: needs a decay that is subtracted from p, found one that joins the gradient");
  }
  if (options_.cautious_decay && decay == rules::Decay::none && program() == nullptr) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "options.cautious_decay: {} has its decay in its formula, decay_mode may change that", name());
  }
  if (program() == nullptr || program()->weight_decay() != rules::text::Program::kNone) return decay;
  const bool has_mode = options_.decay_mode != rules::DecayMode::of_rule;
  if (has_mode || options_.cautious_decay) {
    fail_argument("options.{}: the text of {} has a weight_decay of its own, expected none",
                  has_mode ? "decay_mode" : "cautious_decay", name());
  }
  return decay;
}

double Rule::initial_value(std::size_t state) const { return initial_of(type_->about.states[state].initial); }

double Rule::first_number(std::size_t number) const { return initial_of(numbers()[number].initial); }

void Rule::check(std::span<const Schedule> schedules) const {
  for (std::size_t flag = 0; flag < type_->about.choices.size(); ++flag) {
    if (options_.choices[flag] != 0) check_requirements(flag, schedules);
  }
}

/// The text says all that the flag needs and all that was found.
void Rule::check_requirements(std::size_t flag, std::span<const Schedule> schedules) const {
  std::vector<std::string> needed;
  std::vector<std::string> found;
  bool are_met = true;
  for (const rules::Requirement& requirement : type_->about.requirements) {
    if (requirement.flag != flag) continue;
    const double value = schedules[requirement.field].value(0);
    const char* name = fields()[requirement.field].name;
    are_met = are_met && (requirement.positive ? value > 0 : value == 0);
    needed.push_back(fmt::format("{} {}", name, requirement.positive ? "above 0" : "0"));
    found.push_back(fmt::format("{} {}", name, value));
  }
  if (are_met) return;
  const auto text = [](const std::string& each) { return each; };
  fail_argument("{}: needs {}, found {}", type_->about.choices[flag].name, join(needed, " and ", text),
                join(found, " and ", text));
}

std::uint32_t Rule::states(std::span<const Schedule> schedules) const {
  if (program() != nullptr) return (1U << program()->code().state_count) - 1;
  return type_->states(type_->variant(GroupSetup(options_, schedules)));
}

rules::Decay Rule::decay(std::span<const Schedule> schedules) const {
  if (type_->weight_decay >= schedules.size() || schedules[type_->weight_decay].is_absent()) return rules::Decay::none;
  return rules::decay_of(options_.decay_mode, own_decay(*type_, options_));
}

/// A decay that is subtracted is no part of what is orthogonalized or masked; a trust ratio is of both together.
bool Rule::decays_later() const {
  const bool waits =
      is_of_matrices() || is_factored() || options_.cautious_update != CautiousUpdate::off || options_.cautious_decay;
  return waits && !options_.trust_ratio;
}

FinishOptions Rule::finish(std::span<const Schedule> schedules) const {
  FinishOptions finish;
  if (is_of_matrices()) finish.scale = ChangeScale::step;
  if (is_factored()) finish.scale = ChangeScale::factored;
  if (options_.trust_ratio) finish.scale = ChangeScale::trust_ratio;
  finish.cautious = options_.cautious_update;
  finish.decays = decays_later() && decay(schedules) == rules::Decay::decoupled;
  finish.decays_aligned = finish.decays && options_.cautious_decay;
  return finish;
}

rules::NewtonSchulz Rule::orthogonalization() const {
  return type_->orthogonalization(options_.choices.data(), options_.settings.data());
}

rules::Variance Rule::variance() const {
  if (!is_orthogonalized()) return {};
  return type_->variance(options_.choices.data(), options_.settings.data());
}

rules::Projection Rule::projection() const {
  return type_->projection(options_.choices.data(), options_.settings.data());
}

std::int64_t Rule::rank_of(std::int64_t rows, std::int64_t columns) const {
  return type_->rank_of(options_.settings.data(), rows, columns);
}

rules::Factoring Rule::factoring() const { return type_->factoring(options_.choices.data(), options_.settings.data()); }

rules::FactoredAxes Rule::axes(const Parameter& parameter) const {
  return type_->axes(options_.choices.data(), options_.settings.data(), parameter.whole_shape());
}

std::vector<WholeState> Rule::whole_states(const Parameter& parameter, std::span<const Schedule> schedules) const {
  std::vector<WholeState> states;
  const std::span<const std::int64_t> shape = parameter.whole_shape();
  const std::int64_t size = parameter.whole_size();
  if (size == 0) return states;
  const std::vector<std::int64_t> of_elements(shape.begin(), shape.end());
  if (variance().of != rules::VarianceOf::none) {
    const std::int64_t rows = shape.front();
    const bool is_of_elements = variance().of == rules::VarianceOf::elements;
    states.push_back({0, kVariance, is_of_elements ? of_elements : std::vector{variance().count(rows, size / rows)}});
  }
  if (is_projected()) {
    const std::int64_t rows = shape.front();
    const std::int64_t columns = size / rows;
    const std::int64_t length = projection().is_transposed(rows, columns) ? rows : columns;
    states.push_back({0, kMomentum, of_elements});
    states.push_back({1, kFactors, {rank_of(rows, columns), length}, /*is_random=*/true});
  }
  if (is_factored()) {
    const rules::FactoredAxes axes = this->axes(parameter);
    if (axes.are_factored) {
      states.push_back({0, kRowVariance, {axes.row_count()}});
      states.push_back({1, kColumnVariance, {axes.column_count()}});
    } else {
      states.push_back({0, kVariance, of_elements});
    }
    if (!schedules[type_->momentum].is_absent()) states.push_back({2, kMomentum, of_elements});
  }
  return states;
}

std::vector<const char*> Rule::whole_state_names() const {
  if (is_orthogonalized() && variance().of == rules::VarianceOf::none) return {};
  return {type_->about.whole_names.begin(), type_->about.whole_names.end()};
}

double Rule::step_scale(std::int64_t rows, std::int64_t columns) const {
  return type_->step_scale(options_.choices.data(), options_.settings.data(), static_cast<double>(rows),
                           static_cast<double>(columns));
}

rules::KernelId Rule::kernel(std::span<const Schedule> schedules) const {
  if (program() != nullptr) return rules::KernelId{-1};
  return rules::kernel_id(type_->place, type_->variant(GroupSetup(options_, schedules)),
                          finish(schedules).decays ? rules::Decay::none : decay(schedules));
}

double Rule::largest_gradient(std::span<const Schedule> schedules, double largest) const {
  if (program() != nullptr) {
    const double growth = program()->growth();
    return growth > 1 ? kernels::power_of_any(largest, 1 / growth) : largest;
  }
  return type_->largest_gradient(GroupSetup(options_, schedules), largest);
}

rules::RuleForm Rule::form() const {
  rules::RuleForm form;
  form.rule = type_->place;
  for (std::size_t i = 0; i < options_.choices.size(); ++i) form.choices[i] = options_.choices[i];
  for (std::size_t i = 0; i < options_.settings.size(); ++i) form.settings[i] = options_.settings[i];
  form.decays_later = decays_later() ? 1 : 0;
  form.decay_mode = options_.decay_mode;
  form.peak_learning_rate = options_.peak_learning_rate;
  return form;
}

std::string Rule::key() const {
  const StateStorage& storage = options_.storage;
  std::string key = fmt::format("{} {} {} {} {} {}", name(), static_cast<int>(storage.format), storage.master_weights,
                                storage.stochastic_rounding, storage.seed, options_.maximize);
  for (const std::int32_t choice : options_.choices) key += fmt::format(" {}", choice);
  for (const double setting : options_.settings) key += fmt::format(" {}", setting);
  if (options_.decay_mode != rules::DecayMode::of_rule) {
    key += fmt::format(" decays by {} {}", static_cast<int>(options_.decay_mode), options_.peak_learning_rate);
  }
  if (program() != nullptr) {
    const std::string& words = program()->words();
    key += fmt::format(" text {:016x}", hash_bytes(words.data(), words.size()));
  }
  if (options_.trust_ratio) key += " trust ratio";
  if (options_.cautious_update != CautiousUpdate::off) {
    key += fmt::format(" cautious {}", static_cast<int>(options_.cautious_update));
  }
  if (options_.unit_clip.ratio > 0) {
    key += fmt::format(" clips units {} {} {}", options_.unit_clip.ratio, options_.unit_clip.epsilon,
                       static_cast<int>(options_.unit_clip.units));
  }
  if (options_.center_gradients) key += " centers gradients";
  if (options_.cautious_decay) key += " cautious decay";
  if (options_.counts_each) key += " counts each";
  return key + key_of(options_.average);
}

RulesByGroup::RulesByGroup(std::vector<Rule> rules) : rules_(std::move(rules)) {
  const auto check_equal = [&](const char* option, bool (Rule::*value)() const) {
    for (std::size_t g = 1; g < rules_.size(); ++g) {
      const bool found = (rules_[g].*value)();
      if (found == (rules_.front().*value)()) continue;
      fail_argument("groups[{}]: {} is {}, that of groups[0] is {}: all groups have one", g, option,
                    static_cast<int>(found), static_cast<int>(!found));
    }
  };
  check_equal("maximize", &Rule::maximize);
  check_equal("step_counting", &Rule::counts_each);
}

void RulesByGroup::check(const Schema& schema, std::size_t first) const {
  if (rules_.size() == 1) return;
  for (const Parameter& parameter : std::span(schema.begin(), schema.end()).subspan(first)) {
    if (static_cast<std::size_t>(parameter.group) < rules_.size()) continue;
    fail_argument("parameter '{}': its group is {}, and there are rules for groups 0 to {}", parameter.name,
                  parameter.group, rules_.size() - 1);
  }
}

std::string RulesByGroup::name() const {
  return join(rules_, "+", [](const Rule& rule) { return rule.name(); });
}

std::vector<GroupFields> RulesByGroup::fields() const {
  std::vector<GroupFields> fields;
  for (const Rule& rule : rules_) fields.push_back({rule.fields(), rule.values()});
  return fields;
}

std::vector<const char*> RulesByGroup::state_names() const {
  std::vector<const char*> names;
  for (const Rule& rule : rules_) {
    for (const char* name : rule.state_names()) append_new(name, names);
  }
  return names;
}

std::vector<const char*> RulesByGroup::whole_state_names() const {
  std::vector<const char*> names;
  for (const Rule& rule : rules_) {
    for (const char* name : rule.whole_state_names()) append_new(name, names);
  }
  return names;
}

std::vector<const char*> RulesByGroup::number_names() const {
  std::vector<const char*> names;
  for (const Rule& rule : rules_) {
    for (const rules::Number& number : rule.numbers()) append_new(number.name, names);
  }
  return names;
}

std::string RulesByGroup::texts() const {
  std::vector<const rules::text::Program*> programs;
  for (const Rule& rule : rules_) {
    const bool is_new = rule.program() != nullptr && std::ranges::find(programs, rule.program()) == programs.end();
    if (is_new) programs.push_back(rule.program());
  }
  return join(programs, "\n", [](const rules::text::Program* program) { return program->text(); });
}

std::string RulesByGroup::key() const {
  return join(rules_, " ", [](const Rule& rule) { return rule.key(); });
}

}  // namespace gradstep
