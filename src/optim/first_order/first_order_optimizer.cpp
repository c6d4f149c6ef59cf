// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/first_order_optimizer.h"

#include <algorithm>
#include <cstring>

#include "backend/host_copies.h"
#include "comm/all_or_none.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"
#include "kernels/random.h"

namespace gradstep {

namespace {

constexpr const char* kMasterWeights = "master_weights";

std::span<const Schedule> schedules_of(const HyperParameters& hyper_parameters, std::int32_t group) {
  return {&hyper_parameters.schedule(group, 0), hyper_parameters.field_count()};
}

bool has_bit(std::uint32_t bits, std::size_t i) { return ((bits >> i) & 1U) != 0; }

std::uint32_t slots_with(const UpdateRule& rule, const Parameter& parameter, std::span<const Schedule> schedules) {
  const std::uint32_t master = wants_master(rule.storage(), parameter) ? 1U << kernels::kMaxStates : 0U;
  return rule.states_of(schedules) | master;
}

/// A stream of random bits of its own for each parameter.
std::uint64_t random_key(const std::string& name, std::uint64_t seed) {
  return kernels::mix64(hash_bytes(name.data(), name.size()) ^ kernels::mix64(seed));
}

void check_storage(const StateStorage& storage, const Schema& schema) {
  if (storage.format == StateFormat::native) return;
  for (const Parameter& parameter : schema) {
    if (parameter.dtype == DType::f64) {
      fail(GRADSTEP_ERR_UNSUPPORTED, "options.state_dtype: parameter '{}' is f64, whose state is f64 (native)",
           parameter.name);
    }
  }
}

}  // namespace

FirstOrderOptimizer::FirstOrderOptimizer(std::shared_ptr<Context> context, std::unique_ptr<UpdateRule> rule,
                                         Schema parameters)
    : Optimizer(std::move(context), std::move(parameters), rule->fields(), rule->defaults()),
      rule_(std::move(rule)),
      names_(rule_->state_names().begin(), rule_->state_names().end()) {
  if (rule_->storage().master_weights) names_.push_back(kMasterWeights);
  for (std::int32_t g = 0; g < group_count(); ++g) rule_->check(schedules_of(hyper_parameters(), g));
  prepare(schema(), hyper_parameters());
}

std::int64_t FirstOrderOptimizer::state_bytes(const UpdateRule& rule, const Schema& schema) {
  check_storage(rule.storage(), schema);
  const HyperParameters hyper_parameters(rule.fields(), rule.defaults(), schema.group_count());
  std::int64_t bytes = 0;
  for (const Parameter& parameter : schema) {
    const std::uint32_t states = rule.states_of(schedules_of(hyper_parameters, parameter.group));
    bytes += __builtin_popcount(states) * stored_bytes(rule.storage().format, parameter.dtype, parameter.size);
    if (wants_master(rule.storage(), parameter)) bytes += parameter.size * size_of(DType::f32);
  }
  return bytes;
}

std::uint32_t FirstOrderOptimizer::slots_of(const Parameter& parameter, const HyperParameters& hyper_parameters) const {
  return slots_with(*rule_, parameter, schedules_of(hyper_parameters, parameter.group));
}

StateFormat FirstOrderOptimizer::format_of(std::size_t slot) const {
  return slot == kMaster ? StateFormat::native : rule_->storage().format;
}

const char* FirstOrderOptimizer::name_of_slot(std::size_t slot) const {
  return slot == kMaster ? kMasterWeights : names_[slot];
}

FirstOrderOptimizer::StateBuffer FirstOrderOptimizer::allocate(std::size_t slot, const Parameter& parameter,
                                                               std::int64_t elements) const {
  StateBuffer buffer;
  if (elements == 0) return buffer;
  const bool codes = format_of(slot) == StateFormat::block_code;
  const std::int64_t bytes = codes ? elements : stored_bytes(format_of(slot), parameter.dtype, elements);
  buffer.numbers = site().allocate(static_cast<std::size_t>(bytes), /*zeroed=*/false);
  if (codes) {
    const std::int64_t factors = factor_count(elements) * size_of(DType::f32);
    buffer.factors = site().allocate(static_cast<std::size_t>(factors), /*zeroed=*/false);
  }
  set_initial(slot, parameter, buffer, elements);
  return buffer;
}

void FirstOrderOptimizer::set_initial(std::size_t slot, const Parameter& parameter, const StateBuffer& buffer,
                                      std::int64_t elements) const {
  site().queue().zero(buffer.numbers.data(), buffer.numbers.bytes());
  site().queue().zero(buffer.factors.data(), buffer.factors.bytes());
  const double value = slot == kMaster ? 0 : rule_->initial_value(slot);
  if (value == 0 || elements == 0) return;
  const DType dtype = arithmetic_dtype(parameter.dtype);
  Buffer filled = context()->allocate(static_cast<std::size_t>(elements * size_of(dtype)), /*zeroed=*/false);
  if (dtype == DType::f64) {
    std::fill_n(filled.as<double>(), elements, value);
  } else {
    std::fill_n(filled.as<float>(), elements, static_cast<float>(value));
  }
  const Buffer source = upload(site(), std::move(filled));
  if (format_of(slot) == StateFormat::block_code) {
    const bool is_signed = has_bit(rule_->signed_states(), slot);
    const CodedNumbers codes{buffer.numbers.as<std::uint8_t>(), buffer.factors.as<float>(), elements, is_signed};
    return site().backend().encode(source.as<float>(), codes, site().queue());
  }
  const DType stored = format_of(slot) == StateFormat::bf16 ? DType::bf16 : dtype;
  site().copy(compact_array(buffer.numbers.data(), elements, stored), compact_array(source.data(), elements, dtype));
}

void FirstOrderOptimizer::prepare(const Schema& schema, const HyperParameters& hyper_parameters) {
  // Everything that can throw happens on the side; the swaps below cannot.
  check_storage(rule_->storage(), schema);
  struct Fresh {
    std::size_t parameter;
    std::size_t slot;
    StateBuffer buffer;
  };
  std::vector<Fresh> fresh;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const std::uint32_t wanted = slots_of(schema[i], hyper_parameters);
    for (std::size_t s = 0; s < kSlots; ++s) {
      const bool exists = i < parameters_.size() && parameters_[i].states[s].numbers.bytes() > 0;
      if (has_bit(wanted, s) && !exists) fresh.push_back({i, s, allocate(s, schema[i], slice_of(schema, i).size)});
    }
  }
  std::vector<kernels::RuleId> kernels;
  for (std::int32_t g = 0; g < hyper_parameters.group_count(); ++g) {
    kernels.push_back(rule_->kernel(schedules_of(hyper_parameters, g)));
  }
  std::vector<UpdateItem> items(schema.size());
  Buffer constants = site().allocate(kernels.size() * sizeof(kernels::GroupConstants), /*zeroed=*/true);
  Buffer used = site().allocate(schema.size(), /*zeroed=*/true);
  std::vector<std::uint8_t> flags = state_flags();
  flags.resize(schema.size(), 0);
  // A buffer that was switched off and comes back starts anew; one with a number to start with needs scratch for it.
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::uint32_t back = slots_of(schema[i], hyper_parameters) & ~parameters_[i].active;
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (has_bit(back, s)) set_initial(s, schema[i], parameters_[i].states[s], slice_of(schema, i).size);
    }
  }
  parameters_.reserve(schema.size());

  parameters_.resize(schema.size());
  for (Fresh& f : fresh) parameters_[f.parameter].states[f.slot] = std::move(f.buffer);
  for (std::size_t i = 0; i < schema.size(); ++i) {
    PerParameter& parameter = parameters_[i];
    const std::uint32_t wanted = slots_of(schema[i], hyper_parameters);
    if ((wanted & ~parameter.active) != 0) flags[i] = 0;
    parameter.active = wanted;
    parameter.random_key = random_key(schema[i].name, rule_->storage().seed);
  }
  kernels_.swap(kernels);
  items_.swap(items);
  used_ = std::move(used);
  constants_ = std::move(constants);
  step_plan().rule = rule_->form();
  step_plan().constants = {constants_.as<kernels::GroupConstants>(), kernels_.size()};
  step_plan().prepared.forget();
  write_flags(flags);
}

