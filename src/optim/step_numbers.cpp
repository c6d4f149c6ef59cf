// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/step_numbers.h"

namespace gradstep {

/// Where steps are queued, t is the device's: it evaluates schedules that need no host. For others the host waits, and
/// for rules whose constants it writes.
bool StepNumbers::is_evaluated_here() const {
  return site_.is_host() || plan_.rules.empty() || hyper_parameters_.needs_host();
}

void StepNumbers::take() {
  if (std::exchange(refreshed_, false)) return;
  if (is_evaluated_here()) {
    hyper_parameters_.refresh(clock_.t(), &site_.queue());
  } else if (plan_.forms.empty()) {
    forms_ = hyper_parameters_.forms();
    plan_.forms = forms_;
    plan_.prepared.forget();
  }
}

void StepNumbers::begin(const BufferList& grads, const StepGuards& guards) {
  plan_.gradients.arrays = grads;
  const bool is_here = is_evaluated_here();
  const double* values = is_here ? hyper_parameters_.all_values().data() : nullptr;
  site_.backend().begin_step(plan_, guards, values, clock_.scalars(), site_.queue());
  clock_.follow_begin(guards, plan_.limits, is_here);
}

}  // namespace gradstep
