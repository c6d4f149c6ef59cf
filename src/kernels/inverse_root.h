// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// H = D^(-1/p), D = S + ridge I, of symmetric statistics S: what is computed around the products and decompositions,
// which are each device's own.
//
// Coupled Newton (Iannazzo 2006; Higham, Functions of Matrices, 7.3) keeps M_k = H_k^p D and drives it to I:
//   M_0 = z D, H_0 = z^(1/p) I;  T = b (c I - M);  M <- T^p M, H <- H T.
// Newton's step has b = 1/p and c = p + 1. In it a small eigenvalue of M grows by (1 + 1/p)^p, so that a condition
// number of a million takes some twenty steps. Let the eigenvalues y^p of M be in [l^p, 1]. A step takes y to
//   f(y) = b y (c - y^p),
// and of these f the one that leaves the least spread is equal at l and at 1, and 1 at its maximum in between, which is
// at (c/(p + 1))^(1/p):
//   c = 1 + l + ... + l^p,  b = (p + 1)/(p c) (c/(p + 1))^(-1/p).
// Small eigenvalues then grow by up to (p + 1)^(p + 1)/p^p, for p = 4 by 12 instead of 2.4. f(l) is the next l; it goes
// to 1, and the step to Newton's. (For p = 2 this is the scaling of Chen and Chow 2014 for the matrix sign function,
// and of degree 3 that of Amsel et al. 2025, The Polar Express.) Eigenvalues above c would turn T's sign and so spoil
// H: 1 has to be a bound. l need only be about right: what lies below l^p comes after, at Newton's pace.
//
// All matrices are polynomials in D, so a block-diagonal extension of D by a multiple of I stays one: the padding that
// the seed gives every statistic is one more scalar here, not rows and columns.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/largest.h"
#include "kernels/random.h"