void FirstOrderOptimizer::write_flags(std::span<const std::uint8_t> flags) {
  site().queue().upload(used_.data(), flags.data(), flags.size());
  plan_.all_used = std::ranges::all_of(flags, [](std::uint8_t flag) { return flag != 0; });
  step_plan().all_used = plan_.all_used;
  filled_ = false;
}

void FirstOrderOptimizer::fill_items() {
  const StateStorage& storage = rule_->storage();
  const bool in_place = updates().empty();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const PerParameter& parameter = parameters_[i];
    const auto group = static_cast<std::size_t>(schema()[i].group);
    UpdateItem& item = items_[i];
    item = {};
    item.param = params()[i];
    item.gradient = grads()[i];
    if (!in_place) item.update = updates()[i];
    item.rule = kernels_[group];
    item.constants = constants_.as<kernels::GroupConstants>() + group;
    item.used = used_.as<std::uint8_t>() + i;
    item.format = storage.format;
    item.stochastic = storage.stochastic_rounding;
    item.random_key = parameter.random_key;
    item.first = slice_of(schema(), i).begin;
    item.master = parameter.states[kMaster].numbers.as<float>();
    int place = 0;
    for (std::size_t s = 0; s < kMaster; ++s) {
      if (!has_bit(parameter.active, s)) continue;
      item.states[place] = parameter.states[s].numbers.data();
      item.factors[place] = parameter.states[s].factors.as<float>();
      if (has_bit(rule_->signed_states(), s)) item.signed_states |= static_cast<std::uint8_t>(1U << place);
      ++place;
    }
  }
  plan_.work = &work();
  plan_.items = items_;
  plan_.maximize = rule_->maximize();
  plan_.prepared.forget();
  filled_ = true;
}

