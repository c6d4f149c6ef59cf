// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/first_order_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "core/error.h"
#include "core/held_bytes.h"
#include "core/shape.h"
#include "kernels/stored.h"

namespace gradstep {

namespace {

Encoding encoding_of(StateFormat format, const Parameter& parameter) {
  switch (format) {
    case StateFormat::bf16:
      return Encoding::bf16;
    case StateFormat::block_code:
      return Encoding::blocks;
    case StateFormat::native:
      break;
  }
  return parameter.dtype == DType::f64 ? Encoding::f64 : Encoding::f32;
}

StateWish whole_wish(std::size_t slot, const WholeState& state, const Parameter& parameter, const Rule& rule) {
  const std::int64_t size = std::accumulate(state.shape.begin(), state.shape.end(), std::int64_t{1}, std::multiplies());
  TensorForm form{1, size, encoding_of(StateFormat::native, parameter)};
  if (state.is_random) form.random_key = random_key(parameter.name, rule.storage().seed);
  return {slot, state.name, form, state.shape, /*is_whole=*/true};
}

void check_shape(const Rule& rule, const Parameter& parameter) {
  if (!rule.is_of_matrices() || parameter.shape.size() >= 2) return;
  fail_argument("parameter '{}': has {} axes, {} needs 2 or more; a group with another rule may have it",
                parameter.name, parameter.shape.size(), rule.name());
}

/// About the operations of a step of a parameter that one rank has as a whole; 0 = ranks may have slices.
double cost_as_a_whole(const Rule& rule, const Parameter& parameter) {
  constexpr double kElement = 50;  // what its way through memory takes, in operations of products
  const double elements = kElement * static_cast<double>(parameter.whole_size());
  if (rule.is_of_matrices()) {
    if (parameter.whole_size() == 0) return 0;
    const std::int64_t rows = parameter.whole_shape().front();
    const std::int64_t columns = parameter.whole_size() / rows;
    if (rule.is_orthogonalized()) return elements + rule.orthogonalization().operations(rows, columns);
    // Three products of the matrix and its factors, and an orthonormalization in two rounds.
    const auto rank = static_cast<double>(rule.rank_of(rows, columns));
    return elements + 6 * rank * static_cast<double>(parameter.whole_size()) +
           4 * rank * rank * static_cast<double>(rows);
  }
  return rule.is_factored() || rule.unit_clip().ratio > 0 || rule.centers_gradients() ? elements : 0;
}

/// Whether what this rank has is a part, and one of the ranks steps the whole.
bool has_owner(const Rule& rule, const Parameter& parameter) {
  return parameter.is_part() && cost_as_a_whole(rule, parameter) > 0;
}

/// The owner of a parameter's state while no ranks are attached; -1 = it has none.
std::int32_t owner_without_ranks(const Rule& rule, const Parameter& parameter) {
  return has_owner(rule, parameter) ? kOwnerToCome : -1;
}

/// Parts of one parameter are rounded by random numbers of their own, and replicas of a part by the same.
std::string key_name(const Parameter& parameter) {
  return parameter.is_part() ? parameter.name + shape_text(parameter.offset()) : parameter.name;
}

double largest_stored(const Parameter& parameter) {
  return parameter.dtype == DType::f64 ? kernels::kLargestStored<double> : double{kernels::kLargestStored<float>};
}

/// To what the smallest type of all parameters can hold.
void narrow(kernels::StepLimits& limits, const Parameter& parameter, double largest_gradient) {
  const double largest =
      parameter.dtype == DType::f64 ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
  limits.gradient = std::min(limits.gradient, largest_gradient);
  limits.multiplier = std::min(limits.multiplier, largest);
}

}  // namespace

Optimizer::Traits FirstOrderOptimizer::traits_of(const RulesByGroup& rules) {
  Traits traits{
      .kind = rules.name(), .rule_texts = rules.texts(), .state_names = rules.state_names(), .flags_at_site = true};
  if (rules.any([](const Rule& rule) { return rule.storage().master_weights; })) {
    traits.state_names.push_back(kMasterWeights);
  }
  if (rules.counts_each()) traits.state_names.push_back(kStepCount);
  for (const char* name : rules.whole_state_names()) traits.state_names.push_back(name);
  for (const char* name : rules.number_names()) traits.state_names.push_back(name);
  if (rules.any([](const Rule& rule) { return rule.average().exists(); })) {
    traits.state_names.insert(traits.state_names.end(), {kWeightAverage, kWeightAverageCount});
  }
  return traits;
}

FirstOrderOptimizer::FirstOrderOptimizer(std::shared_ptr<Context> context, RulesByGroup rules, Schema parameters)
    : Optimizer(std::move(context), std::move(parameters), rules.fields(), traits_of(rules)),
      rules_(std::move(rules)),
      units_(site()),
      sums_(site()),
      finish_(site()) {
  prepare(schema(), hyper_parameters(), 0);
  list_work();
}

std::vector<StateWish> FirstOrderOptimizer::wishes_of(const Rule& rule, const Parameter& parameter,
                                                      const HyperParameters& hyper_parameters, std::int32_t owner) {
  check_storage(rule.storage(), parameter);
  const std::int64_t size = owner >= 0 ? parameter.whole_size() : parameter.size;
  const std::uint32_t states = rule.states(hyper_parameters.schedules(parameter.group));
  std::vector<StateWish> wishes;
  for (std::size_t s = 0; s < rule.state_names().size(); ++s) {
    if (((states >> s) & 1U) == 0) continue;
    const StateFormat format = rule.state(s).is_exact ? StateFormat::native : rule.storage().format;
    TensorForm form{1, size, encoding_of(format, parameter)};
    form.has_signs = rule.state(s).has_signs;
    form.initial = rule.initial_value(s);
    wishes.push_back({s, rule.state_names()[s], form});
  }
  if (wants_master(rule.storage(), parameter)) {
    wishes.push_back({kMaster, kMasterWeights, TensorForm{1, size, Encoding::f32}});
  }
  if (rule.counts_each()) wishes.push_back(number_wish(kSteps, kStepCount));
  for (const WholeState& state : rule.whole_states(parameter, hyper_parameters.schedules(parameter.group))) {
    wishes.push_back(whole_wish(kWhole + state.place, state, parameter, rule));
  }
  for (std::size_t k = 0; k < rule.numbers().size(); ++k) {
    wishes.push_back(number_wish(kNumbers + k, rule.numbers()[k].name, rule.first_number(k)));
  }
  wish_average(rule.average(), parameter, size, kAverage, wishes);
  for (StateWish& wish : wishes) wish.owner = is_number(wish.slot) ? -1 : owner;
  return wishes;
}

std::int64_t FirstOrderOptimizer::state_bytes(const RulesByGroup& rules, const Schema& schema) {
  rules.check(schema, 0);
  const HyperParameters hyper_parameters(rules.fields(), schema.group_count());
  std::int64_t bytes = 0;
  for (const Parameter& parameter : schema) {
    const Rule& rule = rules.of(parameter.group);
    bytes += bytes_of(wishes_of(rule, parameter, hyper_parameters, owner_without_ranks(rule, parameter)));
  }
  return bytes;
}

FirstOrderOptimizer::GroupLists FirstOrderOptimizer::lists_of(const HyperParameters& hyper_parameters) const {
  GroupLists lists;
  lists.key = rules_.key();
  for (std::int32_t g = 0; g < hyper_parameters.group_count(); ++g) {
    const Rule& rule = rules_.of(g);
    rule.check(hyper_parameters.schedules(g));
    lists.forms.push_back(rule.form());
    lists.programs.push_back(rule.program() != nullptr ? &rule.program()->code() : nullptr);
    lists.kernels.push_back(rule.kernel(hyper_parameters.schedules(g)));
    lists.key += fmt::format(" {}", static_cast<int>(lists.kernels.back()));
    if (rule.program() == nullptr) continue;
    lists.numbers_each = std::max(lists.numbers_each, static_cast<std::size_t>(lists.programs.back()->constant_count));
  }
  return lists;
}

FirstOrderOptimizer::Additions FirstOrderOptimizer::additions_of(const Schema& schema,
                                                                 const HyperParameters& hyper_parameters,
                                                                 std::size_t first) {
  Additions added;
  added.wishes.reserve(schema.size() - first);
  added.facts.reserve(schema.size() - first);
  if (first > 0) added.limits = step_plan().limits;
  for (std::size_t i = first; i < schema.size(); ++i) {
    const Parameter& parameter = schema[i];
    const Rule& rule = rules_.of(parameter.group);
    const std::span<const Schedule> schedules = hyper_parameters.schedules(parameter.group);
    const std::int32_t owner = owner_of(rule, parameter, i);
    added.wishes.push_back({wishes_of(rule, parameter, hyper_parameters, owner), slice_of(schema, i, owner)});
    check_shape(rule, parameter);
    const std::string name = has_owner(rule, parameter) ? parameter.name : key_name(parameter);
    added.facts.push_back({random_key(name, rule.storage().seed), rule.finish(schedules)});
    narrow(added.limits, parameter, rule.largest_gradient(schedules, largest_stored(parameter)));
  }
  return added;
}

std::vector<std::uint8_t> FirstOrderOptimizer::flags_that_stay(std::span<const ParameterWish> wishes) {
  std::vector<std::uint8_t> flags = state().flags();
  flags.resize(wishes.size(), 0);
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (store().begins_anew(i, wishes[i])) flags[i] = 0;
  }
  return flags;
}

