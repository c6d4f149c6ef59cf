// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What decides a step: whether it is made, and by what its gradients are multiplied.
#pragma once

#include <cstdint>
#include <limits>

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

/// Up to where a step stores finite numbers. Known beforehand, and the same wherever the step is decided.
struct StepLimits {
  double gradient = std::numeric_limits<double>::infinity();    ///< of an element that a rule sees
  double multiplier = std::numeric_limits<double>::infinity();  ///< of gradients
};

/// What the host asks of a step. Pointers are to the backend's memory.
struct StepRequest {
  double grad_scale = 1;
  double max_norm = 0;    ///< 0 = off
  double clip_value = 0;  ///< clamps what comes out of the multiplication to ±clip_value; 0 = off
  bool skip_nonfinite = false;
  bool skip = false;                         ///< whatever the gradients are
  const double* norm = nullptr;              ///< of the gradients; NULL = measured where something depends on it
  const double* largest = nullptr;           ///< the largest magnitude of an element; NULL = measured where it decides
  bool is_part = false;                      ///< the norm is that of more arrays than the step's
  float* found_inf = nullptr;                ///< non-zero skips the step; becomes 1 when the step counts as not finite
  const float* grad_scale_factor = nullptr;  ///< multiplies grad_scale; one that is not finite skips the step
  double* outcome = nullptr;                 ///< [4], see report()

  constexpr bool may_skip() const { return skip_nonfinite || found_inf != nullptr; }
  bool depends_on_norm() const { return max_norm > 0 || may_skip(); }
  /// Whether the step is made does not depend on what is in the backend's memory.
  bool is_decided_by_host() const { return !may_skip() && grad_scale_factor == nullptr; }
};

GRADSTEP_FORMULA bool is_finite(double x) { return x - x == 0; }

/// A NaN norm makes the coefficient NaN, as PyTorch's clamp does: the gradients' NaNs are not hidden. `scale` is a
/// magnitude. Its product with a finite norm may be beyond a double.
GRADSTEP_FORMULA double clip_coefficient(double max_norm, double scale, double norm) {
  const double scaled = scale * norm;
  const double coefficient =
      is_finite(scaled) || !is_finite(norm) ? max_norm / (scaled + 1e-6) : max_norm / norm / scale;
  return coefficient > 1 ? 1 : coefficient;
}

/// Could the step store a number that is not finite? No element of the gradients is larger than `largest`, for which
/// their norm will do.
GRADSTEP_FORMULA bool could_overflow(const StepRequest& request, const StepLimits& limits, double largest, double scale,
                                     double coefficient) {
  if (!is_finite(largest)) return true;
  const double magnitude = scale < 0 ? -scale : scale;
  double seen = magnitude * largest;
  if (request.max_norm > 0 && request.max_norm < seen) seen = request.max_norm;
  if (request.clip_value > 0 && request.clip_value < seen) seen = request.clip_value;
  return !(seen <= limits.gradient && magnitude * coefficient <= limits.multiplier);
}

/// Whether the norm alone does not tell if the step is skipped: it is above the limit, and an element may not be.
GRADSTEP_FORMULA bool depends_on_elements(const StepRequest& request, const StepLimits& limits, double norm) {
  if (!request.may_skip() || !is_finite(norm)) return false;
  double scale = request.grad_scale;
  if (request.grad_scale_factor != nullptr) scale *= static_cast<double>(*request.grad_scale_factor);
  return could_overflow(request, limits, norm, scale, 0);
}

GRADSTEP_FORMULA void decide(const StepRequest& request, const StepLimits& limits, double norm, double largest,
                             StepScalars& s) {
  s.norm = norm;
  s.clip_coefficient = 1;
  double scale = request.grad_scale;
  bool skip = request.skip;
  if (request.grad_scale_factor != nullptr) {
    scale *= static_cast<double>(*request.grad_scale_factor);
    skip = skip || !is_finite(scale);
  }
  double coefficient = 1;
  if (request.max_norm > 0) coefficient = clip_coefficient(request.max_norm, scale < 0 ? -scale : scale, norm);
  if (request.may_skip() && (!is_finite(norm) || could_overflow(request, limits, largest, scale, coefficient))) {
    skip = true;
    if (request.found_inf != nullptr) *request.found_inf = 1;
  }
  if (request.found_inf != nullptr && *request.found_inf != 0) skip = true;
  s.gate = skip ? 0 : 1;
  if (skip) {
    ++s.skipped;
    return;
  }
  s.clip_coefficient = coefficient;
  s.grad_multiplier = scale * coefficient;
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