void FirstOrderOptimizer::apply(double clip_value) {
  if (buffers_changed() || !filled_) fill_items();
  plan_.clip_value = clip_value;
  site().backend().update(plan_, scalars(), site().queue());
  if (plan_.all_used || !site().is_host()) return;
  const std::span used(used_.as<std::uint8_t>(), used_.bytes());
  plan_.all_used = std::ranges::all_of(used, [](std::uint8_t flag) { return flag != 0; });
  step_plan().all_used = plan_.all_used;
}

void FirstOrderOptimizer::check_gives_updates() const {
  if (!rule_->storage().master_weights) return;
  for (const Parameter& parameter : schema()) {
    if (wants_master(rule_->storage(), parameter)) {
      fail(GRADSTEP_ERR_UNSUPPORTED,
           "updates: parameter '{}' has master weights, which only a step in place can follow", parameter.name);
    }
  }
}

std::size_t FirstOrderOptimizer::find_state(std::size_t index, const char* name) const {
  if (index >= schema().size()) fail_argument("index: is {}, the schema has {} parameters", index, schema().size());
  if (name == nullptr) fail_argument("name: is NULL");
  for (std::size_t s = 0; s < kSlots; ++s) {
    const bool named = s == kMaster ? rule_->storage().master_weights : s < rule_->state_names().size();
    if (!named || std::strcmp(name, name_of_slot(s)) != 0) continue;
    if (!has_bit(parameters_[index].active, s)) {
      fail(GRADSTEP_ERR_INVALID_STATE, "state '{}' of parameter '{}' does not exist: what needs it is switched off",
           name, schema()[index].name);
    }
    return s;
  }
  fail_argument("name: '{}' is not a state of {}, expected one of {}", name, kind(), join(names_, ", "));
}

