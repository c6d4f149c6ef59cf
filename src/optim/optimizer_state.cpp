// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer's state as hosts and files see it.
#include <algorithm>
#include <string_view>

#include "backend/host_copies.h"
#include "comm/all_or_none.h"
#include "core/error.h"
#include "core/text.h"
#include "optim/optimizer.h"

namespace gradstep {

namespace {

/// "statistics.{block}.{axis}" stands for every name that begins with "statistics.".
bool stands_for(std::string_view listed, std::string_view name) {
  const std::size_t open = listed.find('{');
  return open == std::string_view::npos ? listed == name : name.starts_with(listed.substr(0, open));
}

}  // namespace

std::size_t Optimizer::find_state(std::size_t index, const char* name) const {
  if (index >= schema_.size()) fail_argument("index: is {}, the schema has {} parameters", index, schema_.size());
  if (name == nullptr) fail_argument("name: is NULL");
  const std::size_t slot = state_.find(index, name);
  if (slot < state_.slots(index)) return slot;
  if (std::ranges::any_of(traits_.state_names, [&](const char* listed) { return stands_for(listed, name); })) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "state '{}' of parameter '{}' does not exist: what needs it is switched off, or does not fit its shape", name,
         schema_[index].name);
  }
  fail_argument("name: '{}' is not a state of {}, expected one of {}", name, kind(), join(traits_.state_names, ", "));
}

std::span<const std::int64_t> Optimizer::state_shape(std::size_t index, const char* name) const {
  if (index < schema_.size() && name != nullptr) {
    const std::size_t slot = state_.find(index, name);
    if (slot < state_.slots(index) && state_.is_whole(index, slot)) return state_.shape(index, slot);
  }
  return schema_[index].shape;
}

Array Optimizer::state(std::size_t index, const char* name) {
  const std::size_t slot = find_state(index, name);
  if (is_sharded()) fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is shared by ranks: get_state copies it", name);
  on(StateEvent::is_read);
  const StateTensor& tensor = state_.tensor(index, slot);
  if (tensor.is_coded()) fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is stored in codes: get_state copies it", name);
  return tensor.numbers();
}

void Optimizer::get_state(std::size_t index, const char* name, const Array& host) {
  on(StateEvent::is_read);
  const std::size_t slot = find_state(index, name);
  const StateTensor& tensor = state_.tensor(index, slot);
  const std::int32_t owner = state_.owner(index, slot);
  const bool travels = is_sharded() && (owner >= 0 || (has_slices() && !state_.is_whole(index, slot)));
  const std::int64_t total = tensor.form().size();
  Array own = tensor.numbers();
  Buffer decoded;
  Buffer whole;
  all_or_none(travels ? &sharding_->comm() : nullptr, "read its state", [&] {
    if (tensor.is_coded()) {
      own = compact_array(nullptr, tensor.slice().size, DType::f32);
      decoded = site_.allocate(static_cast<std::size_t>(own.bytes()), /*zeroed=*/false);
      own.data = decoded.data();
      if (tensor.is_here()) tensor.decode(site_, decoded.as<float>());
    }
    if (travels) whole = context_->allocate(static_cast<std::size_t>(total * size_of(own.dtype)), /*zeroed=*/false);
  });
  if (!travels) return copy_to_host(*context_, site_, own, host);
  gather({index, name, own, tensor.slice().begin, total, false, owner}, whole.data());
  Site(context_->cpu()).copy(host, compact_array(whole.data(), total, own.dtype));
}

void Optimizer::set_state(std::size_t index, const char* name, const Array& host) {
  on(StateEvent::is_read);
  const std::size_t slot = find_state(index, name);
  const StateTensor& tensor = state_.tensor(index, slot);
  const Slice slice = tensor.slice();
  const bool is_plain = !tensor.is_coded() && slice.size == host.size;
  if (is_plain) {
    copy_from_host(*context_, site_, host, tensor.numbers());
  } else if (tensor.is_here()) {
    // Whole and in the arithmetic type, of which this rank's part is taken.
    const DType dtype = arithmetic_dtype(schema_[index].dtype);
    const Buffer staged = site_.allocate(static_cast<std::size_t>(host.size * size_of(dtype)), /*zeroed=*/false);
    copy_from_host(*context_, site_, host, compact_array(staged.data(), host.size, dtype));
    const Array part = compact_array(staged.as<std::byte>() + slice.begin * size_of(dtype), slice.size, dtype);
    if (tensor.is_coded()) {
      tensor.encode(site_, static_cast<const float*>(part.data));
    } else {
      site_.copy(tensor.numbers(), part);
    }
  }
  state_.flags().mark(site_, index);
}

void Optimizer::check_average(std::size_t index) {
  if (!state_.has(index, kWeightAverage)) {
    fail(GRADSTEP_ERR_INVALID_STATE, "parameter '{}' has no average: its rule's average_decay is 0",
         schema_[index].name);
  }
  double count = 0;
  get_state(index, kWeightAverageCount, compact_array(&count, 1, DType::f64));
  if (count == 0) {
    fail(GRADSTEP_ERR_INVALID_STATE, "parameter '{}' has no average yet: no step was made", schema_[index].name);
  }
}

void Optimizer::set_state_flags(std::span<const std::uint8_t> flags) {
  state_.flags().write(site_, flags);
  on(StateEvent::has_new_flags);
}

std::span<const gradstep_metric> Optimizer::metrics() {
  metrics_.clear();
  on(StateEvent::is_measured);
  return metrics_;
}

std::vector<StoredState> Optimizer::stored_states() {
  pending_.clear();
  on(StateEvent::is_saved);
  std::vector<StoredState> all = state_.stored();
  all.insert(all.end(), pending_.begin(), pending_.end());
  return all;
}

}  // namespace gradstep
