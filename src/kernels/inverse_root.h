// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// H = D^(-1/p), D = S + ridge I, of symmetric statistics S: what is computed around the products and decompositions,
// which are each device's own.
//
// Coupled Newton (Iannazzo 2006; Higham, Functions of Matrices, 7.3) keeps M_k = H_k^p D and drives it to I:
//   M_0 = z D, H_0 = z^(1/p) I;  T = ((p + 1) I - M) / p;  M <- T^p M, H <- H T.
// All its matrices are polynomials in D, so a block-diagonal extension of D by a multiple of I stays one: the padding
// that the seed gives every statistic is one more scalar here, not rows and columns.
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
  bool seed_rules = false;  ///< stops at the first error that is 1.2 times its predecessor or more
};

/// Where coupled Newton stands.
struct NewtonState {
  double error = 0;  ///< max |M - I|
  double pad = 1;    ///< what the extension's diagonal has become in M
  std::int32_t iterations = 0;
  std::int32_t rises = 0;     ///< of the error, in a row
  std::int32_t polishes = 0;  ///< iterations that are worth it even now
  bool takes_previous = false;
};

/// Where it stops. In f32 rounding alone keeps M this far from I.
template <class T>
inline constexpr double kNewtonTolerance = kIsWide<T> ? 1e-6 : 1e-5;

/// z, from the sum of squares of D.
GRADSTEP_FORMULA double newton_scale(std::int32_t p, double squares) { return (1 + p) / (2 * square_root(squares)); }

/// The error from that of the matrix without its extension.
GRADSTEP_FORMULA double newton_error(const NewtonForm& form, double distance, double pad) {
  const double of_pad = magnitude(pad - 1);
  return form.is_extended && distance < of_pad ? of_pad : distance;
}

/// From M_0, its distance from I, and its extension's diagonal. The seed stops at the tolerance. One iteration more
/// costs little and squares what is left of the error.
GRADSTEP_FORMULA NewtonState begin_newton(const NewtonForm& form, double distance, double pad) {
  NewtonState state;
  state.error = newton_error(form, distance, pad);
  state.pad = pad;
  state.polishes = form.seed_rules ? 0 : 1;
  return state;
}

/// Whether another iteration is to follow. If not, H is the root, or the one before it if state.takes_previous.
template <class T>
GRADSTEP_FORMULA bool goes_on(NewtonState& state) {
  if (state.iterations >= kMaxRootIterations || state.takes_previous) return false;
  return state.error > kNewtonTolerance<T> || state.polishes-- > 0;
}

/// After an iteration, whose M has this distance from I.
GRADSTEP_FORMULA void end_iteration(const NewtonForm& form, double distance, NewtonState& state) {
  const double inverse = 1.0 / form.exponent;
  ++state.iterations;
  state.pad *= std::pow(1 + inverse - inverse * state.pad, static_cast<double>(form.exponent));
  const double next = newton_error(form, distance, state.pad);
  if (form.seed_rules) {
    state.takes_previous = !(next < state.error * 1.2);
  } else {
    state.rises = next > state.error ? state.rises + 1 : 0;
    state.takes_previous = state.rises >= 3 || !__builtin_isfinite(next);
  }
  state.error = next;
}

}  // namespace gradstep::kernels