Array FirstOrderOptimizer::numbers_of(std::size_t index, std::size_t slot) const {
  Array array;
  array.data = parameters_[index].states[slot].numbers.data();
  array.size = slice_of(schema(), index).size;
  switch (format_of(slot)) {
    case StateFormat::bf16:
      array.dtype = DType::bf16;
      break;
    case StateFormat::block_code:
      array.dtype = DType::u8;
      break;
    case StateFormat::native:
      array.dtype = arithmetic_dtype(schema()[index].dtype);
      break;
  }
  return array;
}

Array FirstOrderOptimizer::factors_of(std::size_t index, std::size_t slot) const {
  Array array;
  array.data = parameters_[index].states[slot].factors.data();
  array.size = factor_count(slice_of(schema(), index).size);
  return array;
}

CodedNumbers FirstOrderOptimizer::coded(std::size_t index, std::size_t slot) const {
  const StateBuffer& buffer = parameters_[index].states[slot];
  return {buffer.numbers.as<std::uint8_t>(), buffer.factors.as<float>(), slice_of(schema(), index).size,
          has_bit(rule_->signed_states(), slot)};
}

Array FirstOrderOptimizer::state(std::size_t index, const char* name) {
  const std::size_t slot = find_state(index, name);
  if (format_of(slot) == StateFormat::block_code) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is stored in 8-bit codes: get_state copies it", name);
  }
  if (is_sharded()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is spread over the ranks: get_state gathers it", name);
  }
  return numbers_of(index, slot);
}

void FirstOrderOptimizer::get_state(std::size_t index, const char* name, const Array& host) {
  const std::size_t slot = find_state(index, name);
  Array own = numbers_of(index, slot);
  Buffer decoded;
  if (format_of(slot) == StateFormat::block_code) {
    decoded = site().allocate(static_cast<std::size_t>(own.size * size_of(DType::f32)), /*zeroed=*/false);
    site().backend().decode(coded(index, slot), decoded.as<float>(), site().queue());
    own.data = decoded.data();
    own.dtype = DType::f32;
  }
  if (is_sharded()) {
    const StoredState stored{index, name, own, slice_of(schema(), index).begin, schema()[index].size, false};
    const Buffer gathered = gather(stored);
    Site(context()->cpu()).copy(host, compact_array(gathered.data(), stored.total, own.dtype));
  } else {
    copy_to_host(*context(), site(), own, host);
  }
}

void FirstOrderOptimizer::set_state(std::size_t index, const char* name, const Array& host) {
  const std::size_t slot = find_state(index, name);
  const Slice slice = slice_of(schema(), index);
  const Array own = numbers_of(index, slot);
  const bool codes = format_of(slot) == StateFormat::block_code;
  if (codes || slice.size != host.size) {
    // Whole and in the arithmetic type, of which this rank's part is taken.
    const DType dtype = arithmetic_dtype(schema()[index].dtype);
    const Buffer staged = site().allocate(static_cast<std::size_t>(host.size * size_of(dtype)), /*zeroed=*/false);
    copy_from_host(*context(), site(), host, compact_array(staged.data(), host.size, dtype));
    const Array part = compact_array(staged.as<std::byte>() + slice.begin * size_of(dtype), slice.size, dtype);
    if (codes) {
      site().backend().encode(static_cast<const float*>(part.data), coded(index, slot), site().queue());
    } else {
      site().copy(own, part);
    }
  } else {
    copy_from_host(*context(), site(), host, own);
  }
  write(site().queue(), used_.as<std::uint8_t>() + index, std::uint8_t{1});
}

