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
// Small eigenvalues then grow by up to (p + 1)^(p + 1)/p^p, for p = 4 by 12 instead of 2.4 (8.4 with kNewtonLoss). f(l)
// is the next l; it goes to 1, and the step to Newton's. (For p = 2 this is the scaling of Chen and Chow 2014 for the
// matrix sign function, and of degree 3 that of Amsel et al. 2025, The Polar Express.) Eigenvalues above c would turn
// T's sign and so spoil H: 1 has to be a bound. l need only be about right: what lies below l^p comes after, at
// Newton's pace.
//
// All matrices are polynomials in D, so a block-diagonal extension of D by a multiple of I stays one: the padding that
// the source gives every statistic is one more scalar here, not rows and columns.
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
  bool source_steps = false;  ///< Newton's own steps, until the first error that is 1.2 times its predecessor or more
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

/// Which eigenvalue of S, extension included, power iteration seeks: the largest, or over `largest` I - S the smallest.
enum class End : std::uint8_t { largest, smallest };

GRADSTEP_FORMULA std::int32_t power_iterations(End end) { return end == End::largest ? kMaxRootIterations : 16; }

/// The part of the largest eigenvalue from which on an estimate of the smallest is believed. Power iteration comes from
/// above, and where there are few small ones it does not find them.
inline constexpr double kBelievedSmallest = 1.0 / 30;

/// What is known before coupled Newton begins. Trace and sum of squares are those of D without its extension.
struct NewtonMeasures {
  double trace = 0;
  double squares = 0;
  double rows = 0;     ///< of D
  double padding = 0;  ///< rows of its extension
  double pad = 1;      ///< what stands on the diagonal there, ridge included
  double ridge = 0;
  double largest = 0;   ///< estimates of eigenvalues of S
  double smallest = 0;  ///< 0 for the source's steps, which do not ask
};

struct NewtonStart {
  double z = 1;
  double low = 1;  ///< l of M_0
  double pad = 1;  ///< the extension's diagonal in M_0
};

/// What eigenvalues of D are expected not to lie below.
GRADSTEP_FORMULA double newton_least(const NewtonMeasures& of) {
  return of.smallest > kBelievedSmallest * of.largest ? of.smallest / 3 + of.ridge : of.ridge;
}

/// What no eigenvalue of D lies above: mean + deviation sqrt(rows - 1) (Wolkowicz and Styan 1980).
GRADSTEP_FORMULA double newton_bound(double trace, double squares, double rows) {
  const double mean = trace / rows;
  const double variance = squares / rows - mean * mean;
  const double bound = mean + square_root((variance > 0 ? variance : 0) * (rows - 1));
  return bound > 0 ? bound : square_root(squares);  // not where all are negative
}

/// l of eigenvalues that are not below this part of the largest.
GRADSTEP_FORMULA double newton_low(std::int32_t p, double ratio) {
  if (!(ratio > kSmallestRatio)) ratio = kSmallestRatio;
  return ratio < 1 ? std::pow(ratio, 1.0 / p) : 1;
}

GRADSTEP_FORMULA double source_scale(std::int32_t p, double norm) { return (1 + p) / (2 * norm); }

GRADSTEP_FORMULA NewtonStart newton_start(const NewtonForm& form, const NewtonMeasures& of) {
  const double squares = of.squares + of.padding * of.pad * of.pad;
  if (form.source_steps) {
    const double z = source_scale(form.exponent, square_root(squares));
    return {z, 1, of.pad * z};
  }
  const double bound = newton_bound(of.trace + of.padding * of.pad, squares, of.rows + of.padding);
  return {1 / bound, newton_low(form.exponent, newton_least(of) / bound), of.pad / bound};
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
GRADSTEP_FORMULA double next_low(std::int32_t p, const NewtonStep& step, double low) {
  const double next = low * (step.diagonal - step.scale * std::pow(low, static_cast<double>(p)));
  return next < 1 ? next : 1;
}

/// Steps until eigenvalues that are not below this part of the bound of all are 1 within rounding.
GRADSTEP_FORMULA std::int32_t newton_steps(const NewtonForm& form, double ratio) {
  const std::int32_t p = form.exponent;
  double low = newton_low(p, form.source_steps ? source_scale(p, 1) * ratio : ratio);
  std::int32_t steps = 0;
  for (; steps < kMaxRootIterations && 1 - low > kConvergedLow; ++steps) {
    low = next_low(p, newton_step(p, form.source_steps ? 1 : low), low);
  }
  return steps;
}

/// The error from that of the matrix without its extension.
GRADSTEP_FORMULA double newton_error(const NewtonForm& form, double distance, double pad) {
  const double of_pad = magnitude(pad - 1);
  return form.is_extended && distance < of_pad ? of_pad : distance;
}

/// From M_0 and its distance from I. The source stops at the tolerance. One iteration more costs little and squares
/// what is left of the error.
GRADSTEP_FORMULA NewtonState begin_newton(const NewtonForm& form, double distance, const NewtonStart& start) {
  NewtonState state;
  state.low = start.low;
  state.error = newton_error(form, distance, start.pad);
  state.pad = start.pad;
  state.polishes = form.source_steps ? 0 : 1;
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
  state.low = next_low(form.exponent, state.step, state.low);
  const double next = newton_error(form, distance, state.pad);
  if (form.source_steps) {
    state.takes_previous = !(next < state.error * 1.2);
  } else {
    state.rises = next > state.error && state.low > kFallingLow ? state.rises + 1 : 0;
    state.takes_previous = state.rises >= 3 || !__builtin_isfinite(next);
  }
  state.error = next;
}

}  // namespace gradstep::kernels
