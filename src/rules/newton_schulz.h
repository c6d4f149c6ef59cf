// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Newton-Schulz iterations: a matrix becomes nearly orthogonal, its singular values nearly 1.
//   X = G / normalizer(|G|)
//   X = a X + (b A + c A^2) X, A = X X^T, once for each iteration
//
// The iterates of the Gram matrix R = X X^T are smaller where X is not square, and X is needed at the end alone (Zhang
// et al. 2026):
//   Z = b R + c R^2
//   Q = a Q + Q Z, from I on
//   R = (a I + Z) (a R + R Z)
//   X = Q X
// Errors of R grow with Q. So X = Q X, and R and Q begin anew, before iterations restart_every, 2 restart_every, ...,
// counted from 1. The first run is one shorter than the others, because its coefficients are the largest.
//
// With products in bf16 every iterate is rounded to it, and products sum in f32.
//
// Sources: Jordan et al. 2024 (Muon), Amsel et al. 2025 (Polar Express), Zhang et al. 2026 (Gram Newton-Schulz); the
// coefficients are those of the systems that each set names.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::rules {

/// Coefficients of one iteration.
struct NewtonSchulzStep {
  double a, b, c;
  bool operator==(const NewtonSchulzStep&) const = default;
};

/// Names of coefficient sets, and what they are.
enum class NewtonSchulzSet : std::int32_t {
  simple,                ///< KellerJordan/Muon, torch
  quintic,               ///< five steps, over and over: dion, NVIDIA
  polar_express,         ///< dion; the last step is repeated
  polar_express_nvidia,  ///< four digits; the last step is repeated
  cans,                  ///< NVIDIA; the last step is repeated
  aol,                   ///< NVIDIA, over and over
  deepseekv4,            ///< eight simple steps, then others: NVIDIA
  cubic,                 ///< NVIDIA, over and over
  own,                   ///< the host's
};
inline constexpr const char* kNewtonSchulzSets[] = {
    "simple", "quintic", "polar_express", "polar_express_nvidia", "cans", "aol", "deepseekv4", "cubic", "own"};

/// What the Frobenius norm becomes before a matrix is divided by it.
enum class Normalizer : std::int32_t {
  add,   ///< norm + epsilon
  max,   ///< max(norm, epsilon)
  safe,  ///< 1.02 norm + epsilon
};
inline constexpr const char* kNormalizers[] = {"add", "max", "safe"};

/// What iterates are rounded to. f32: f64 matrices are not rounded.
enum class IteratePrecision : std::int32_t { f32, bf16 };
inline constexpr const char* kIteratePrecisions[] = {"f32", "bf16"};

/// What is iterated.
enum class Iterate : std::int32_t {
  matrix,  ///< X
  gram,    ///< R and Q; X where it is square, or nearly so
};
inline constexpr const char* kIterates[] = {"matrix", "gram"};

struct NewtonSchulz {
  NewtonSchulzSet set = NewtonSchulzSet::simple;
  std::int32_t iterations = 5;
  Normalizer normalizer = Normalizer::add;
  double epsilon = 1e-7;
  NewtonSchulzStep own = {};
  IteratePrecision precision = IteratePrecision::f32;
  Iterate iterate = Iterate::matrix;
  std::int32_t restart_every = 3;  ///< Gram iterations

  bool operator==(const NewtonSchulz&) const = default;

  /// About the operations of all iterations; of a symmetric product half are made.
  double operations(std::int64_t rows, std::int64_t columns) const {
    const auto shorter = static_cast<double>(rows < columns ? rows : columns);
    const double size = static_cast<double>(rows) * static_cast<double>(columns);
    const double cube = shorter * shorter * shorter;
    if (!uses_gram(rows, columns)) return iterations * (3 * shorter * size + cube);
    double all = 0;
    for (std::int32_t i = 0; i < iterations; ++i) {
      all += (begins_at(i) ? 1 : 2) * cube;
      all += ends_at(i) ? 3 * shorter * size : 2 * cube;
    }
    return all;
  }

  /// Below 3 to 2 a device makes more operations by Gram iterations: its products are whole.
  bool uses_gram(std::int64_t rows, std::int64_t columns) const {
    return iterate == Iterate::gram && (2 * rows >= 3 * columns || 2 * columns >= 3 * rows);
  }
  /// R and Q begin with iteration i.
  bool begins_at(std::int32_t i) const { return i == 0 || (i + 1) % restart_every == 0; }
  /// X is made after it.
  bool ends_at(std::int32_t i) const { return i + 1 == iterations || begins_at(i + 1); }

