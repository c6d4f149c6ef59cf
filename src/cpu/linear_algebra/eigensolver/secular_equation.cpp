// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigensolver/secular_equation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstep::cpu {

namespace {

constexpr int kMaxIterations = 100;  // it takes four to eight; bisection alone would take as many as there are digits

/// The equation at origin + tau, cut between the poles to the left and to the right of the root.
template <class T>
struct Evaluation {
  T left;
  T left_slope;
  T right;
  T right_slope;
  T value;

  bool is_rounding(const SecularEquation<T>& equation) const {
    const T terms = 1 / equation.rho + std::abs(left) + std::abs(right);
    return std::abs(value) <= 8 * std::numeric_limits<T>::epsilon() * terms;
  }
};

template <class T>
Evaluation<T> evaluate(const DenseLoops<T>& loops, const SecularEquation<T>& equation, std::int64_t i, const T* delta,
                       T tau) {
  Evaluation<T> at;
  loops.sum_poles(equation.z, delta, tau, i + 1, &at.left, &at.left_slope);
  loops.sum_poles(equation.z + i + 1, delta + i + 1, tau, equation.size - i - 1, &at.right, &at.right_slope);
  at.value = 1 / equation.rho + at.left + at.right;
  return at;
}

/// The step to the root of the function with a pole on each side that has value and slopes of `at`.
template <class T>
T step_between(const Evaluation<T>& at, T left, T right) {
  const T c = at.value - left * at.left_slope - right * at.right_slope;
  const T a = (left + right) * at.value - left * right * (at.left_slope + at.right_slope);
  const T b = left * right * at.value;
  if (c == 0) return b / a;
  const T root = std::sqrt(std::max(a * a - 4 * b * c, T{0}));
  return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
}

/// The step with one pole.
template <class T>
T step_above(const Evaluation<T>& at, T left) {
  return left + left * left * at.left_slope / (at.value - left * at.left_slope);
}

}  // namespace

template <class T>
T solve_secular(const DenseLoops<T>& loops, const SecularEquation<T>& equation, std::int64_t i, T* difference) {
  const T* d = equation.d;
  const std::int64_t size = equation.size;
  const bool is_last = i + 1 == size;
  T* delta = difference;
  const auto take_origin = [&](std::int64_t pole) {
    for (std::int64_t j = 0; j < size; ++j) delta[j] = d[j] - d[pole];
    return d[pole];
  };
  T origin = take_origin(i);
  // Twice what the norm of z allows; the middle between two poles says which one is the closer.
  T low = 0;
  T high = is_last ? 2 * equation.rho * loops.dot(equation.z, equation.z, size) : d[i + 1] - d[i];
  T tau = high / 2;
  Evaluation<T> at = evaluate(loops, equation, i, delta, tau);
  if (!is_last && at.value < 0) {
    origin = take_origin(i + 1);
    low = -high;
    high = 0;
    tau = low / 2;
  }
  for (int iteration = 0; iteration < kMaxIterations && !at.is_rounding(equation); ++iteration) {
    (at.value < 0 ? low : high) = tau;
    const T step = is_last ? step_above(at, delta[i] - tau) : step_between(at, delta[i] - tau, delta[i + 1] - tau);
    T next = tau + step;
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (next == tau || !(next > low && next < high)) break;
    tau = next;
    at = evaluate(loops, equation, i, delta, tau);
  }
  for (std::int64_t j = 0; j < size; ++j) difference[j] = delta[j] - tau;
  return origin + tau;
}

template double solve_secular(const DenseLoops<double>&, const SecularEquation<double>&, std::int64_t, double*);
template float solve_secular(const DenseLoops<float>&, const SecularEquation<float>&, std::int64_t, float*);

}  // namespace gradstep::cpu