FirstOrderOptimizer::ConstantBuffers FirstOrderOptimizer::room_for(std::size_t parameters, const GroupLists& groups,
                                                                   std::size_t first) const {
  const auto room = [&](const Buffer& present, bool is_needed, std::size_t count, std::size_t each) {
    const std::size_t bytes = is_needed ? count * each : 0;
    if (first > 0 && bytes <= present.bytes()) return Buffer();
    return site().allocate(first > 0 ? std::max(bytes, 2 * present.bytes()) : bytes, /*zeroed=*/true);
  };
  const std::size_t lists = has_own_constants() ? parameters : groups.kernels.size();
  return {.values = room(constants_.values, true, lists, sizeof(rules::GroupConstants)),
          .program_numbers = room(constants_.program_numbers, true, lists, groups.numbers_each * sizeof(double)),
          .group_of = room(constants_.group_of, has_own_constants(), parameters, sizeof(std::int32_t)),
          .counts = room(constants_.counts, rules_.counts_each(), parameters, sizeof(double*)),
          .places = room(constants_.places, rules_.settles(), parameters, sizeof(rules::NumberPlaces))};
}

void FirstOrderOptimizer::prepare(const Schema& schema, const HyperParameters& hyper_parameters, std::size_t first) {
  // Everything that can throw happens on the side; what is done then cannot.
  rules_.check(schema, first);
  prepare_programs(schema, first);
  std::optional<GroupLists> changed;
  if (first == 0 || hyper_parameters.group_count() > std::ssize(groups_.kernels)) changed = lists_of(hyper_parameters);
  const Additions added = additions_of(schema, hyper_parameters, first);
  std::vector<std::uint8_t> flags;
  if (first == 0) flags = flags_that_stay(added.wishes);
  ConstantBuffers larger = room_for(schema.size(), changed ? *changed : groups_, first);
  std::optional<std::vector<OwnAverage>> averages;
  if (changed) averages = own_averages(hyper_parameters.group_count());
  const auto reserve = [&](auto& list) {
    if (schema.size() > list.capacity()) list.reserve(first > 0 ? std::max(schema.size(), 2 * first) : schema.size());
  };
  filled_ = false;  // the plan has the old items
  reserve(items_);
  reserve(finish_.options());
  const bool listed_anew = first == 0 || larger.group_of.data() != nullptr || larger.counts.data() != nullptr ||
                           larger.places.data() != nullptr;
  NumberLists to_list;
  to_list.first = listed_anew ? 0 : first;
  if (has_own_constants()) to_list.make_room(schema.size());
  StateStore::Growth growth = store().grow(added.wishes, first);

  store().commit(std::move(growth));
  items_.resize(schema.size());
  finish_.options().resize(first);
  for (std::size_t i = first; i < schema.size(); ++i) {
    const ParameterFacts& facts = added.facts[i - first];
    items_[i].random_key = facts.random_key;
    finish_.options().push_back(facts.finish);
  }
  for (Buffer ConstantBuffers::* const buffer : ConstantBuffers::all()) {
    if (first == 0 || (larger.*buffer).data() != nullptr) constants_.*buffer = std::move(larger.*buffer);
  }
  if (averages) set_own_averages(std::move(*averages));
  if (changed) {
    set_rule_text(std::move(changed->key));
    groups_ = std::move(*changed);
  }
  plan_constants(schema.size());
  step_plan().limits = added.limits;
  if (has_own_constants()) list_numbers(schema, to_list);
  if (first == 0) {
    state().set_flags(flags);
  } else if (!added.facts.empty()) {
    set_all_used(false);
  }
}

