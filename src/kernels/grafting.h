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

/// From directions to the step, in the arithmetic of T. Without a gap: devices compare its bytes.
template <class T>
struct FinishConstants {
  T beta1 = 0;
  T added = 1;           ///< the weight of a direction in its momentum
  T preconditioned = 1;  ///< scale of P(g)
  T graft_divisor = 1;
  T coupled_decay = 0;
  T decoupled_decay = 0;  ///< times the rate
  T rate = 0;
  bool selects_preconditioned = false;
  bool nesterov = false;
  bool adds = true;  ///< p + the change, rounded twice; else the change
  bool unused[sizeof(T) - 3] = {};
};
static_assert(sizeof(FinishConstants<float>) == 8 * sizeof(float));
static_assert(sizeof(FinishConstants<double>) == 8 * sizeof(double));

/// What the norms of a step say about one tensor, to be rounded to its arithmetic.
struct GraftScales {
  double gradient = 1;        ///< normalized forms: 1 / (|g| + e)
  double graft_divisor = 1;   ///< of the grafting direction
  double preconditioned = 1;  ///< of P(g)
};

/// Added to norms that are divided by.
inline constexpr double kNormEpsilon = 1e-16;

GRADSTEP_FORMULA double normalizing_scale(double gradient_norm) { return 1 / (gradient_norm + kNormEpsilon); }

/// From the norms of the grafting direction and of P(g), `size` elements each. clip_scaled_norm 0 = off.
GRADSTEP_FORMULA void set_scales(Graft graft, double clip_scaled_norm, std::int64_t size, bool preconditioned,
                                 double norm, double preconditioned_norm, GraftScales& scales) {
  if (clip_scaled_norm > 0 && is_rmsprop(graft) && size > 0) {
    const double scaled = norm / square_root(static_cast<double>(size)) / clip_scaled_norm;
    const double divisor = 1.0 < scaled ? scaled : 1.0;  // 1 for NaN
    scales.graft_divisor = divisor;
    norm /= divisor;
  }
  if (graft != Graft::none && preconditioned) {
    scales.preconditioned = norm / (preconditioned_norm + kNormEpsilon);
  }
}

/// A tensor's constants from its group's.
template <class T>
GRADSTEP_FORMULA FinishConstants<T> finish_of_tensor(FinishConstants<T> group, const GraftScales& scales) {
  group.preconditioned = static_cast<T>(scales.preconditioned);
  group.graft_divisor = static_cast<T>(scales.graft_divisor);
  return group;
}

/// A direction that enters a momentum: scaled already, weight decay as in the source.
template <class T>
GRADSTEP_FORMULA T decayed(T direction, T p, const FinishConstants<T>& c) {
  return direction + c.coupled_decay * p;
}

template <class T>
GRADSTEP_FORMULA T next_momentum(T momentum, T direction, const FinishConstants<T>& c) {
  return c.beta1 * momentum + c.added * direction;
}

/// What is alike for all elements of a step; loops are compiled for each.
struct FinishForm {
  bool selects_preconditioned;
  bool nesterov;
  bool adds;
};

/// p changed by a direction and its momentum, or the change alone.
template <class T>
GRADSTEP_FORMULA T moved(FinishForm form, T direction, T momentum, T p, const FinishConstants<T>& c) {
  const T step = form.nesterov ? c.added * direction + c.beta1 * momentum : momentum;
  const T change = -c.rate * step - c.decoupled_decay * p;
  return form.adds ? p + change : change;
}

// The outcome of an element from u, the grafting direction, and from `direction`, P(g).

/// The change of a parameter that is not preconditioned.
template <class T>
GRADSTEP_FORMULA T finish_plain(FinishForm form, T u, T p, T& momentum, const FinishConstants<T>& c) {
  const T grafted = decayed(u / c.graft_divisor, p, c);
  momentum = next_momentum(momentum, grafted, c);
  return moved(form, grafted, momentum, p, c);
}

template <class T>
GRADSTEP_FORMULA T finish_both(FinishForm form, T u, T direction, T p, T& momentum, T& diagonal,
                               const FinishConstants<T>& c) {
  const T grafted = decayed(u / c.graft_divisor, p, c);
  const T shampoo = decayed(direction * c.preconditioned, p, c);
  momentum = next_momentum(momentum, shampoo, c);
  diagonal = next_momentum(diagonal, grafted, c);
  return form.selects_preconditioned ? moved(form, shampoo, momentum, p, c) : moved(form, grafted, diagonal, p, c);
}

/// The two directions share a momentum (SQRT_N).
template <class T>
GRADSTEP_FORMULA T finish_shared(FinishForm form, T u, T direction, T p, T& momentum, const FinishConstants<T>& c) {
  const T grafted = decayed(u / c.graft_divisor, p, c);
  const T shampoo = decayed(direction * c.preconditioned, p, c);
  const T selected = form.selects_preconditioned ? shampoo : grafted;
  momentum = next_momentum(momentum, selected, c);
  return moved(form, selected, momentum, p, c);
}

/// The eigenvalue-corrected mode: a step of Adam, and the decay after it as in the source.
template <class T>
struct CorrectedConstants {
  T scale = 0;  ///< the learning rate with both bias corrections
  T decay = 0;  ///< times the rate
};

template <bool kAdds, class T>
GRADSTEP_FORMULA T corrected(T direction, T p, const CorrectedConstants<T>& c) {
  const T moved = -c.scale * direction;
  const T delta = moved - c.decay * (p + moved);
  return kAdds ? p + delta : delta;
}

}  // namespace gradstep::kernels