namespace gradstep::kernels {

/// Of power iteration, and of coupled Newton.
inline constexpr std::int32_t kMaxRootIterations = 100;
/// The smallest that a ridge is made from.
inline constexpr double kSmallestEigenvalue = 1e-6;
/// Of the ridge, from one attempt to the next.
inline constexpr double kRidgeGrowth = 10;

GRADSTEP_FORMULA double root_ridge(double epsilon, double largest_eigenvalue) {
  return epsilon * (largest_eigenvalue < kSmallestEigenvalue ? kSmallestEigenvalue : largest_eigenvalue);
}

/// Whether power iteration goes on.
GRADSTEP_FORMULA bool eigenvalue_moves(double next, double eigenvalue) { return magnitude(next - eigenvalue) > 1e-6; }

/// The least that an eigenvalue of D is taken for. Rounding of S, in f32 or in integer codes, makes negative ones of
/// those near zero: so long as they are small beside the ridge they count as they are.
GRADSTEP_FORMULA double smallest_damped(double ridge) { return ridge / 2; }

/// What S needs for that, of one of its eigenvalues.
GRADSTEP_FORMULA double raise_of_eigenvalue(double x, double ridge) {
  const double least = smallest_damped(ridge) - ridge;
  return x < least ? least - x : 0;
}

GRADSTEP_FORMULA double inverse_root(double x, std::int32_t p) { return std::pow(x, -1.0 / p); }

/// An eigenvalue of H from that of S.
GRADSTEP_FORMULA double root_eigenvalue(double x, double ridge, std::int32_t p) {
  const double damped = x + ridge;
  const double least = smallest_damped(ridge);
  return inverse_root(damped < least ? least : damped, p);
}

template <class T>
inline constexpr bool kIsWide = sizeof(T) == sizeof(double);

// The residual of a root is max |H^p D x - x| over probes x, vectors of signs; where that is doubtful, max |H^p D - I|.
inline constexpr std::int64_t kProbes = 2;
/// In f32 the residual of the best root is about eps * cond.
template <class T>
inline constexpr double kDoubtfulResidual = kIsWide<T> ? 1e-6 : 1e-2;

GRADSTEP_FORMULA int sign_of_probe(std::int64_t probe, std::int64_t i) {
  return (mix64(static_cast<std::uint64_t>(2 * i + 1 + probe)) & 1U) != 0 ? 1 : -1;
}

struct NewtonForm {
  std::int32_t exponent = 4;
  bool is_extended = false;
  bool seed_rules = false;  ///< Newton's own steps, until the first error that is 1.2 times its predecessor or more
};

/// T = diagonal I - scale M.
struct NewtonStep {
  double diagonal = 0;
  double scale = 0;
};

/// Where coupled Newton stands.
struct NewtonState {
  double error = 0;  ///< max |M - I|
  double pad = 1;    ///< what the extension's diagonal has become in M
  double low = 1;    ///< l
  NewtonStep step;   ///< the next one
  std::int32_t iterations = 0;
  std::int32_t rises = 0;     ///< of the error, in a row
  std::int32_t polishes = 0;  ///< iterations that are worth it even now
  bool takes_previous = false;
};

/// Where it stops. In f32 rounding alone keeps M this far from I.
template <class T>
inline constexpr double kNewtonTolerance = kIsWide<T> ? 1e-6 : 1e-5;
/// Eigenvalues that are smaller beside the largest are not told from zero.
inline constexpr double kSmallestRatio = 1e-16;
/// The distance of l from 1 at which there is nothing left to do.
inline constexpr double kConvergedLow = 1e-12;
/// The l from which on the error has to fall: before, eigenvalues near 1 are moved away from it.
inline constexpr double kFallingLow = 0.9;

/// Steps of power iteration for the smallest eigenvalue, and the part of the largest from which on it is believed.
inline constexpr std::int32_t kSmallestIterations = 16;
inline constexpr double kBelievedSmallest = 1.0 / 30;

/// What the eigenvalues of D are expected not to lie below, from estimates of those of S. Power iteration comes from
/// above, and where there are few small ones it does not find them.
GRADSTEP_FORMULA double newton_least(double ridge, double smallest, double largest) {
  return smallest > kBelievedSmallest * largest ? smallest / 3 + ridge : ridge;
}

/// z, and l of M_0.
struct NewtonStart {
  double z = 1;
  double low = 1;
};

/// From the trace and the sum of squares of D, extension included, `size` rows, and what its eigenvalues do not lie
/// below. None lies above mean + deviation sqrt(size - 1) (Wolkowicz and Styan 1980).
GRADSTEP_FORMULA NewtonStart newton_start(const NewtonForm& form, double trace, double squares, double size,
                                          double least) {
  const double norm = square_root(squares);
  if (form.seed_rules) return {(1 + form.exponent) / (2 * norm), 1};
  const double mean = trace / size;
  const double variance = squares / size - mean * mean;
  double largest = mean + square_root((variance > 0 ? variance : 0) * (size - 1));
  if (!(largest > 0)) largest = norm;  // all are negative
  double low = least / largest;
  if (!(low > kSmallestRatio)) low = kSmallestRatio;
  if (low > 1) low = 1;
  return {1 / largest, std::pow(low, 1.0 / form.exponent)};
}

/// A step shrinks the largest eigenvalues beside the others by no more than this, which is the accuracy that they lose.
inline constexpr double kNewtonLoss = 100;

GRADSTEP_FORMULA NewtonStep newton_step(std::int32_t p, double low) {
  const double inverse = 1.0 / p;
  if (!(low < 1)) return {1 + inverse, inverse};
  double shift = 1;
  double power = 1;
  for (std::int32_t k = 1; k <= p; ++k) {
    power *= low;
    shift += power;
  }
  const double least = 1 / (1 - std::pow(kNewtonLoss, -inverse));
  if (shift < least) shift = least;
  const double scale = (p + 1) / (p * shift * std::pow(shift / (p + 1), inverse));
  return {scale * shift, scale};
}

/// What l becomes.
GRADSTEP_FORMULA double newton_low(std::int32_t p, const NewtonStep& step, double low) {
  const double next = low * (step.diagonal - step.scale * std::pow(low, static_cast<double>(p)));
  return next < 1 ? next : 1;
}

/// Steps until the smallest eigenvalue, this ratio of a bound of the largest, is 1 within rounding.
GRADSTEP_FORMULA std::int32_t newton_steps(const NewtonForm& form, double ratio) {
  const std::int32_t p = form.exponent;
  if (!(ratio > kSmallestRatio)) ratio = kSmallestRatio;
  double low = std::pow(form.seed_rules ? (1 + p) / 2.0 * ratio : ratio, 1.0 / p);
  if (low > 1) low = 1;
  std::int32_t steps = 0;
  for (; steps < kMaxRootIterations && 1 - low > kConvergedLow; ++steps) {
    low = newton_low(p, newton_step(p, form.seed_rules ? 1 : low), low);
  }
  return steps;
}

/// The error from that of the matrix without its extension.
GRADSTEP_FORMULA double newton_error(const NewtonForm& form, double distance, double pad) {
  const double of_pad = magnitude(pad - 1);
  return form.is_extended && distance < of_pad ? of_pad : distance;
}

/// From M_0, its distance from I, and its extension's diagonal. The seed stops at the tolerance. One iteration more
/// costs little and squares what is left of the error.
GRADSTEP_FORMULA NewtonState begin_newton(const NewtonForm& form, double distance, double pad, double low) {
  NewtonState state;
  state.low = low;
  state.error = newton_error(form, distance, pad);
  state.pad = pad;
  state.polishes = form.seed_rules ? 0 : 1;
  return state;
}

/// Whether another iteration is to follow: state.step. If not, H is the root, or the one before it if
/// state.takes_previous.
template <class T>
GRADSTEP_FORMULA bool goes_on(const NewtonForm& form, NewtonState& state) {
  if (state.iterations >= kMaxRootIterations || state.takes_previous) return false;
  if (!(state.error > kNewtonTolerance<T>)) {
    if (state.polishes-- == 0) return false;
    state.low = 1;
  }
  state.step = newton_step(form.exponent, state.low);
  return true;
}

/// After an iteration, whose M has this distance from I.
GRADSTEP_FORMULA void end_iteration(const NewtonForm& form, double distance, NewtonState& state) {
  ++state.iterations;
  state.pad *= std::pow(state.step.diagonal - state.step.scale * state.pad, static_cast<double>(form.exponent));
  state.low = newton_low(form.exponent, state.step, state.low);
  const double next = newton_error(form, distance, state.pad);
  if (form.seed_rules) {
    state.takes_previous = !(next < state.error * 1.2);
  } else {
    state.rises = next > state.error && state.low > kFallingLow ? state.rises + 1 : 0;
    state.takes_previous = state.rises >= 3 || !__builtin_isfinite(next);
  }
  state.error = next;
}

}  // namespace gradstep::kernels