void FirstOrderOptimizer::plan_constants(std::size_t parameters) {
  const std::size_t lists = has_own_constants() ? parameters : groups_.kernels.size();
  step_plan().rules = groups_.forms;
  step_plan().constants = {constants_.values.as<rules::GroupConstants>(), lists};
  step_plan().programs = groups_.programs;
  step_plan().program_numbers = {constants_.program_numbers.as<double>(), lists * groups_.numbers_each};
  step_plan().prepared.forget();
}

bool FirstOrderOptimizer::has_own_constants() const { return rules_.counts_each() || rules_.settles(); }

void FirstOrderOptimizer::prepare_programs(const Schema& schema, std::size_t first) {
  if (!rules_.any([](const Rule& rule) { return rule.program() != nullptr; })) return;
  for (const Parameter& parameter : std::span(schema.begin(), schema.end()).subspan(first)) {
    const Rule& rule = rules_.of(parameter.group);
    if (rule.program() == nullptr) continue;
    const DType arithmetic = arithmetic_dtype(parameter.dtype);
    const bool is_plain = parameter.dtype == arithmetic && rule.storage().format == StateFormat::native;
    site().backend().prepare_program(rule.program()->code(), arithmetic, is_plain);
  }
}

/// Where the step finds what is kept by parameter. Fills `lists`.
void FirstOrderOptimizer::list_numbers(const Schema& schema, NumberLists& lists) {
  for (std::size_t k = 0; k < lists.groups.size(); ++k) {
    const std::size_t i = lists.first + k;
    lists.groups[k] = schema[i].group;
    lists.counts[k] = number_of(i, kSteps);
    lists.numbers[k] = number_places(schema, i);
  }
  const auto send = [&]<class T>(const Buffer& to, const std::vector<T>& from) {
    if (to.bytes() == 0 || from.empty()) return;
    auto* place = static_cast<void*>(to.as<T>() + lists.first);
    site().queue().upload(place, static_cast<const void*>(from.data()), from.size() * sizeof(T));
  };
  send(constants_.group_of, lists.groups);
  send(constants_.counts, lists.counts);
  send(constants_.places, lists.numbers);
  step_plan().group_of = constants_.group_of.as<std::int32_t>();
  if (rules_.counts_each()) step_plan().counts = constants_.counts.as<double*>();
  if (rules_.settles()) step_plan().numbers = constants_.places.as<rules::NumberPlaces>();
  plan_.counts_each = rules_.counts_each();
}