std::vector<StoredState> FirstOrderOptimizer::stored_states() {
  std::vector<StoredState> stored;
  for (std::size_t i = 0; i < schema().size(); ++i) {
    const Slice slice = slice_of(schema(), i);
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (!has_bit(parameters_[i].active, s)) continue;
      stored.push_back({i, name_of_slot(s), numbers_of(i, s), slice.begin, schema()[i].size, false});
      if (format_of(s) != StateFormat::block_code) continue;
      stored.push_back({i, std::string(name_of_slot(s)) + ".scales", factors_of(i, s),
                        slice.begin / kernels::kCodeBlock, factor_count(schema()[i].size), true});
    }
  }
  return stored;
}

void FirstOrderOptimizer::allocate_slices(const Sharding* next, bool keep) {
  prepared_.clear();
  prepared_.resize(parameters_.size());
  keeps_flags_ = keep;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::int64_t size = next != nullptr ? next->slice(i).size : schema()[i].size;
    prepared_[i].active = parameters_[i].active;
    prepared_[i].random_key = parameters_[i].random_key;
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (has_bit(parameters_[i].active, s)) prepared_[i].states[s] = allocate(s, schema()[i], size);
    }
  }
}

void FirstOrderOptimizer::prepare_slices(const Sharding* next, bool keep) {
  const bool gathers = keep && is_sharded();
  Buffer whole;
  all_or_none(gathers ? &sharding()->comm() : nullptr, "allocate its part of the state", [&] {
    allocate_slices(next, keep);
    if (!gathers) return;
    std::int64_t largest = 0;
    for (const StoredState& stored : stored_states()) {
      largest = std::max(largest, stored.total * size_of(stored.array.dtype));
    }
    whole = context()->allocate(static_cast<std::size_t>(largest), /*zeroed=*/false);
  });
  if (!keep) return;
  const auto take = [&](const StoredState& stored, const Buffer& part, std::int64_t begin) {
    const std::int64_t first = begin * size_of(stored.array.dtype);
    if (gathers) {
      gather(stored, whole.data());
      site().queue().upload(part.data(), whole.as<std::byte>() + first, part.bytes());
    } else {
      site().queue().copy(part.data(), static_cast<const std::byte*>(stored.array.data) + first, part.bytes());
    }
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::int64_t begin = next != nullptr ? next->slice(i).begin : 0;
    const std::int64_t present = slice_of(schema(), i).begin;
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (!has_bit(parameters_[i].active, s)) continue;
      const StateBuffer& to = prepared_[i].states[s];
      take({i, "", numbers_of(i, s), present, schema()[i].size, false}, to.numbers, begin);
      if (format_of(s) != StateFormat::block_code) continue;
      take({i, "", factors_of(i, s), present / kernels::kCodeBlock, factor_count(schema()[i].size), true}, to.factors,
           begin / kernels::kCodeBlock);
    }
  }
}

void FirstOrderOptimizer::commit_slices() noexcept {
  parameters_.swap(prepared_);
  prepared_.clear();
  filled_ = false;
  if (keeps_flags_) return;
  site().queue().zero(used_.data(), used_.bytes());
  plan_.all_used = step_plan().all_used = false;
}

std::vector<std::uint8_t> FirstOrderOptimizer::state_flags() const {
  std::vector<std::uint8_t> flags(used_.bytes());
  site().queue().download(flags.data(), used_.data(), flags.size());
  return flags;
}

void FirstOrderOptimizer::set_state_flags(std::span<const std::uint8_t> flags) { write_flags(flags); }

std::int64_t FirstOrderOptimizer::other_bytes() const {
  return Optimizer::other_bytes() +
         static_cast<std::int64_t>(items_.capacity() * sizeof(UpdateItem) +
                                   static_cast<std::size_t>(used_.bytes() + constants_.bytes()) +
                                   parameters_.capacity() * sizeof(PerParameter));
}

}  // namespace gradstep
