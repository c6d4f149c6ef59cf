// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/window_outcome.h"

#include "core/absence.h"
#include "core/error.h"
#include "core/trace.h"

namespace gradstep {

WindowOutcome::WindowOutcome(const ExchangeResources& resources, const BucketLayout& layout,
                             const ControlRound& control)
    : resources_(resources),
      layout_(layout),
      control_(control),
      norm_(resources.site.allocate(sizeof(double), /*zeroed=*/true)) {
  for (std::size_t i = 0; i < layout.parameters(); ++i) work_.append(layout.result_of(i).size);
  norm_plan_.work = &work_;
}

BufferList WindowOutcome::targets_in(BucketRange range, const BufferList& arrays) {
  targets_.assign(arrays.begin(), arrays.end());
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const std::size_t bucket = layout_.place_of(i).bucket;
    if (bucket < range.first || bucket >= range.end) targets_[i].data = nullptr;
  }
  return {targets_, /*version=*/0};
}

void WindowOutcome::write(const BufferList& targets) {
  if (targets.empty()) return;
  const Phase phase("unpack", {{"parameters", static_cast<std::int64_t>(targets.size())}});
  if (control_.has_optional() || targets.version == 0 || targets.version != results_version_) {
    results_version_ = 0;
    results_.clear();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!control_.has_gradient(i) || is_absent(targets[i])) continue;
      results_.add({targets[i], layout_.result_of(i)}, targets[i].size);
    }
    results_version_ = targets.version;
  }
  resources_.backend().copy(results_.plan(), 1, 1, resources_.site.queue());
}

void WindowOutcome::forget_buckets() {
  forget();
  results_version_ = 0;
  norm_plan_.prepared.forget();
}

void WindowOutcome::check_complete() const {
  if (!is_complete_) fail(GRADSTEP_ERR_INVALID_STATE, "there is no finished window");
}

BufferList WindowOutcome::gradients() {
  check_complete();
  for (std::size_t i = 0; i < layout_.parameters(); ++i) {
    Array shown = layout_.result_of(i);
    if (!control_.has_gradient(i)) shown.data = nullptr;
    shown_.set(i, shown);
  }
  return shown_.list();
}

const double* WindowOutcome::norm() {
  check_complete();
  if (!is_measured_) {
    const BufferList shown = gradients();
    if (!shown.shows_again(norm_plan_.arrays)) norm_plan_.prepared.forget();
    norm_plan_.arrays = shown;
    resources_.backend().measure(norm_plan_, norm_.as<double>(), resources_.site.queue());
    is_measured_ = true;
  }
  return norm_.as<double>();
}

}  // namespace gradstep
