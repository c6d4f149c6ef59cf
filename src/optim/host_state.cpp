// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/host_state.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/host_copies.h"
#include "comm/all_or_none.h"
#include "core/error.h"
#include "core/text.h"
#include "optim/parts.h"
#include "optim/state_gather.h"
#include "optim/stepped_model.h"

namespace gradstep {

namespace {

/// "statistics.{block}.{axis}" stands for every name that begins with "statistics.".
bool stands_for(std::string_view listed, std::string_view name) {
  const std::size_t open = listed.find('{');
  return open == std::string_view::npos ? listed == name : name.starts_with(listed.substr(0, open));
}

}  // namespace

HostState::HostState(SteppedModel& model)
    : model_(model), schema_(model.schema()), site_(model.site()), store_(model.store()) {}

std::size_t HostState::find(std::size_t index, const char* name) const {
  if (index >= schema_.size()) fail_argument("index: is {}, the schema has {} parameters", index, schema_.size());
  if (name == nullptr) fail_argument("name: is NULL");
  const std::size_t slot = store_.find(index, name);
  if (slot != StateStore::kNoSlot) {
    if (store_.owner(index, slot) >= 0) check_parts_are_attached(schema_, model_.is_sharded());
    return slot;
  }
  if (std::ranges::any_of(model_.traits_.state_names, [&](const char* listed) { return stands_for(listed, name); })) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "state '{}' of parameter '{}' does not exist: what needs it is switched off, or does not fit its shape", name,
         schema_[index].name);
  }
  fail_argument("name: '{}' is not a state of {}, expected one of {}", name, model_.kind(),
                join(model_.traits_.state_names, ", "));
}

std::span<const char* const> HostState::names() const { return model_.traits_.state_names; }

std::span<const std::int64_t> HostState::shape(std::size_t index, const char* name) const {
  if (index < schema_.size() && name != nullptr) {
    const std::size_t slot = store_.find(index, name);
    const bool exists = slot != StateStore::kNoSlot;
    if (exists && store_.is_whole(index, slot)) return store_.shape(index, slot);
    if (exists && store_.owner(index, slot) >= 0) return schema_[index].whole_shape();
  }
  return schema_[index].shape;
}

Array HostState::view(std::size_t index, const char* name) const {
  const std::size_t slot = find(index, name);
  if (model_.is_sharded() && (model_.sharding()->parts() == nullptr || store_.owner(index, slot) >= 0)) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is shared by ranks: get_state copies it", name);
  }
  model_.on(SteppedModel::StateEvent::is_read);
  const StateTensor& tensor = store_.tensor(index, slot);
  if (tensor.is_coded()) fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is stored in codes: get_state copies it", name);
  return tensor.numbers();
}

void HostState::get(std::size_t index, const char* name, const Array& host) const {
  model_.on(SteppedModel::StateEvent::is_read);
  const std::size_t slot = find(index, name);
  const StateTensor& tensor = store_.tensor(index, slot);
  const std::int32_t owner = store_.owner(index, slot);
  const bool travels = model_.is_sharded() && (owner >= 0 || (model_.has_slices() && !store_.is_whole(index, slot)));
  const std::int64_t total = tensor.form().size();
  Array own = tensor.numbers();
  Buffer decoded;
  Buffer whole;
  std::optional<StateGather> spread;
  all_or_none(travels ? &model_.sharding()->comm() : nullptr, "read its state", [&] {
    if (tensor.is_coded()) {
      own = compact_array(nullptr, tensor.slice().size, DType::f32);
      decoded = site_.allocate(static_cast<std::size_t>(own.bytes()), /*zeroed=*/false);
      own.data = decoded.data();
      if (tensor.is_here()) tensor.decode(site_, decoded.as<float>());
    }
    if (!travels) return;
    whole = model_.context()->allocate(static_cast<std::size_t>(total * size_of(own.dtype)), /*zeroed=*/false);
    const StoredState state{index, name, own, tensor.slice().begin, total, /*is_blocked=*/false, owner};
    spread.emplace(model_, std::vector{state});
  });
  if (!spread) return copy_to_host(*model_.context(), site_, own, host);
  spread->gather(0, whole.data());
  const Array all = compact_array(whole.data(), total, own.dtype);
  const Parameter& parameter = schema_[index];
  const std::vector<std::int64_t> strides = strides_of(parameter.whole_shape());
  Site(model_.context()->cpu()).copy(host, host.size == total ? all : box_in(all, strides, box_of(parameter)));
}

