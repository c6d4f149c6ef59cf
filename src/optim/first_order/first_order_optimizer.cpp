// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/first_order_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/hash.h"
#include "kernels/random.h"
#include "kernels/stored.h"

namespace gradstep {

namespace {

/// A stream of random bits of its own for each parameter.
std::uint64_t random_key(const std::string& name, std::uint64_t seed) {
  return kernels::mix64(hash_bytes(name.data(), name.size()) ^ kernels::mix64(seed));
}

/// One number for each parameter.
StateWish number_wish(std::size_t slot, const char* name) {
  return {slot, name, TensorForm{1, 1, Encoding::f64}, {1}, /*is_whole=*/true};
}

Encoding encoding_of(const StateStorage& storage, const Parameter& parameter) {
  switch (storage.format) {
    case StateFormat::bf16:
      return Encoding::bf16;
    case StateFormat::block_code:
      return Encoding::blocks;
    case StateFormat::native:
      break;
  }
  return parameter.dtype == DType::f64 ? Encoding::f64 : Encoding::f32;
}

void check_storage(const StateStorage& storage, const Parameter& parameter) {
  if (storage.format != StateFormat::native && parameter.dtype == DType::f64) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.state_dtype: parameter '{}' is f64, whose state is f64 (native)",
         parameter.name);
  }
}

void check_shape(const Rule& rule, const Parameter& parameter) {
  if (!rule.is_of_matrices() || parameter.shape.size() >= 2) return;
  fail_argument("parameter '{}': has {} axes, {} needs 2 or more; a group with another rule may have it",
                parameter.name, parameter.shape.size(), rule.name());
}

/// Over all parameters, so those of the smallest type.
kernels::StepLimits limits_of(const RulesByGroup& rules, const Schema& schema,
                              const HyperParameters& hyper_parameters) {
  kernels::StepLimits limits;
  for (const Parameter& parameter : schema) {
    const bool wide = parameter.dtype == DType::f64;
    const double largest = wide ? kernels::kLargestStored<double> : double{kernels::kLargestStored<float>};
    const Rule& rule = rules.of(parameter.group);
    limits.gradient =
        std::min(limits.gradient, rule.largest_gradient(hyper_parameters.schedules(parameter.group), largest));
    limits.multiplier = std::min(limits.multiplier,
                                 wide ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()});
  }
  return limits;
}

}  // namespace

Optimizer::Traits FirstOrderOptimizer::traits_of(const RulesByGroup& rules) {
  Traits traits{
      .kind = rules.name(), .rule_texts = rules.texts(), .state_names = rules.state_names(), .flags_at_site = true};
  if (rules.any([](const Rule& rule) { return rule.storage().master_weights; })) {
    traits.state_names.push_back(kMasterWeights);
  }
  if (rules.counts_each()) traits.state_names.push_back(kStepCount);
  if (rules.any([](const Rule& rule) { return rule.average_decay() > 0; })) {
    traits.state_names.insert(traits.state_names.end(), {kWeightAverage, kWeightAverageCount});
  }
  return traits;
}

FirstOrderOptimizer::FirstOrderOptimizer(std::shared_ptr<Context> context, RulesByGroup rules, Schema parameters)
    : Optimizer(std::move(context), std::move(parameters), rules.fields(), traits_of(rules)),
      rules_(std::move(rules)),
      units_(site()),
      finish_(site()) {
  prepare(schema(), hyper_parameters());
  list_work();
}

std::vector<StateWish> FirstOrderOptimizer::wishes_of(const Rule& rule, const Parameter& parameter,
                                                      const HyperParameters& hyper_parameters) {
  check_storage(rule.storage(), parameter);
  const std::uint32_t states = rule.states(hyper_parameters.schedules(parameter.group));
  std::vector<StateWish> wishes;
  for (std::size_t s = 0; s < rule.state_names().size(); ++s) {
    if (((states >> s) & 1U) == 0) continue;
    TensorForm form{1, parameter.size, encoding_of(rule.storage(), parameter)};
    form.has_signs = rule.has_signs(s);
    form.initial = rule.initial_value(s);
    wishes.push_back({s, rule.state_names()[s], form});
  }
  if (wants_master(rule.storage(), parameter)) {
    wishes.push_back({kMaster, kMasterWeights, TensorForm{1, parameter.size, Encoding::f32}});
  }
  if (rule.counts_each()) wishes.push_back(number_wish(kSteps, kStepCount));
  if (rule.average_decay() > 0) {
    const Encoding encoding = parameter.dtype == DType::f64 ? Encoding::f64 : Encoding::f32;
    wishes.push_back({kAverage, kWeightAverage, TensorForm{1, parameter.size, encoding}});
    wishes.push_back(number_wish(kAverageCount, kWeightAverageCount));
  }
  return wishes;
}

