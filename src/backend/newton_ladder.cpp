// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// f(y) = y q(y^p) of kernels/inverse_root.h, by the places u = y^p at which its slope, which is quadratic in u, is
// zero: f'(y) = C (u - u1)(u - u2), so
//   f(y) = C y (u1 u2 - (u1 + u2) u / (p + 1) + u^2 / (2p + 1)).
// That f(y1) = f(1) is a linear equation for u2, so there is one f for each u1; the dip f(y2) between them grows with
// u1.
#include "backend/newton_ladder.h"

#include <cmath>
#include <map>
#include <mutex>

namespace gradstep {

namespace {

using kernels::NewtonLadder;
using kernels::NewtonStep;

/// A step makes the largest eigenvalues no smaller than this beside others, which is the accuracy that they lose.
constexpr double kLeastDip = 1e-2;
/// Rounding brings eigenvalues above 1, from where the next rungs would take them further: all up to this much above it
/// become 1 at most.
constexpr double kAboveOne = 1e-3;
constexpr int kHalvings = 100;  // until a place between 0 and 1 is exact

/// The largest x in (low, high) of which is(x), which small ones are.
template <class Is>
double last_of(double low, double high, Is is) {
  for (int k = 0; k < kHalvings; ++k) {
    const double middle = (low + high) / 2;
    (is(middle) ? low : high) = middle;
  }
  return low;
}

struct Rung {
  NewtonStep step;
  double u1 = 0;
  double u2 = 0;
};

Rung rung_of(double p, double u1) {
  const double y1 = std::pow(u1, 1 / p);
  // f(1) - f(y1) = C (of_u2 u2 + rest).
  const double of_u2 = u1 - 1 / (p + 1) - y1 * (u1 - u1 / (p + 1));
  const double rest = 1 / (2 * p + 1) - u1 / (p + 1) + y1 * u1 * u1 * (1 / (p + 1) - 1 / (2 * p + 1));
  const double u2 = -rest / of_u2;
  const NewtonStep step{u1 * u2, -(u1 + u2) / (p + 1), 1 / (2 * p + 1)};
  const double at_one = newton_factor(step, 1);
  return {{step.constant / at_one, step.linear / at_one, step.square / at_one}, u1, u2};
}

/// The rung whose dip is this eigenvalue of M.
Rung rung_with_dip(std::int32_t p, double dip) {
  const auto is_deeper = [&](double u1) {
    const Rung rung = rung_of(p, u1);
    return !(newton_factor(rung.step, rung.u2) > 0) || newton_stepped(p, rung.step, rung.u2) < dip;
  };
  return rung_of(p, last_of(0, 1, is_deeper));
}

/// f of an interval that ends at 1 + kAboveOne.
NewtonStep widened(std::int32_t p, const NewtonStep& step) {
  const double x = 1 + kAboveOne;
  const double y = std::pow(x, 1.0 / p);
  return {step.constant / y, step.linear / (y * x), step.square / (y * x * x)};
}

NewtonLadder make_ladder(std::int32_t p) {
  NewtonLadder ladder;
  const Rung deepest = rung_with_dip(p, kLeastDip);
  double target = 1 - kernels::kClosingDistance;
  while (target > kernels::kSmallestRatio && ladder.count < kernels::kMostRungs) {
    const Rung rung = target > kLeastDip ? rung_with_dip(p, target) : deepest;
    const NewtonStep step = widened(p, rung.step);
    target = last_of(0, rung.u1, [&](double x) { return newton_stepped(p, step, x) < target; });
    ladder.steps[ladder.count] = step;
    ladder.least[ladder.count++] = target;
  }
  return ladder;
}

}  // namespace

const NewtonLadder& newton_ladder(std::int32_t p) {
  // Leaked: roots may be under way when the process ends.
  static std::mutex mutex;
  static auto* const ladders = new std::map<std::int32_t, NewtonLadder>;
  const std::scoped_lock lock(mutex);
  const auto [place, is_new] = ladders->try_emplace(p);
  if (is_new) place->second = make_ladder(p);
  return place->second;
}

}  // namespace gradstep
