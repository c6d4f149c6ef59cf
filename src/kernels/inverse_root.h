// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// H = D^(-1/p), D = S + ridge I, of symmetric statistics S: what is computed around the products and decompositions,
// which are each device's own.
//
// Coupled Newton (Iannazzo 2006; Higham, Functions of Matrices, 7.3) keeps M_k = H_k^p D and drives it to I:
//   M_0 = z D, H_0 = z^(1/p) I;  T = q(M);  M <- T^p M, H <- H T.
// Newton's step has q(x) = (p + 1 - x) / p. In it a small eigenvalue of M grows by (1 + 1/p)^p, so that a condition
// number of a million takes some twenty steps. Ours have one product more, M^2, and q of degree 2. An eigenvalue y^p of
// M becomes f(y)^p, f(y) = y q(y^p). Among all such f the one that leaves the least spread of [l, 1] alternates between
// its largest and its smallest values there (Chebyshev); scaled so that the largest is 1, it has
//   f(l) = f(y2) < f(y1) = f(1) = 1, where l < y1 < y2 < 1 and f'(y1) = f'(y2) = 0.
// So f takes [l, 1] into [f(l), 1], whence another goes on: a ladder of them leads from every l to 1, and its rungs are
// the same for all matrices (backend/newton_ladder.h). For p = 4 a rung makes small eigenvalues 30 times as large.
// The step that closes is the series of x^(-1/p) around 1, as far as x^2: what is left of I - M is its cube, about.
// (For p = 2 the rungs are the polynomials of degree 5 of Amsel et al. 2025, The Polar Express; of degree 3 they are in
// Chen and Chow 2014.) 1 has to be a bound of the eigenvalues, but for rounding: those above it grow. l need only be
// about right: what lies below it comes after, with closing steps.
//
// The products of a step are M^2, H T and those of T^p M. The first H T is none, for H_0 is a multiple of I, and M is
// of no use after the last step: p = 4 and the default ridge take 7 steps of together 31 products.
//
// All matrices are polynomials in D, so a block-diagonal extension of D by a multiple of I stays one: the padding that
// the source gives every statistic is one more scalar here, not rows and columns.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/largest.h"
#include "kernels/random.h"

namespace gradstep::kernels {

/// The most iterations of the power method, and of coupled Newton.
inline constexpr std::int32_t kMaxRootIterations = 100;
/// The smallest that a ridge is made from.
inline constexpr double kSmallestEigenvalue = 1e-6;
/// How the ridge grows from one attempt to the next.
inline constexpr double kRidgeGrowth = 10;

/// `absolute`: epsilon itself; NaN where the largest eigenvalue is.
GRADSTEP_FORMULA double root_ridge(double epsilon, bool absolute, double largest_eigenvalue) {
  if (absolute) return __builtin_isnan(largest_eigenvalue) ? largest_eigenvalue : epsilon;
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
  double rows = 0;            ///< of D, without its extension
  double padding = 0;         ///< rows of that
  bool source_steps = false;  ///< Newton's own steps, until the first error that is 1.2 times its predecessor or more
};

/// T = constant I + linear M + square M^2. The source's have no square.
struct NewtonStep {
  double constant = 0;
  double linear = 0;
  double square = 0;
};

inline constexpr std::int32_t kMostRungs = 24;

/// Rungs of one exponent, the last one first.
struct NewtonLadder {
  NewtonStep steps[kMostRungs] = {};
  double least[kMostRungs] = {};  ///< eigenvalue of M from which the step, and those before it in the list, lead to 1
  std::int32_t count = 0;
};

/// Where coupled Newton stands.
struct NewtonState {
  double error = 0;        ///< of M: max |M - I| by the source's rules, else ||M - I||_F
  double pad = 1;          ///< what the extension's diagonal has become in M
  NewtonStep step;         ///< the next one
  std::int32_t rungs = 0;  ///< that are to be taken yet
  std::int32_t iterations = 0;
  std::int32_t rises = 0;  ///< of the error, in a row
  bool is_last = false;    ///< the step closes: H T is the root, and error what is left then
  bool takes_previous = false;
};

/// Where the source's steps stop. In f32 rounding alone may keep M this far from I.
template <class T>
inline constexpr double kSourceTolerance = kIsWide<T> ? 1e-6 : 1e-5;
/// What rungs leave of the distance of eigenvalues from 1. The closing step leaves half its cube.
inline constexpr double kClosingDistance = 1e-3;
/// Eigenvalues that are smaller beside the largest are not told from zero.
inline constexpr double kSmallestRatio = 1e-16;

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
  double pad = 1;  ///< what stands on the extension's diagonal, ridge included
  double ridge = 0;
  double largest = 0;   ///< estimates of eigenvalues of S
  double smallest = 0;  ///< 0 for the source's steps, which do not ask
};