std::int64_t FirstOrderOptimizer::state_bytes(const RulesByGroup& rules, const Schema& schema) {
  rules.check(schema);
  const HyperParameters hyper_parameters(rules.fields(), schema.group_count());
  std::int64_t bytes = 0;
  for (const Parameter& parameter : schema) {
    bytes += bytes_of(wishes_of(rules.of(parameter.group), parameter, hyper_parameters));
  }
  return bytes;
}

void FirstOrderOptimizer::prepare(const Schema& schema, const HyperParameters& hyper_parameters) {
  // Everything that can throw happens on the side; the swaps below cannot.
  rules_.check(schema);
  check_programs(hyper_parameters.group_count());
  for (std::int32_t g = 0; g < hyper_parameters.group_count(); ++g) rules_.of(g).check(hyper_parameters.schedules(g));
  std::vector<ParameterWish> wishes;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint8_t> flags = state().flags();
  flags.resize(schema.size(), 0);
  for (std::size_t i = 0; i < schema.size(); ++i) {
    wishes.push_back({wishes_of(rules_.of(schema[i].group), schema[i], hyper_parameters), slice_of(schema, i)});
    keys.push_back(random_key(schema[i].name, rules_.of(schema[i].group).storage().seed));
    if (store().begins_anew(i, wishes[i])) flags[i] = 0;
  }
  std::vector<FinishOptions> finish;
  std::vector<bool> undivided;
  for (const Parameter& parameter : schema) {
    const Rule& rule = rules_.of(parameter.group);
    check_shape(rule, parameter);
    finish.push_back(rule.finish(hyper_parameters.schedules(parameter.group)));
    undivided.push_back(rule.is_of_matrices() || rule.unit_clip().ratio > 0 || rule.centers_gradients());
  }
  std::vector<rules::KernelId> kernels;
  std::vector<rules::RuleForm> forms;
  std::vector<const rules::text::Program*> programs;
  std::size_t numbers_each = 0;
  std::string text = rules_.key();
  for (std::int32_t g = 0; g < hyper_parameters.group_count(); ++g) {
    forms.push_back(rules_.of(g).form());
    programs.push_back(rules_.of(g).program());
    if (programs.back() != nullptr)
      numbers_each = std::max(numbers_each, static_cast<std::size_t>(programs.back()->code().number_count));
    kernels.push_back(rules_.of(g).kernel(hyper_parameters.schedules(g)));
    text += fmt::format(" {}", static_cast<int>(kernels.back()));
  }
  const kernels::StepLimits limits = limits_of(rules_, schema, hyper_parameters);
  std::vector<UpdateItem> items(schema.size());
  const std::size_t lists = rules_.counts_each() ? schema.size() : kernels.size();
  const std::size_t counted = rules_.counts_each() ? schema.size() : 0;
  Buffer constants = site().allocate(lists * sizeof(rules::GroupConstants), /*zeroed=*/true);
  Buffer numbers = site().allocate(lists * numbers_each * sizeof(double), /*zeroed=*/true);
  Buffer group_of = site().allocate(counted * sizeof(std::int32_t), /*zeroed=*/true);
  Buffer counts = site().allocate(counted * sizeof(double*), /*zeroed=*/true);
  StateStore::Growth growth = store().grow(wishes);

  store().commit(std::move(growth));
  set_rule_text(std::move(text));
  set_undivided(std::move(undivided));
  finish_.set_options(std::move(finish));
  random_keys_.swap(keys);
  kernels_.swap(kernels);
  items_.swap(items);
  constants_ = std::move(constants);
  numbers_ = std::move(numbers);
  group_of_ = std::move(group_of);
  counts_ = std::move(counts);
  forms_.swap(forms);
  programs_.swap(programs);
  step_plan().rules = forms_;
  step_plan().constants = {constants_.as<rules::GroupConstants>(), lists};
  step_plan().programs = programs_;
  step_plan().numbers = {numbers_.as<double>(), lists * numbers_each};
  step_plan().limits = limits;
  step_plan().prepared.forget();
  if (rules_.counts_each()) list_counts(schema);
  state().set_flags(flags);
}