rules::NumberPlaces FirstOrderOptimizer::number_places(const Schema& schema, std::size_t parameter) const {
  rules::NumberPlaces places;
  for (std::size_t k = 0; k < rules_.of(schema[parameter].group).numbers().size(); ++k) {
    places.of[k] = number_of(parameter, kNumbers + k);
  }
  return places;
}

std::vector<OwnAverage> FirstOrderOptimizer::own_averages(std::int32_t groups) const {
  std::vector<OwnAverage> averages;
  for (std::int32_t g = 0; g < groups; ++g) {
    const Rule& rule = rules_.of(g);
    OwnAverage& average = averages.emplace_back();
    if (!rule.has_average()) continue;
    average.state = rule.state_names()[rule.type().averaged];
    average.share = [&rule](const double* values) { return rule.average_share(values); };
  }
  return averages;
}

double* FirstOrderOptimizer::number_of(std::size_t parameter, std::size_t slot) const {
  return static_cast<double*>(store().tensor(parameter, slot).numbers().data);
}

void FirstOrderOptimizer::on(StateEvent event) {
  if (event == StateEvent::is_moving || event == StateEvent::has_new_flags) filled_ = false;
  if (event == StateEvent::is_lost) set_all_used(false);
  if (event == StateEvent::was_counted && rules_.counts_each()) {
    const auto steps = static_cast<double>(step_count());
    for (std::size_t i = 0; i < schema().size(); ++i) write(site().queue(), number_of(i, kSteps), steps);
  }
  if (event == StateEvent::has_new_flags) {
    set_all_used(std::ranges::all_of(state().flags(), [](std::uint8_t flag) { return flag != 0; }));
  }
}

std::vector<double> FirstOrderOptimizer::undivided() const {
  std::vector<double> costs;
  costs.reserve(schema().size());
  for (const Parameter& parameter : schema()) costs.push_back(cost_as_a_whole(rules_.of(parameter.group), parameter));
  return costs;
}