  /// Calls the operations of the iterations in their order. `work` has those of a backend.
  template <class Work>
  void run(std::int64_t rows, std::int64_t columns, Work& work) const {
    const bool is_of_gram = uses_gram(rows, columns);
    for (std::int32_t i = 0; i < iterations; ++i) {
      const NewtonSchulzStep now = step(i);
      if (!is_of_gram || begins_at(i)) work.square();
      work.make_polynomial(now);
      if (!is_of_gram) {
        work.multiply_by_polynomial(now.a);
        continue;
      }
      begins_at(i) ? work.begin_q(now.a) : work.advance_q(now.a);
      ends_at(i) ? work.multiply_by_q() : work.advance_gram(now.a);
    }
  }

  /// The coefficients of iteration i, which counts from 0.
  NewtonSchulzStep step(std::int32_t i) const {
    constexpr NewtonSchulzStep kSimple = {3.4445, -4.7750, 2.0315};
    constexpr NewtonSchulzStep kQuintic[] = {{4.0848, -6.8946, 2.9270},
                                             {3.9505, -6.3029, 2.6377},
                                             {3.7418, -5.5913, 2.3037},
                                             {2.8769, -3.1427, 1.2046},
                                             {2.8366, -3.0525, 1.2012}};
    constexpr NewtonSchulzStep kPolarExpress[] = {{8.156554524902461, -22.48329292557795, 15.878769915207462},
                                                  {4.042929935166739, -2.808917465908714, 0.5000178451051316},
                                                  {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
                                                  {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
                                                  {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}};
    constexpr NewtonSchulzStep kPolarExpressNvidia[] = {
        {8.2051, -22.9019, 16.4607}, {4.0664, -2.8612, 0.5184}, {3.9096, -2.8234, 0.5250}, {3.2856, -2.4153, 0.4853},
        {2.2779, -1.6198, 0.3985},   {1.8726, -1.2307, 0.3585}, {1.8564, -1.2132, 0.3568}, {1.8750, -1.2500, 0.3750}};
    constexpr NewtonSchulzStep kCans[] = {{8.4703, -25.1081, 18.6293},
                                          {4.1828, -3.1087, 0.5806},
                                          {3.9619, -2.9541, 0.5630},
                                          {3.2866, -2.4647, 0.5074},
                                          {2.2737, -1.6447, 0.4162}};
    constexpr NewtonSchulzStep kAol[] = {
        {4.0098, -7.0585, 2.4635}, {3.4585, -5.5479, 2.5959}, {2.7573, -3.2939, 1.4254}, {2.7215, -3.0494, 1.3169}};
    constexpr NewtonSchulzStep kCubic[] = {{3.3656576, -3.3420992, 0},
                                           {2.5744352, -1.4957376, 0},
                                           {2.5368962, -1.4312570, 0},
                                           {2.4418906, -1.2764040, 0},
                                           {2.2230472, -0.9630650, 0}};
    switch (set) {
      case NewtonSchulzSet::simple:
        return kSimple;
      case NewtonSchulzSet::quintic:
        return in_turns(kQuintic, i);
      case NewtonSchulzSet::polar_express:
        return up_to_last(kPolarExpress, i);
      case NewtonSchulzSet::polar_express_nvidia:
        return up_to_last(kPolarExpressNvidia, i);
      case NewtonSchulzSet::cans:
        return up_to_last(kCans, i);
      case NewtonSchulzSet::aol:
        return in_turns(kAol, i);
      case NewtonSchulzSet::deepseekv4:
        return i < 8 ? kSimple : NewtonSchulzStep{2, -1.5, 0.5};
      case NewtonSchulzSet::cubic:
        return in_turns(kCubic, i);
      case NewtonSchulzSet::own:
        break;
    }
    return own;
  }

  /// What a matrix of this norm is multiplied by.
  GRADSTEP_FORMULA double factor(double norm) const {
    switch (normalizer) {
      case Normalizer::add:
        return reciprocal(norm + epsilon);
      case Normalizer::max:
        return reciprocal(norm > epsilon ? norm : epsilon);
      case Normalizer::safe:
        break;
    }
    return reciprocal(1.02 * norm + epsilon);
  }

 private:
  template <std::size_t kCount>
  static constexpr NewtonSchulzStep in_turns(const NewtonSchulzStep (&steps)[kCount], std::int32_t i) {
    return steps[i % static_cast<std::int32_t>(kCount)];
  }
  template <std::size_t kCount>
  static constexpr NewtonSchulzStep up_to_last(const NewtonSchulzStep (&steps)[kCount], std::int32_t i) {
    return steps[i < static_cast<std::int32_t>(kCount) ? i : static_cast<std::int32_t>(kCount) - 1];
  }
  /// A matrix of zeros stays zero.
  GRADSTEP_FORMULA static double reciprocal(double x) { return x > 0 ? 1 / x : 0; }
};

}  // namespace gradstep::rules
