// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/step_staging.h"

#include <algorithm>

#include "core/absence.h"

namespace gradstep {

void CopyList::begin(std::size_t count) {
  items_.assign(count, {});
  sizes_.assign(count, 0);
}

void CopyList::set(std::size_t i, const Array& destination, const Array& source,
                   const kernels::TensorRounding& rounding) {
  items_[i] = {destination, source, rounding};
  sizes_[i] = destination.size;
}

bool CopyList::is_empty() const {
  return std::all_of(sizes_.begin(), sizes_.end(), [](std::int64_t size) { return size == 0; });
}

void CopyList::plan() {
  if (sizes_ == planned_sizes_) return;
  planned_sizes_.clear();  // in case there is no memory
  work_ = WorkList(sizes_);
  planned_sizes_ = sizes_;
}

void CopyList::run(const Site& site, const double* factor, double multiplier) {
  plan();
  if (work_.chunks().empty()) return;
  plan_.work = &work_;
  plan_.items = items_;
  plan_.factor = factor;
  site.backend().copy(plan_, multiplier, 1, site.queue());
}

void StepStaging::plan(const Schema& schema, std::span<const ShampooState> states, std::uint64_t seed) {
  states_ = states;
  sizes_.clear();
  offsets_.clear();
  random_keys_.clear();
  std::int64_t offset = 0;
  for (const Parameter& parameter : schema) {
    sizes_.push_back(parameter.size);
    offsets_.push_back(offset);
    random_keys_.push_back(random_key(parameter.name, seed));
    offset += line_bytes(parameter.size, arithmetic_dtype(parameter.dtype));
  }
  tensors_.assign(schema.size(), {});
  const auto bytes = static_cast<std::size_t>(offset);
  if (gradients_.bytes() == bytes) return;
  Buffer gradients = site_.allocate(bytes, /*zeroed=*/true);
  preconditioned_ = site_.allocate(bytes, /*zeroed=*/true);
  gradients_ = std::move(gradients);
  copies_ = Buffer();
}

bool StepStaging::load_parameters(std::span<const Array> params, std::span<const std::uint8_t> used) {
  bool are_in_place = true;
  for (std::size_t i = 0; i < params.size(); ++i) {
    are_in_place = are_in_place && (sizes_[i] == 0 || in_place(params[i], i) != nullptr);
  }
  if (copies_.bytes() == 0 && !are_in_place) copies_ = site_.allocate(gradients_.bytes(), /*zeroed=*/false);
  loaded_.begin(params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    TensorStep& tensor = tensors_[i];
    tensor.used = used[i] != 0;
    tensor.value = in_place(params[i], i);
    if (tensor.value != nullptr || sizes_[i] == 0) continue;
    void* copy = copies_.as<std::byte>() + offsets_[i];
    tensor.value = copy;
    loaded_.set(i, staged(copy, i), params[i]);
  }
  if (loaded_.is_empty()) return false;
  loaded_.run(site_);
  return true;
}

void StepStaging::step_masters() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (states_[i].master() != nullptr) tensors_[i].value = states_[i].master();
  }
}

void StepStaging::load_gradients(std::span<const Array> grads, const double* grad_multiplier, bool maximize,
                                 double clip_value, bool keeps_gradient) {
  const bool as_they_are = site_.is_host() && *grad_multiplier == 1 && !maximize && clip_value == 0;
  copied_.begin(grads.size());
  for (std::size_t i = 0; i < grads.size(); ++i) {
    TensorStep& tensor = tensors_[i];
    tensor.takes_part = !is_absent(grads[i]);
    const void* as_it_is = tensor.takes_part && as_they_are ? in_place(grads[i], i) : nullptr;
    tensor.gradient = as_it_is != nullptr ? as_it_is : direction(i);
    tensor.direction = keeps_gradient ? tensor.gradient : direction(i);
    if (tensor.takes_part && as_it_is == nullptr) copied_.set(i, staged(direction(i), i), grads[i]);
  }
  copied_.run(site_, grad_multiplier, maximize ? -1 : 1);
  if (clip_value == 0) return;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (tensors_[i].takes_part) site_.backend().clamp(staged(direction(i), i), clip_value, site_.queue());
  }
}

/// Lists what publish() copies, too: that takes no memory afterwards.
void StepStaging::place_outcomes(std::span<const Array> params, std::span<const Array> updates,
                                 std::int64_t random_step) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Array& wanted = updates.empty() ? params[i] : updates[i];
    if (void* as_it_is = in_place(wanted, i)) {
      tensors_[i].outcome = as_it_is;
    } else if (updates.empty() && states_[i].master() != nullptr) {
      tensors_[i].outcome = states_[i].master();
    } else {
      tensors_[i].outcome = direction(i);
    }
  }
  const bool steps_params = updates.empty();
  published_.begin(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorStep& tensor = tensors_[i];
    const Array& wanted = steps_params ? params[i] : updates[i];
    const bool is_done = tensor.takes_part ? tensor.outcome == wanted.data : steps_params;
    if (is_done || sizes_[i] == 0) continue;
    // What a master keeps, and updates, are rounded to nearest.
    const bool is_random = steps_params && states_[i].master() == nullptr;
    published_.set(i, wanted, tensor.takes_part ? staged(tensor.outcome, i) : staged(nullptr, i),
                   {random_keys_[i], is_random ? random_step : -1});
  }
  published_.plan();
}

}  // namespace gradstep