struct NewtonStart {
  double z = 1;
  double pad = 1;          ///< the extension's diagonal in M_0; 1 if there is none
  std::int32_t rungs = 0;  ///< from what eigenvalues of M_0 are expected not to lie below
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

/// Rungs for eigenvalues of M that are not below this one.
GRADSTEP_FORMULA std::int32_t rungs_of(const NewtonLadder& ladder, double least) {
  if (!(least < 1 - kClosingDistance)) return 0;
  std::int32_t rungs = 1;
  while (rungs < ladder.count && least < ladder.least[rungs - 1]) ++rungs;
  return rungs;
}

GRADSTEP_FORMULA double source_scale(std::int32_t p, double norm) { return (1 + p) / (2 * norm); }

GRADSTEP_FORMULA NewtonStart newton_start(const NewtonForm& form, const NewtonLadder& ladder,
                                          const NewtonMeasures& of) {
  const double squares = of.squares + form.padding * of.pad * of.pad;
  if (form.source_steps) {
    const double z = source_scale(form.exponent, square_root(squares));
    return {z, form.padding > 0 ? of.pad * z : 1, 0};
  }
  const double bound = newton_bound(of.trace + form.padding * of.pad, squares, form.rows + form.padding);
  const double pad = form.padding > 0 ? of.pad / bound : 1;
  return {1 / bound, pad, rungs_of(ladder, newton_least(of) / bound)};
}

/// q(x).
GRADSTEP_FORMULA double newton_factor(const NewtonStep& step, double x) {
  return step.constant + x * (step.linear + x * step.square);
}

/// What becomes of an eigenvalue of M.
GRADSTEP_FORMULA double newton_stepped(std::int32_t p, const NewtonStep& step, double x) {
  return x * std::pow(newton_factor(step, x), static_cast<double>(p));
}

GRADSTEP_FORMULA NewtonStep source_step(std::int32_t p) { return {1 + 1.0 / p, -1.0 / p, 0}; }

/// 1 + e/p + (1/p)(1/p + 1) e^2 / 2 of e = 1 - x.
GRADSTEP_FORMULA NewtonStep closing_step(std::int32_t p) {
  const double first = 1.0 / p;
  const double second = first * (first + 1) / 2;
  return {1 + first + second, -first - 2 * second, second};
}

/// What a closing step leaves of such an error: the next term of the series, p times.
GRADSTEP_FORMULA double closed_error(std::int32_t p, double error) {
  const double first = 1.0 / p;
  return (first + 1) * (first + 2) / 6 * error * error * error;
}

/// Steps until eigenvalues that are not below this part of the bound of all are 1 within rounding.
GRADSTEP_FORMULA std::int32_t newton_steps(const NewtonForm& form, const NewtonLadder& ladder, double ratio) {
  const std::int32_t p = form.exponent;
  if (!form.source_steps) return rungs_of(ladder, ratio) + 1;
  double least = source_scale(p, 1) * (ratio > kSmallestRatio ? ratio : kSmallestRatio);
  std::int32_t steps = 0;
  for (; steps < kMaxRootIterations && 1 - least > kSourceTolerance<double>; ++steps) {
    least = newton_stepped(p, source_step(p), least);
  }
  return steps;
}

/// From what M is away from I, without its extension: the largest number of M - I by the source's rules, else the sum
/// of squares of all.
GRADSTEP_FORMULA double newton_error(const NewtonForm& form, double distance, double pad) {
  const double of_pad = magnitude(pad - 1);
  if (!form.source_steps) return square_root(distance + form.padding * of_pad * of_pad);
  return form.padding > 0 && distance < of_pad ? of_pad : distance;
}

GRADSTEP_FORMULA NewtonState begin_newton(const NewtonForm& form, double distance, const NewtonStart& start) {
  NewtonState state;
  state.rungs = start.rungs;
  state.error = newton_error(form, distance, start.pad);
  state.pad = start.pad;
  return state;
}

/// Whether a step is to follow: state.step. If not, H is the root, or the one before it if state.takes_previous.
template <class T>
GRADSTEP_FORMULA bool goes_on(const NewtonForm& form, const NewtonLadder& ladder, NewtonState& state) {
  const std::int32_t p = form.exponent;
  if (state.iterations >= kMaxRootIterations || state.takes_previous || state.is_last) return false;
  if (form.source_steps) {
    state.step = source_step(p);
    return state.error > kSourceTolerance<T>;
  }
  // By the mean of all: one alone that is away by as much, 0.03 of a thousand rows, is 2e-5 away when the step is made.
  state.is_last = !(state.error > kClosingDistance * square_root(form.rows + form.padding));
  state.step = state.is_last || state.rungs == 0 ? closing_step(p) : ladder.steps[state.rungs - 1];
  if (state.rungs > 0) --state.rungs;
  if (state.is_last) {
    state.error = closed_error(p, state.error);
    ++state.iterations;
  }
  return true;
}

/// After a step that was not the last, whose M has this distance from I.
GRADSTEP_FORMULA void end_iteration(const NewtonForm& form, double distance, NewtonState& state) {
  ++state.iterations;
  state.pad = newton_stepped(form.exponent, state.step, state.pad);
  const double next = newton_error(form, distance, state.pad);
  if (form.source_steps) {
    state.takes_previous = !(next < state.error * 1.2);
  } else {
    // While rungs are taken, eigenvalues near 1 are moved away from it.
    state.rises = next > state.error && state.rungs == 0 ? state.rises + 1 : 0;
    state.takes_previous = state.rises >= 3 || !__builtin_isfinite(next);
  }
  state.error = next;
}

}  // namespace gradstep::kernels
