// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/first_order_state.h"

#include <algorithm>
#include <cstring>

#include "backend/host_copies.h"
#include "core/error.h"
#include "core/text.h"

namespace gradstep {

namespace {

constexpr const char* kMasterWeights = "master_weights";

bool has_bit(std::uint32_t bits, std::size_t i) { return ((bits >> i) & 1U) != 0; }

}  // namespace

FirstOrderState::FirstOrderState(const Context& context, const Site& site, const Rule& rule)
    : context_(context), site_(site), rule_(rule), names_(rule.state_names().begin(), rule.state_names().end()) {
  if (rule.storage().master_weights) names_.push_back(kMasterWeights);
}

StateFormat FirstOrderState::format_of(std::size_t slot) const {
  return slot == kMaster ? StateFormat::native : rule_.storage().format;
}

const char* FirstOrderState::name_of(std::size_t slot) const { return slot == kMaster ? kMasterWeights : names_[slot]; }

bool FirstOrderState::is_signed(std::size_t slot) const { return slot != kMaster && rule_.has_signs(slot); }

std::size_t FirstOrderState::find(const Schema& schema, std::size_t index, const char* name) const {
  if (index >= schema.size()) fail_argument("index: is {}, the schema has {} parameters", index, schema.size());
  if (name == nullptr) fail_argument("name: is NULL");
  for (std::size_t s = 0; s < kSlots; ++s) {
    const bool named = s == kMaster ? rule_.storage().master_weights : s < rule_.state_names().size();
    if (!named || std::strcmp(name, name_of(s)) != 0) continue;
    if (!has_bit(parameters_[index].active, s)) {
      fail(GRADSTEP_ERR_INVALID_STATE, "state '{}' of parameter '{}' does not exist: what needs it is switched off",
           name, schema[index].name);
    }
    return s;
  }
  fail_argument("name: '{}' is not a state of {}, expected one of {}", name, rule_.name(), join(names_, ", "));
}

Array FirstOrderState::numbers(std::size_t index, std::size_t slot) const {
  const PerParameter& parameter = parameters_[index];
  Array array = compact_array(parameter.states[slot].numbers.data(), parameter.slice.size, DType::u8);
  if (format_of(slot) == StateFormat::bf16) array.dtype = DType::bf16;
  if (format_of(slot) == StateFormat::native) array.dtype = arithmetic_dtype(parameter.dtype);
  return array;
}

CodedNumbers FirstOrderState::codes(std::size_t index, std::size_t slot) const {
  const PerParameter& parameter = parameters_[index];
  const StateBuffer& buffer = parameter.states[slot];
  return {buffer.numbers.as<std::uint8_t>(), buffer.factors.as<float>(), parameter.slice.size, is_signed(slot)};
}

StoredState FirstOrderState::stored_numbers(std::size_t index, std::size_t slot) const {
  const PerParameter& parameter = parameters_[index];
  StoredState stored{index, name_of(slot), numbers(index, slot), parameter.slice.begin, parameter.total, false};
  using Code = StoredState::Code;
  if (is_coded(slot)) stored.code = is_signed(slot) ? Code::with_signs : Code::of_magnitudes;
  return stored;
}

StoredState FirstOrderState::stored_factors(std::size_t index, std::size_t slot) const {
  const PerParameter& parameter = parameters_[index];
  const Array factors =
      compact_array(parameter.states[slot].factors.data(), factor_count(parameter.slice.size), DType::f32);
  return {index,
          std::string(name_of(slot)) + ".scales",
          factors,
          parameter.slice.begin / kernels::kCodeBlock,
          factor_count(parameter.total),
          true};
}

std::vector<StoredState> FirstOrderState::stored() const {
  std::vector<StoredState> stored;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (!has_bit(parameters_[i].active, s)) continue;
      stored.push_back(stored_numbers(i, s));
      if (is_coded(s)) stored.push_back(stored_factors(i, s));
    }
  }
  return stored;
}

void FirstOrderState::show(std::size_t index, UpdateItem& item) const {
  const PerParameter& parameter = parameters_[index];
  item.format = rule_.storage().format;
  item.first = parameter.slice.begin;
  item.master = parameter.states[kMaster].numbers.as<float>();
  std::size_t place = 0;
  for (std::size_t s = 0; s < kMaster; ++s) {
    if (!has_bit(parameter.active, s)) continue;
    item.states[place] = parameter.states[s].numbers.data();
    item.factors[place] = parameter.states[s].factors.as<float>();
    if (is_signed(s)) item.signed_states |= static_cast<std::uint8_t>(1U << place);
    ++place;
  }
}

