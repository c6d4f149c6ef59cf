// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/partial_fractions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cpu/linear_algebra/dense.h"
#include "cpu/linear_algebra/eigensolver/implicit_ql.h"

namespace gradstep::cpu {

namespace {

constexpr std::int64_t kMostNodes = 12;

/// Integrals of u^power g(u) over [0, 1] are sums of weight g(node).
struct GaussRule {
  std::int64_t count = 0;
  double nodes[kMostNodes];
  double weights[kMostNodes];
};

/// Nodes are the eigenvalues of Jacobi's matrix, the tridiagonal one of the recurrence of the orthogonal polynomials,
/// and weights the squares of its eigenvectors' first components. `power` > -1.
GaussRule gauss_rule(std::int64_t count, double power) {
  GaussRule rule;
  rule.count = count;
  double beside[kMostNodes] = {};
  double vectors[kMostNodes * kMostNodes];
  // The recurrence of Jacobi's polynomials on [-1, 1] with the weight (1 + x)^power.
  for (std::int64_t i = 0; i < count; ++i) {
    const auto k = static_cast<double>(i);
    const double sum = 2 * k + power;
    rule.nodes[i] = i == 0 ? power / (power + 2) : power * power / (sum * (sum + 2));
    const double next = sum + 2;
    const double j = k + 1;
    const double ratio = i == 0 ? 4 * (1 + power) / (next * next * (next + 1))
                                : 4 * j * j * (j + power) * (j + power) / (next * next * (next * next - 1));
    beside[i] = std::sqrt(ratio);
  }
  solve_by_implicit_ql(kDenseBaseline.f64, rule.nodes, beside, count, vectors, count);
  for (std::int64_t i = 0; i < count; ++i) {
    rule.nodes[i] = (1 + rule.nodes[i]) / 2;
    rule.weights[i] = vectors[i * count] * vectors[i * count] / (power + 1);
  }
  return rule;
}

// A rule of N nodes errs by about r^(-2 N), r the sum of the half-axes of the largest ellipse around its piece in which
// the integrand is analytic: r^2 is 34 outside, and asinh(2 pi / length) is log r between.
constexpr std::int64_t nodes_outside(PartialFractions::Accuracy accuracy) {
  return accuracy == PartialFractions::Accuracy::f64 ? 8 : 4;
}
constexpr double longest_piece(PartialFractions::Accuracy accuracy) {
  return accuracy == PartialFractions::Accuracy::f64 ? 4.8 : 9.6;
}
double pieces_between(double log_ratio, PartialFractions::Accuracy accuracy) {
  return std::ceil(log_ratio / longest_piece(accuracy));
}

}  // namespace

/// The poles of accuracy f64, which has more than f32.
std::size_t PartialFractions::most_poles(double ratio) {
  constexpr double kLargestRatio = 1e18;  // no two eigenvalues that f64 tells apart are further
  const double pieces = pieces_between(std::log(std::min(ratio, kLargestRatio)), Accuracy::f64);
  return static_cast<std::size_t>(2 * nodes_outside(Accuracy::f64)) +
         static_cast<std::size_t>(kMostNodes) * static_cast<std::size_t>(pieces);
}

void PartialFractions::expand_inverse_root(std::int32_t exponent, double smallest, double largest, Accuracy accuracy) {
  shifts_.clear();
  weights_.clear();
  if (exponent == 1) return add(0, 1);
  const std::int64_t outside = nodes_outside(accuracy);
  constexpr std::int64_t kBetween = kMostNodes;

  const double a = 1.0 / exponent;
  const double factor = std::sin(std::numbers::pi * a) / std::numbers::pi;
  const GaussRule below = gauss_rule(outside, -a);
  const double smallest_power = factor * std::pow(smallest, 1 - a);
  for (std::int64_t i = 0; i < below.count; ++i) add(smallest * below.nodes[i], smallest_power * below.weights[i]);

  const double length = std::log(largest / smallest);
  const double pieces = pieces_between(length, accuracy);
  const GaussRule between = gauss_rule(kBetween, 0);
  for (double piece = 0; piece < pieces; ++piece) {
    for (std::int64_t i = 0; i < between.count; ++i) {
      const double shift = smallest * std::exp(length * (piece + between.nodes[i]) / pieces);
      add(shift, factor * length / pieces * between.weights[i] * std::pow(shift, 1 - a));
    }
  }

  // s = largest / u.
  const GaussRule above = gauss_rule(outside, a - 1);
  const double largest_power = factor * std::pow(largest, 1 - a);
  for (std::int64_t i = above.count; i-- > 0;) {
    add(largest / above.nodes[i], largest_power * above.weights[i] / above.nodes[i]);
  }
}

}  // namespace gradstep::cpu
