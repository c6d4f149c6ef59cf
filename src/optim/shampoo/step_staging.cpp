// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/step_staging.h"

#include <algorithm>

#include "core/absence.h"

namespace gradstep {

namespace {

constexpr std::int64_t kFloatsPerLine = static_cast<std::int64_t>(kAlignment / sizeof(float));

bool is_compact_f32(const Array& array) { return array.contiguous() && array.dtype == DType::f32; }

}  // namespace

void CopyList::begin(std::size_t count) {
  items_.assign(count, {});
  sizes_.assign(count, 0);
}

void CopyList::set(std::size_t i, const Array& destination, const Array& source) {
  items_[i] = {destination, source};
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

void StepStaging::plan(const Schema& schema, std::span<const ShampooState> states) {
  states_ = states;
  sizes_.clear();
  offsets_.clear();
  std::int64_t elements = 0;
  for (const Parameter& parameter : schema) {
    sizes_.push_back(parameter.size);
    offsets_.push_back(elements);
    elements += (parameter.size + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
  }
  tensors_.assign(schema.size(), {});
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
  if (gradients_.bytes() == bytes) return;
  Buffer gradients = site_.allocate(bytes, /*zeroed=*/true);
  preconditioned_ = site_.allocate(bytes, /*zeroed=*/true);
  gradients_ = std::move(gradients);
  copies_ = Buffer();
}

bool StepStaging::load_parameters(std::span<const Array> params, std::span<const std::uint8_t> used) {
  if (copies_.bytes() == 0 && !std::all_of(params.begin(), params.end(), is_compact_f32)) {
    copies_ = site_.allocate(gradients_.bytes(), /*zeroed=*/false);
  }
  loaded_.begin(params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    TensorStep& tensor = tensors_[i];
    tensor.used = used[i] != 0;
    if (is_compact_f32(params[i])) {
      tensor.value = static_cast<const float*>(params[i].data);
      continue;
    }
    float* copy = copies_.as<float>() + offsets_[i];
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
    const bool in_place = tensor.takes_part && is_compact_f32(grads[i]) && as_they_are;
    tensor.gradient = in_place ? static_cast<const float*>(grads[i].data) : direction(i);
    tensor.direction = keeps_gradient ? tensor.gradient : direction(i);
    if (tensor.takes_part && !in_place) copied_.set(i, staged(direction(i), i), grads[i]);
  }
  copied_.run(site_, grad_multiplier, maximize ? -1 : 1);
  if (clip_value == 0) return;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (tensors_[i].takes_part) site_.backend().clamp(staged(direction(i), i), clip_value, site_.queue());
  }
}

/// Lists what publish() copies, too: that takes no memory afterwards.
void StepStaging::place_outcomes(std::span<const Array> params, std::span<const Array> updates) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Array& wanted = updates.empty() ? params[i] : updates[i];
    if (is_compact_f32(wanted)) {
      tensors_[i].outcome = static_cast<float*>(wanted.data);
    } else if (updates.empty() && states_[i].master() != nullptr) {
      tensors_[i].outcome = states_[i].master();
    } else {
      tensors_[i].outcome = direction(i);
    }
  }
  const bool in_place = updates.empty();
  published_.begin(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorStep& tensor = tensors_[i];
    const Array& wanted = in_place ? params[i] : updates[i];
    const bool is_done = tensor.takes_part ? tensor.outcome == wanted.data : in_place;
    if (is_done || sizes_[i] == 0) continue;
    published_.set(i, wanted, tensor.takes_part ? staged(tensor.outcome, i) : staged(nullptr, i));
  }
  published_.plan();
}

}  // namespace gradstep
