// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo's element-wise formulas: the norms that a direction and the gradient P(g) get (grafting), the two momenta.
// Their order of operations is that of Google's code; see gradstep_shampoo_options. Directions are in rules/shampoo.h.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// The rule whose step length the preconditioned direction gets.
enum class Graft : std::uint8_t {
  sgd,
  adagrad,
  rmsprop,
  rmsprop_normalized,
  sqrt_n,
  adagrad_normalized,
  adam,
  none,
};

constexpr bool is_normalized(Graft graft) {
  return graft == Graft::rmsprop_normalized || graft == Graft::adagrad_normalized;
}
/// The direction is the gradient itself.
constexpr bool is_plain(Graft graft) { return graft == Graft::sgd || graft == Graft::none; }
constexpr bool is_rmsprop(Graft graft) { return graft == Graft::rmsprop || graft == Graft::rmsprop_normalized; }
constexpr bool is_adagrad(Graft graft) { return graft == Graft::adagrad || graft == Graft::adagrad_normalized; }
constexpr bool has_statistics(Graft graft) { return is_rmsprop(graft) || is_adagrad(graft) || graft == Graft::adam; }

/// From directions to the step. Without a gap: devices compare its bytes.
struct FinishConstants {
  float beta1 = 0;
  float added = 1;           ///< the weight of a direction in its momentum
  float preconditioned = 1;  ///< scale of P(g)
  float graft_divisor = 1;
  float coupled_decay = 0;
  float decoupled_decay = 0;  ///< times the rate
  float rate = 0;
  bool selects_preconditioned = false;
  bool nesterov = false;
  bool adds = true;  ///< p + the change, rounded twice; else the change
  bool unused = false;
};
static_assert(sizeof(FinishConstants) == 7 * sizeof(float) + 4 * sizeof(bool));

/// What the norms of a step say about one tensor.
struct GraftScales {
  float gradient = 1;        ///< normalized forms: 1 / (|g| + e)
  float graft_divisor = 1;   ///< of the grafting direction
  float preconditioned = 1;  ///< of P(g)
};

/// Added to norms that are divided by.
inline constexpr double kNormEpsilon = 1e-16;

GRADSTEP_FORMULA float normalizing_scale(double gradient_norm) {
  return static_cast<float>(1 / (gradient_norm + kNormEpsilon));
}

/// From the norms of the grafting direction and of P(g), `size` elements each. clip_scaled_norm 0 = off.
GRADSTEP_FORMULA void set_scales(Graft graft, double clip_scaled_norm, std::int64_t size, bool preconditioned,
                                 double norm, double preconditioned_norm, GraftScales& scales) {
  if (clip_scaled_norm > 0 && is_rmsprop(graft) && size > 0) {
    const double scaled = norm / square_root(static_cast<double>(size)) / clip_scaled_norm;
    const double divisor = 1.0 < scaled ? scaled : 1.0;  // 1 for NaN
    scales.graft_divisor = static_cast<float>(divisor);
    norm /= divisor;
  }
  if (graft != Graft::none && preconditioned) {
    scales.preconditioned = static_cast<float>(norm / (preconditioned_norm + kNormEpsilon));
  }
}

/// A tensor's constants from its group's.
GRADSTEP_FORMULA FinishConstants finish_of_tensor(FinishConstants group, const GraftScales& scales) {
  group.preconditioned = scales.preconditioned;
  group.graft_divisor = scales.graft_divisor;
  return group;
}

/// A direction that enters a momentum: scaled already, weight decay as in the source.
GRADSTEP_FORMULA float decayed(float direction, float p, const FinishConstants& c) {
  return direction + c.coupled_decay * p;
}

GRADSTEP_FORMULA float next_momentum(float momentum, float direction, const FinishConstants& c) {
  return c.beta1 * momentum + c.added * direction;
}

/// What is alike for all elements of a step; loops are compiled for each.
struct FinishForm {
  bool selects_preconditioned;
  bool nesterov;
  bool adds;
};

/// p changed by a direction and its momentum, or the change alone.
GRADSTEP_FORMULA float moved(FinishForm form, float direction, float momentum, float p, const FinishConstants& c) {
  const float step = form.nesterov ? c.added * direction + c.beta1 * momentum : momentum;
  const float change = -c.rate * step - c.decoupled_decay * p;
  return form.adds ? p + change : change;
}

// The outcome of an element from u, the grafting direction, and from `direction`, P(g).

/// The change of a parameter that is not preconditioned.
GRADSTEP_FORMULA float finish_plain(FinishForm form, float u, float p, float& momentum, const FinishConstants& c) {
  const float grafted = decayed(u / c.graft_divisor, p, c);
  momentum = next_momentum(momentum, grafted, c);
  return moved(form, grafted, momentum, p, c);
}

GRADSTEP_FORMULA float finish_both(FinishForm form, float u, float direction, float p, float& momentum, float& diagonal,
                                   const FinishConstants& c) {
  const float grafted = decayed(u / c.graft_divisor, p, c);
  const float shampoo = decayed(direction * c.preconditioned, p, c);
  momentum = next_momentum(momentum, shampoo, c);
  diagonal = next_momentum(diagonal, grafted, c);
  return form.selects_preconditioned ? moved(form, shampoo, momentum, p, c) : moved(form, grafted, diagonal, p, c);
}

/// The two directions share a momentum (SQRT_N).
GRADSTEP_FORMULA float finish_shared(FinishForm form, float u, float direction, float p, float& momentum,
                                     const FinishConstants& c) {
  const float grafted = decayed(u / c.graft_divisor, p, c);
  const float shampoo = decayed(direction * c.preconditioned, p, c);
  const float selected = form.selects_preconditioned ? shampoo : grafted;
  momentum = next_momentum(momentum, selected, c);
  return moved(form, selected, momentum, p, c);
}

/// The eigenvalue-corrected mode: a step of Adam, and the decay after it as in the source.
struct CorrectedConstants {
  float scale = 0;  ///< the learning rate with both bias corrections
  float decay = 0;  ///< times the rate
};

template <bool kAdds>
GRADSTEP_FORMULA float corrected(float direction, float p, const CorrectedConstants& c) {
  const float moved = -c.scale * direction;
  const float delta = moved - c.decay * (p + moved);
  return kAdds ? p + delta : delta;
}

}  // namespace gradstep::kernels
