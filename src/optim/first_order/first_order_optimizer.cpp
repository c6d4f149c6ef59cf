// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/first_order_optimizer.h"

#include <algorithm>
#include <cstring>

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

void zero(const Buffer& buffer) {
  if (buffer.bytes() > 0) std::memset(buffer.data(), 0, buffer.bytes());
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
  buffer.numbers = context()->allocate(static_cast<std::size_t>(bytes), /*zeroed=*/true);
  if (codes) {
    const std::int64_t factors = factor_count(elements) * size_of(DType::f32);
    buffer.factors = context()->allocate(static_cast<std::size_t>(factors), /*zeroed=*/true);
  }
  set_initial(slot, parameter, buffer, elements);
  return buffer;
}

void FirstOrderOptimizer::set_initial(std::size_t slot, const Parameter& parameter, const StateBuffer& buffer,
                                      std::int64_t elements) const {
  zero(buffer.numbers);
  zero(buffer.factors);
  const double value = slot == kMaster ? 0 : rule_->initial_value(slot);
  if (value == 0 || elements == 0) return;
  const DType dtype = arithmetic_dtype(parameter.dtype);
  const Buffer filled = context()->allocate(static_cast<std::size_t>(elements * size_of(dtype)), /*zeroed=*/false);
  if (dtype == DType::f64) {
    std::fill_n(static_cast<double*>(filled.data()), elements, value);
  } else {
    std::fill_n(static_cast<float*>(filled.data()), elements, static_cast<float>(value));
  }
  if (format_of(slot) == StateFormat::block_code) {
    const bool is_signed = has_bit(rule_->signed_states(), slot);
    context()->backend().encode(static_cast<const float*>(filled.data()),
                                {static_cast<std::uint8_t*>(buffer.numbers.data()),
                                 static_cast<float*>(buffer.factors.data()), elements, is_signed});
    return;
  }
  CopyItem item;
  item.source = {filled.data(), elements, dtype, 0, nullptr, nullptr};
  item.destination = {
      buffer.numbers.data(), elements, format_of(slot) == StateFormat::bf16 ? DType::bf16 : dtype, 0, nullptr, nullptr};
  const WorkList work({&elements, 1});
  context()->backend().copy(work, {&item, 1}, 1, 1);
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
  std::vector<PerGroup> groups(static_cast<std::size_t>(hyper_parameters.group_count()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    groups[g].kernel = rule_->kernel(schedules_of(hyper_parameters, static_cast<std::int32_t>(g)));
  }
  std::vector<UpdateItem> items(schema.size());
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
    if ((wanted & ~parameter.active) != 0) parameter.used = false;
    parameter.active = wanted;
    parameter.random_key = random_key(schema[i].name, rule_->storage().seed);
  }
  all_used_ = filled_ = false;
  groups_.swap(groups);
  items_.swap(items);
}

void FirstOrderOptimizer::fill_items() {
  const StateStorage& storage = rule_->storage();
  const bool in_place = updates().empty();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const PerParameter& parameter = parameters_[i];
    const PerGroup& group = groups_[static_cast<std::size_t>(schema()[i].group)];
    UpdateItem& item = items_[i];
    item = {};
    item.param = params()[i];
    item.gradient = grads()[i];
    if (!in_place) item.update = updates()[i];
    item.rule = group.kernel;
    item.constants = parameter.used ? &group.constants : &group.first_constants;
    item.format = storage.format;
    item.stochastic = storage.stochastic_rounding;
    item.random_key = parameter.random_key;
    item.first = slice_of(schema(), i).begin;
    item.master = static_cast<float*>(parameter.states[kMaster].numbers.data());
    int place = 0;
    for (std::size_t s = 0; s < kMaster; ++s) {
      if (!has_bit(parameter.active, s)) continue;
      item.states[place] = parameter.states[s].numbers.data();
      item.factors[place] = static_cast<float*>(parameter.states[s].factors.data());
      if (has_bit(rule_->signed_states(), s)) item.signed_states |= static_cast<std::uint8_t>(1U << place);
      ++place;
    }
  }
  filled_ = all_used_;
}

