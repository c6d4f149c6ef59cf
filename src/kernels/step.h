// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What decides a step: whether it is made, and by what its gradients are multiplied.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// In the backend's memory, one for each optimizer. What changes state reads `gate` and does nothing when it is closed.
struct StepScalars {
  double norm = 0;              ///< of the gradients, before grad_scale; NaN = nothing asked for it
  double clip_coefficient = 1;  ///< min(1, max_norm / (|grad_scale| * norm + 1e-6)); 1 without max_norm
  double grad_multiplier = 1;   ///< grad_scale * clip_coefficient
  std::int64_t steps = 0;       ///< t: those that were made before this one
  std::int64_t skipped = 0;
  std::uint32_t gate = 0;     ///< 1 = the step is made
  std::uint32_t failure = 0;  ///< 1 + the position of a hyper-parameter that left its range; steps are not made then
};

/// What the host asks of a step. Pointers are to the backend's memory.
struct StepRequest {
  double grad_scale = 1;
  double max_norm = 0;    ///< 0 = off
  double clip_value = 0;  ///< clamps what comes out of the multiplication to ±clip_value; 0 = off
  bool skip_nonfinite = false;
  bool skip = false;                         ///< whatever the gradients are
  const double* norm = nullptr;              ///< of the gradients; NULL = measured where something depends on it
  float* found_inf = nullptr;                ///< non-zero skips the step; becomes 1 when the norm is not finite
  const float* grad_scale_factor = nullptr;  ///< multiplies grad_scale; one that is not finite skips the step
  double* outcome = nullptr;                 ///< [4], see report()

  bool depends_on_norm() const { return max_norm > 0 || skip_nonfinite || found_inf != nullptr; }
  /// Whether the step is made does not depend on what is in the backend's memory.
  bool is_decided_by_host() const { return !skip_nonfinite && found_inf == nullptr && grad_scale_factor == nullptr; }
};

GRADSTEP_FORMULA bool is_finite(double x) { return x - x == 0; }

GRADSTEP_FORMULA void decide(const StepRequest& request, double norm, StepScalars& s) {
  s.norm = norm;
  s.clip_coefficient = 1;
  double scale = request.grad_scale;
  bool skip = request.skip;
  if (request.grad_scale_factor != nullptr) {
    scale *= static_cast<double>(*request.grad_scale_factor);
    skip = skip || !is_finite(scale);
  }
  if ((request.skip_nonfinite || request.found_inf != nullptr) && !is_finite(norm)) {
    skip = true;
    if (request.found_inf != nullptr) *request.found_inf = 1;
  }
  if (request.found_inf != nullptr && *request.found_inf != 0) skip = true;
  s.gate = skip ? 0 : 1;
  if (skip) {
    ++s.skipped;
    return;
  }
  if (request.max_norm > 0) {
    // A NaN norm makes the coefficient NaN, as PyTorch's clamp does: the gradients' NaNs are not hidden.
    const double coefficient = request.max_norm / ((scale < 0 ? -scale : scale) * norm + 1e-6);
    s.clip_coefficient = coefficient > 1 ? 1 : coefficient;
  }
  s.grad_multiplier = scale * s.clip_coefficient;
}

/// Hyper-parameter `position` ([group][field]) has left its range.
GRADSTEP_FORMULA void fail_step(std::int32_t position, StepScalars& s) {
  s.gate = 0;
  s.failure = 1 + static_cast<std::uint32_t>(position);
}

/// What the host wants to know of a step, once it is decided.
GRADSTEP_FORMULA void report(const StepRequest& request, const StepScalars& s) {
  if (request.outcome == nullptr) return;
  request.outcome[0] = s.gate;
  request.outcome[1] = s.norm;
  request.outcome[2] = s.clip_coefficient;
  request.outcome[3] = static_cast<double>(s.steps + s.gate);
}

/// After all of the step: t goes on.
GRADSTEP_FORMULA void close_step(StepScalars& s) { s.steps += s.gate; }

}  // namespace gradstep::kernels