FirstOrderState::StateBuffer FirstOrderState::allocate(std::size_t slot, DType parameter, std::int64_t elements) const {
  StateBuffer buffer;
  if (elements == 0) return buffer;
  const std::int64_t bytes = is_coded(slot) ? elements : stored_bytes(format_of(slot), parameter, elements);
  buffer.numbers = site_.allocate(static_cast<std::size_t>(bytes), /*zeroed=*/false);
  if (is_coded(slot)) {
    const std::int64_t factors = factor_count(elements) * size_of(DType::f32);
    buffer.factors = site_.allocate(static_cast<std::size_t>(factors), /*zeroed=*/false);
  }
  set_initial(slot, parameter, buffer, elements);
  return buffer;
}

/// A number other than zero to start with needs scratch.
void FirstOrderState::set_initial(std::size_t slot, DType parameter, const StateBuffer& buffer,
                                  std::int64_t elements) const {
  site_.queue().zero(buffer.numbers.data(), buffer.numbers.bytes());
  site_.queue().zero(buffer.factors.data(), buffer.factors.bytes());
  const double value = slot == kMaster ? 0 : rule_.initial_value(slot);
  if (value == 0 || elements == 0) return;
  const DType dtype = arithmetic_dtype(parameter);
  Buffer filled = context_.allocate(static_cast<std::size_t>(elements * size_of(dtype)), /*zeroed=*/false);
  if (dtype == DType::f64) {
    std::fill_n(filled.as<double>(), elements, value);
  } else {
    std::fill_n(filled.as<float>(), elements, static_cast<float>(value));
  }
  const Buffer source = upload(site_, std::move(filled));
  if (is_coded(slot)) {
    const CodedNumbers codes{buffer.numbers.as<std::uint8_t>(), buffer.factors.as<float>(), elements, is_signed(slot)};
    return site_.backend().encode(source.as<float>(), codes, site_.queue());
  }
  const DType stored = format_of(slot) == StateFormat::bf16 ? DType::bf16 : dtype;
  site_.copy(compact_array(buffer.numbers.data(), elements, stored), compact_array(source.data(), elements, dtype));
}

bool FirstOrderState::begins_anew(std::size_t index, std::uint32_t slots) const {
  return index >= parameters_.size() || (slots & ~parameters_[index].active) != 0;
}

FirstOrderState::Growth FirstOrderState::grow(std::span<const Want> wants) {
  Growth growth;
  for (std::size_t i = 0; i < wants.size(); ++i) {
    const Want& want = wants[i];
    for (std::size_t s = 0; s < kSlots; ++s) {
      const bool exists = i < parameters_.size() && parameters_[i].states[s].numbers.bytes() > 0;
      if (!has_bit(want.slots, s) || exists) continue;
      growth.fresh.push_back({i, s, allocate(s, want.parameter->dtype, want.slice.size)});
    }
  }
  parameters_.reserve(wants.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::uint32_t back = wants[i].slots & ~parameters_[i].active;
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (has_bit(back, s)) set_initial(s, parameters_[i].dtype, parameters_[i].states[s], parameters_[i].slice.size);
    }
  }
  return growth;
}

void FirstOrderState::commit(Growth growth, std::span<const Want> wants) noexcept {
  parameters_.resize(wants.size());
  for (Growth::Fresh& fresh : growth.fresh) {
    parameters_[fresh.parameter].states[fresh.slot] = std::move(fresh.buffer);
  }
  for (std::size_t i = 0; i < wants.size(); ++i) {
    PerParameter& parameter = parameters_[i];
    parameter.active = wants[i].slots;
    parameter.dtype = wants[i].parameter->dtype;
    parameter.slice = wants[i].slice;
    parameter.total = wants[i].parameter->size;
  }
}

void FirstOrderState::prepare_slices(std::span<const Slice> slices) {
  prepared_.clear();
  prepared_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    PerParameter& next = prepared_[i];
    next.active = parameters_[i].active;
    next.dtype = parameters_[i].dtype;
    next.slice = slices[i];
    next.total = parameters_[i].total;
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (has_bit(next.active, s)) next.states[s] = allocate(s, next.dtype, next.slice.size);
    }
  }
}

std::int64_t FirstOrderState::largest() const {
  std::int64_t largest = 0;
  for (const StoredState& state : stored()) largest = std::max(largest, state.total * size_of(state.array.dtype));
  return largest;
}

void FirstOrderState::fill_slices(FunctionRef<void(const StoredState&, const Buffer&, std::int64_t)> fill) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::int64_t begin = prepared_[i].slice.begin;
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (!has_bit(parameters_[i].active, s)) continue;
      const StateBuffer& part = prepared_[i].states[s];
      fill(stored_numbers(i, s), part.numbers, begin);
      if (is_coded(s)) fill(stored_factors(i, s), part.factors, begin / kernels::kCodeBlock);
    }
  }
}

void FirstOrderState::commit_slices() noexcept {
  parameters_.swap(prepared_);
  prepared_.clear();
}

}  // namespace gradstep