Optimizer::OwnerOf FirstOrderOptimizer::owners(const Sharding* next) {
  return [this, next](std::size_t parameter, std::size_t slot) -> std::int32_t {
    if (is_number(slot)) return -1;
    if (next != nullptr && next->parts() != nullptr) return next->parts()->owner(parameter);
    if (next != nullptr) return slot >= kWhole ? next->owner(parameter) : -1;
    const Parameter& shown = schema()[parameter];
    return owner_without_ranks(rules_.of(shown.group), shown);
  };
}

std::int32_t FirstOrderOptimizer::owner_of(const Rule& rule, const Parameter& parameter, std::size_t i) const {
  if (!is_sharded()) return owner_without_ranks(rule, parameter);
  return sharding()->parts() != nullptr ? sharding()->parts()->owner(i) : -1;
}

void FirstOrderOptimizer::set_all_used(bool all_used) { plan_.all_used = step_plan().all_used = all_used; }

void FirstOrderOptimizer::fill_items() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto group = static_cast<std::size_t>(schema()[i].group);
    const Rule& rule = rules_.of(schema()[i].group);
    UpdateItem& item = items_[i];
    item = {.random_key = item.random_key};
    item.param = &params()[i];
    item.gradient = &grads()[i];
    if (!updates().empty()) item.update = &updates()[i];
    const std::size_t list = has_own_constants() ? i : group;
    item.kernel = groups_.kernels[group];
    item.constants = constants_.values.as<rules::GroupConstants>() + list;
    if (rule.program() != nullptr) item.program = &rule.program()->code();
    const std::span<const double> numbers = step_plan().program_numbers;
    item.numbers = numbers.data() + list * (numbers.size() / step_plan().constants.size());
    item.count = number_of(i, kSteps);
    item.used = store().flags().there() + i;
    item.stochastic = rule.storage().stochastic_rounding;
    item.format = rule.storage().format;
    item.first = slice_of(schema(), i).begin;
    item.master = static_cast<float*>(store().tensor(i, kMaster).numbers().data);
    std::size_t place = 0;
    for (std::size_t s = 0; s < kMaster; ++s) {
      if (!store().is_active(i, s)) continue;
      const StateTensor& tensor = store().tensor(i, s);
      item.states[place] = tensor.numbers().data;
      item.factors[place] = tensor.factors();
      if (tensor.form().has_signs) item.signed_states |= static_cast<std::uint8_t>(1U << place);
      if (rule.state(s).is_exact) item.exact_states |= static_cast<std::uint8_t>(1U << place);
      ++place;
    }
  }
  plan_.work = &work();
  plan_.items = items_;
  plan_.maximize = rules_.maximize();
  plan_.prepared.forget();
  units_.fill(items_, rules_, schema());
  std::vector<rules::NumberPlaces> places(items_.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = number_places(schema(), i);
  sums_.fill(items_, places, rules_, schema(), work(), sharding());
  std::vector<WholeNumbers> whole(items_.size());
  for (std::size_t i = 0; i < items_.size(); ++i) {
    for (std::size_t k = 0; k < WholeState::kMost; ++k) whole[i].of[k] = store().tensor(i, kWhole + k).numbers().data;
  }
  finish_.fill(items_, whole, rules_, schema(), work(), sharding());
  averages_.fill(store(), {kAverage, kMaster}, params(), schema(),
                 [&](std::int32_t group) { return rules_.of(group).average(); });
  filled_ = true;
}

void FirstOrderOptimizer::apply(double clip_value) {
  if (buffers_changed() || !filled_) fill_items();
  plan_.clip_value = clip_value;
  if (units_.has_work()) units_.run(scalars());
  if (sums_.has_work()) sums_.run(plan_, scalars(), sharding());
  site().backend().update(plan_, scalars(), site().queue());
  if (finish_.has_work()) finish_.run(scalars(), sharding());
  averages_.run(site(), scalars());
  if (plan_.all_used || !site().is_host()) return;
  const std::span used(store().flags().there(), store().flags().size());
  set_all_used(std::ranges::all_of(used, [](std::uint8_t flag) { return flag != 0; }));
}

std::int64_t FirstOrderOptimizer::scratch_bytes() const {
  return static_cast<std::int64_t>(held_bytes(units_, sums_, finish_, averages_, constants_, items_, plan_.prepared));
}

}  // namespace gradstep
