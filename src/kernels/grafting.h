// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo's element-wise formulas: the direction whose length a step gets (grafting), Adam in an eigenbasis, the two
// momenta. Their order of operations is that of Google's code; see gradstep_shampoo_options.
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

/// Adam's two moments.
struct MomentConstants {
  float beta1 = 0;
  float beta2 = 0;
  float add1 = 0;
  float add2 = 0;
  float correct1 = 1;  ///< of m
  float correct2 = 1;  ///< of v
  float epsilon = 0;
};

/// v = keep v + add (scale g)^2; scale g / (sqrt(v) + epsilon).
struct RootConstants {
  float keep = 1;
  float add = 1;
  float epsilon = 0;
};

/// From directions to the step.
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
};

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

GRADSTEP_FORMULA float divide_by_root(float g, float scale, const RootConstants& c, float& v) {
  const float scaled = g * scale;
  v = c.keep * v + c.add * (scaled * scaled);
  return scaled / (square_root(v) + c.epsilon);
}

/// -1, 0 or 1; NaN stays.
GRADSTEP_FORMULA float sign(float g) { return g > 0 ? 1.0F : g < 0 ? -1.0F : g; }

/// m and v take in g; (correct1 m) / (sqrt(correct2 v) + epsilon).
GRADSTEP_FORMULA float moment_direction(float g, const MomentConstants& c, float& m, float& v) {
  m = c.beta1 * m + c.add1 * g;
  v = c.beta2 * v + c.add2 * (g * g);
  return m * c.correct1 / (square_root(v * c.correct2) + c.epsilon);
}

/// A direction that enters a momentum: scaled already, weight decay as in the source.
GRADSTEP_FORMULA float decayed(float direction, float p, const FinishConstants& c) {
  return direction + c.coupled_decay * p;
}

GRADSTEP_FORMULA float next_momentum(float momentum, float direction, const FinishConstants& c) {
  return c.beta1 * momentum + c.added * direction;
}

/// p changed by a direction and its momentum, or the change alone.
template <bool kNesterov, bool kAdds>
GRADSTEP_FORMULA float moved(float direction, float momentum, float p, const FinishConstants& c) {
  const float step = kNesterov ? c.added * direction + c.beta1 * momentum : momentum;
  const float change = -c.rate * step - c.decoupled_decay * p;
  return kAdds ? p + change : change;
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