void FirstOrderOptimizer::check_programs(std::int32_t groups) {
  const Backend& backend = site().backend();
  for (std::int32_t g = 0; g < groups; ++g) {
    const Rule& rule = rules_.of(g);
    if (rule.program() == nullptr || backend.runs_programs()) continue;
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "rule: {} is written as text, and such rules run on the CPU; the parameters' device is {}", rule.name(),
         backend.name());
  }
}

/// Where the step finds what is counted by parameter.
void FirstOrderOptimizer::list_counts(const Schema& schema) {
  std::vector<std::int32_t> groups;
  std::vector<double*> counts;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    groups.push_back(schema[i].group);
    counts.push_back(number_of(i, kSteps));
  }
  site().queue().upload(group_of_.data(), groups.data(), group_of_.bytes());
  site().queue().upload(counts_.data(), static_cast<const void*>(counts.data()), counts_.bytes());
  step_plan().group_of = group_of_.as<std::int32_t>();
  step_plan().counts = counts_.as<double*>();
  plan_.counts_each = true;
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

void FirstOrderOptimizer::set_all_used(bool all_used) { plan_.all_used = step_plan().all_used = all_used; }

void FirstOrderOptimizer::fill_items() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto group = static_cast<std::size_t>(schema()[i].group);
    const Rule& rule = rules_.of(schema()[i].group);
    UpdateItem& item = items_[i];
    item = {};
    item.param = params()[i];
    item.gradient = grads()[i];
    if (!updates().empty()) item.update = updates()[i];
    const std::size_t list = rules_.counts_each() ? i : group;
    item.kernel = kernels_[group];
    item.constants = constants_.as<rules::GroupConstants>() + list;
    if (rule.program() != nullptr) item.program = &rule.program()->code();
    item.numbers = step_plan().numbers.data() + list * (step_plan().numbers.size() / step_plan().constants.size());
    item.count = number_of(i, kSteps);
    item.used = store().flags().there() + i;
    item.stochastic = rule.storage().stochastic_rounding;
    item.random_key = random_keys_[i];
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
      ++place;
    }
  }
  plan_.work = &work();
  plan_.items = items_;
  plan_.maximize = rules_.maximize();
  plan_.prepared.forget();
  units_.fill(items_, rules_, schema());
  finish_.fill(items_, rules_, schema(), work(), sharding());
  fill_averages();
  filled_ = true;
}

void FirstOrderOptimizer::fill_averages() {
  averages_.clear();
  averaged_ = {};
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const StateTensor& average = store().tensor(i, kAverage);
    if (!average.exists()) continue;
    const Array master = store().tensor(i, kMaster).numbers();
    averages_.push_back({average.numbers(), master.data != nullptr ? master : items_[i].param,
                         rules_.of(schema()[i].group).average_decay(), number_of(i, kAverageCount)});
    averaged_.append(average.slice().size);
  }
  average_plan_.work = &averaged_;
  average_plan_.items = averages_;
  average_plan_.prepared.forget();
}

void FirstOrderOptimizer::apply(double clip_value) {
  if (buffers_changed() || !filled_) fill_items();
  plan_.clip_value = clip_value;
  if (units_.has_work()) units_.run(scalars());
  site().backend().update(plan_, scalars(), site().queue());
  if (finish_.has_work()) finish_.run(scalars(), sharding());
  if (!averages_.empty()) site().backend().average(average_plan_, scalars(), site().queue());
  if (plan_.all_used || !site().is_host()) return;
  const std::span used(store().flags().there(), store().flags().size());
  set_all_used(std::ranges::all_of(used, [](std::uint8_t flag) { return flag != 0; }));
}

std::int64_t FirstOrderOptimizer::scratch_bytes() const {
  return units_.bytes() + finish_.bytes() +
         static_cast<std::int64_t>(items_.capacity() * sizeof(UpdateItem) + constants_.bytes() + numbers_.bytes() +
                                   group_of_.bytes() + counts_.bytes() +
                                   random_keys_.capacity() * sizeof(std::uint64_t));
}

}  // namespace gradstep