void HostState::set(std::size_t index, const char* name, const Array& host) const {
  model_.on(SteppedModel::StateEvent::is_read);
  const std::size_t slot = find(index, name);
  const StateTensor& tensor = store_.tensor(index, slot);
  const Slice slice = tensor.slice();
  const bool is_plain = !tensor.is_coded() && slice.size == host.size;
  if (is_plain) {
    copy_from_host(*model_.context(), site_, host, tensor.numbers());
  } else if (tensor.is_here()) {
    // Whole and in the arithmetic type, of which this rank's part is taken.
    const DType dtype = arithmetic_dtype(schema_[index].dtype);
    const Buffer staged = site_.allocate(static_cast<std::size_t>(host.size * size_of(dtype)), /*zeroed=*/false);
    const Array all = compact_array(staged.data(), host.size, dtype);
    copy_from_host(*model_.context(), site_, host, all);
    const Array part = part_of(all, slice.begin, slice.size);
    if (tensor.is_coded()) {
      tensor.encode(site_, static_cast<const float*>(part.data));
    } else {
      site_.copy(tensor.numbers(), part);
    }
  }
  store_.flags().mark(site_, index);
}

void HostState::check_average(std::size_t index, const OwnAverage& own) const {
  const auto fail_without_steps = [&] {
    fail(GRADSTEP_ERR_INVALID_STATE, "parameter '{}' has no average yet: no step was made", schema_[index].name);
  };
  if (own.state != nullptr) {
    if (flags()[index] == 0) fail_without_steps();
    return;
  }
  if (!store_.has(index, kWeightAverage)) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "parameter '{}' has no average: its rule has neither average_decay nor average_equal", schema_[index].name);
  }
  double count = 0;
  get(index, kWeightAverageCount, compact_array(&count, 1, DType::f64));
  if (count == 0) fail_without_steps();
}

void HostState::get_average(std::size_t index, const OwnAverage& own, double share, const Array& host) const {
  if (own.state == nullptr || share == 1) return get(index, own.state != nullptr ? own.state : kWeightAverage, host);
  const DType dtype = arithmetic_dtype(schema_[index].dtype);
  const auto bytes = static_cast<std::size_t>(host.size * size_of(dtype));
  const Buffer numbers = model_.context()->allocate(2 * bytes, /*zeroed=*/false);
  const Array state = compact_array(numbers.data(), host.size, dtype);
  const Array value = compact_array(numbers.as<std::byte>() + bytes, host.size, dtype);
  const Site cpu(model_.context()->cpu());
  get(index, own.state, state);
  store_.has(index, kMasterWeights) ? get(index, kMasterWeights, value) : cpu.copy(value, host);
  cpu.combine({value, value, state, 1 - share, share});
  cpu.copy(host, value);
}

std::vector<std::uint8_t> HostState::flags() const { return store_.flags().read(site_); }

void HostState::set_flags(std::span<const std::uint8_t> flags) const {
  store_.flags().write(site_, flags);
  model_.on(SteppedModel::StateEvent::has_new_flags);
}

std::vector<StoredState> HostState::stored() const {
  model_.pending_.clear();
  model_.on(SteppedModel::StateEvent::is_saved);
  std::vector<StoredState> all = store_.stored();
  all.insert(all.end(), model_.pending_.begin(), model_.pending_.end());
  return all;
}

}  // namespace gradstep
