// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// x^(-1/p) as a sum of weight / (x + shift), all weights and shifts positive. With a = 1/p (Stieltjes)
//
//   x^(-a) = sin(pi a) / pi * integral of s^(-a) / (s + x) over s from 0 to infinity.
//
// For x in [smallest, largest] the integral is cut at these two, where each part is smooth in a variable of its own: s
// below, log s between, 1/s above. Below and above are Gauss-Jacobi rules, whose weights have the singular factor
// (Golub and Welsch 1969), between are Gauss-Legendre rules on equal pieces of log s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/held_bytes.h"

namespace gradstep::cpu {

class PartialFractions {
 public:
  PartialFractions() { reserve(64); }

  enum class Accuracy { f64, f32 };  ///< relative errors below 1e-11, and below 1e-5

  /// Expands x^(-1/exponent), exponent >= 1, on [smallest, largest], 0 < smallest <= largest.
  void expand_inverse_root(std::int32_t exponent, double smallest, double largest, Accuracy accuracy);

  /// How many an expansion has, at most, where `largest` is `ratio` times `smallest`.
  static std::size_t most_poles(double ratio);
  void reserve(std::size_t poles) {
    shifts_.reserve(poles);
    weights_.reserve(poles);
  }

  std::size_t bytes() const { return held_bytes(shifts_, weights_); }

  /// Shifts ascend.
  const std::vector<double>& shifts() const { return shifts_; }
  const std::vector<double>& weights() const { return weights_; }

 private:
  void add(double shift, double weight) {
    shifts_.push_back(shift);
    weights_.push_back(weight);
  }

  std::vector<double> shifts_;
  std::vector<double> weights_;
};

}  // namespace gradstep::cpu