void FirstOrderOptimizer::apply(double grad_multiplier, double clip_value) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto values = hyper_parameters().values(static_cast<std::int32_t>(g));
    rule_->write_constants(values, step_count(), /*first=*/false, &groups_[g].constants);
    if (!all_used_) rule_->write_constants(values, step_count(), /*first=*/true, &groups_[g].first_constants);
  }
  if (buffers_changed() || !filled_) fill_items();
  UpdateJob job;
  job.work = &work();
  job.items = items_;
  job.grad_multiplier = rule_->maximize() ? -grad_multiplier : grad_multiplier;
  job.clip_value = clip_value;
  job.step = step_count();
  context()->backend().update(job);
  if (all_used_) return;
  all_used_ = true;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (grads()[i].data != nullptr) parameters_[i].used = true;
    all_used_ = all_used_ && parameters_[i].used;
  }
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
  return {static_cast<std::uint8_t*>(buffer.numbers.data()), static_cast<float*>(buffer.factors.data()),
          slice_of(schema(), index).size, has_bit(rule_->signed_states(), slot)};
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
    decoded = context()->allocate(static_cast<std::size_t>(own.size * size_of(DType::f32)), /*zeroed=*/false);
    context()->backend().decode(coded(index, slot), static_cast<float*>(decoded.data()));
    own.data = decoded.data();
    own.dtype = DType::f32;
  }
  Buffer gathered;
  if (is_sharded()) {
    const StoredState stored{index, name, own, slice_of(schema(), index).begin, schema()[index].size, false};
    gathered = gather(stored);
    own.data = gathered.data();
    own.size = stored.total;
  }
  const WorkList work({&own.size, 1});
  const CopyItem item{host, own};
  context()->backend().copy(work, {&item, 1}, 1, 1);
}

void FirstOrderOptimizer::set_state(std::size_t index, const char* name, const Array& host) {
  const std::size_t slot = find_state(index, name);
  const Slice slice = slice_of(schema(), index);
  Array own = numbers_of(index, slot);
  Buffer staged;
  const bool codes = format_of(slot) == StateFormat::block_code;
  if (codes || slice.size != host.size) {
    // Whole and in the arithmetic type, of which this rank's part is taken.
    const DType dtype = arithmetic_dtype(schema()[index].dtype);
    staged = context()->allocate(static_cast<std::size_t>(host.size * size_of(dtype)), /*zeroed=*/false);
    const WorkList work({&host.size, 1});
    const CopyItem item{{staged.data(), host.size, dtype, 0, nullptr, nullptr}, host};
    context()->backend().copy(work, {&item, 1}, 1, 1);
    Array part = item.destination;
    part.data = static_cast<std::byte*>(part.data) + slice.begin * size_of(dtype);
    part.size = slice.size;
    if (codes) {
      context()->backend().encode(static_cast<const float*>(part.data), coded(index, slot));
    } else {
      const WorkList part_work({&part.size, 1});
      const CopyItem store{own, part};
      context()->backend().copy(part_work, {&store, 1}, 1, 1);
    }
  } else {
    const WorkList work({&own.size, 1});
    const CopyItem item{own, host};
    context()->backend().copy(work, {&item, 1}, 1, 1);
  }
  parameters_[index].used = true;
  filled_ = false;
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
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::int64_t size = next != nullptr ? next->slice(i).size : schema()[i].size;
    prepared_[i].active = parameters_[i].active;
    prepared_[i].used = keep && parameters_[i].used;
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
    const std::byte* from = static_cast<const std::byte*>(stored.array.data);
    if (gathers) {
      gather(stored, whole.data());
      from = whole.as<std::byte>();
    }
    if (part.bytes() > 0) std::memcpy(part.data(), from + begin * size_of(stored.array.dtype), part.bytes());
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
  all_used_ = filled_ = false;
}

std::vector<std::uint8_t> FirstOrderOptimizer::state_flags() const {
  std::vector<std::uint8_t> flags;
  flags.reserve(parameters_.size());
  for (const PerParameter& parameter : parameters_) flags.push_back(parameter.used ? 1 : 0);
  return flags;
}

void FirstOrderOptimizer::set_state_flags(std::span<const std::uint8_t> flags) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].used = flags[i] != 0;
  all_used_ = filled_ = false;
}

std::int64_t FirstOrderOptimizer::other_bytes() const {
  return Optimizer::other_bytes() +
         static_cast<std::int64_t>(items_.capacity() * sizeof(UpdateItem) + groups_.capacity() * sizeof(PerGroup) +
                                   parameters_.capacity() * sizeof(PerParameter));
}

}  // namespace gradstep
