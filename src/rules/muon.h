// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/macros.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/newton_schulz.h"
#include "rules/variance.h"

namespace gradstep::rules {

struct Muon {
  enum : std::uint8_t { learning_rate, momentum, variance_beta, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"momentum", kFraction, 0.95, "share of the momentum that a step keeps"},
      {"variance_beta", kFraction, 0.95, "share of the variance that a step keeps"},
      {"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"},
  };

  enum : std::uint8_t {
    iterations,
    epsilon,
    scale_factor,
    coefficient_a,
    coefficient_b,
    coefficient_c,
    variance_epsilon,
    gram_restart_every
  };
  static constexpr Field kSettings[] = {
      {"iterations", whole(1, 100), 5, "Newton-Schulz iterations"},
      {"epsilon", at_least(0), 1e-7, "keeps the norm that a matrix is divided by from zero"},
      {"scale_factor", at_least(0), 1, "multiplies what step_scale says"},
      {"coefficient_a", {}, 3.4445, "for coefficients = own: X = a X + (b A + c A^2) X, A = X X^T"},
      {"coefficient_b", {}, -4.7750, "likewise"},
      {"coefficient_c", {}, 2.0315, "likewise"},
      {"variance_epsilon", at_least(0), 1e-8, "keeps the root of the variance from zero"},
      {"gram_restart_every", whole(1, 20), 3,
       "for iterate = gram: X is made anew before iterations n, 2 n, ..., counted from 1; a large n makes products in "
       "bf16 fail"},
  };

  enum : std::uint8_t {
    momentum_form,
    nesterov,
    step_scale_by,
    coefficients,
    normalizer,
    variance_of,
    variance_floor,
    variance_length,
    product_precision,
    iterate
  };
  static constexpr const char* kMomentumForms[] = {"average", "sum", "corrected"};
  enum : std::uint8_t { average, sum, corrected };
  static constexpr const char* kStepScales[] = {"shape", "rms", "spectral", "largest", "kernel", "none"};
  enum : std::uint8_t { shape, rms, spectral, largest, kernel, none };
  static constexpr Choice kChoices[] = {
      {"momentum_form", kMomentumForms,
       "average: m = momentum * m + (1 - momentum) * g (KellerJordan, torch, NVIDIA); sum: m = momentum * m + g "
       "(Moonlight, dion); corrected: the average, corrected for its bias (optax)"},
      {.name = "nesterov", .values = {}, .meaning = "looks one step ahead", .initial = 1},
      {"step_scale", kStepScales,
       "shape: sqrt(max(1, rows / columns)) (KellerJordan, torch); rms: 0.2 sqrt(max(rows, columns)) (Moonlight, "
       "torch); spectral: sqrt(rows / columns) (dion, torch, NVIDIA); largest: sqrt(max(rows, columns)) (NVIDIA); "
       "kernel: sqrt(max(1, columns / rows)), for weights of inputs x outputs (optax); none: 1"},
      {"coefficients", kNewtonSchulzSets, "the Newton-Schulz iterations' numbers"},
      {"normalizer", kNormalizers,
       "what a matrix is divided by first. add: norm + epsilon; max: max(norm, epsilon); safe: 1.02 norm + epsilon"},
      {"variance", kVariances,
       "what o is divided by the root of: a mean square of each of the rows (NorMuon: dion, pytorch_optimizer), of the "
       "longer axis (NorMuon: NVIDIA), of the elements (AdaMuon); kept as the state variance"},
      {"variance_floor", kVarianceFloors, "add: sqrt(v) + variance_epsilon; max: sqrt(max(v, variance_epsilon))"},
      {"variance_length", kVarianceLengths,
       "how long o is then. kept: as before (NorMuon); free: as it comes (AdaMuon: NVIDIA); full: sqrt(min(rows, "
       "columns)), with v / (1 - variance_beta^(t+1)) (AdaMuon: pytorch_optimizer)"},
      {"product_precision", kIteratePrecisions,
       "precision of the Newton-Schulz iterations. f32: that of the arithmetic type; bf16: iterates are rounded to it, "
       "and products sum in f32 (NVIDIA, KellerJordan, torch), in bits that depend on the processor"},
      {"iterate", kIterates,
       "what the Newton-Schulz iterations change. matrix: X; gram: X X^T and a matrix by which X is multiplied at the "
       "end, which takes fewer operations (Zhang et al. 2026, Gram Newton-Schulz); as matrix where one axis is less "
       "than 1.5 times the other"},
  };

  static constexpr State kStates[] = {{.name = "momentum_buffer", .has_signs = true}};

  static constexpr const char* kWholeNames[] = {"variance"};

  static constexpr Description kAbout = {
      .name = "muon",
      .source =
          "Jordan et al. 2024, Muon; options where KellerJordan/Muon, torch, Moonlight, dion, NVIDIA and optax "
          "differ, the numbers of each. Li et al. 2025, NorMuon; Si et al. 2025, AdaMuon: the option variance",
      .formula =
          "m = momentum * m + (1 - momentum) * g\n"
          "u = (1 - momentum) * g + momentum * m if nesterov else m\n"
          "o = orthogonalize(u) of the first axis against all others\n"
          "with variance: v = variance_beta * v + (1 - variance_beta) * mean(o^2), o = o / (sqrt(v) + "
          "variance_epsilon), scaled by variance_length\n"
          "p = p - learning_rate * scale_factor * step_scale * o; every parameter needs 2 axes or more",
      .no_text = "its changes are products of matrices",
      .fields = kFields,
      .settings = kSettings,
      .choices = kChoices,
      .states = kStates,
      .requirements = {},
      .whole_states =
          "with variance: variance, a number for each row, for each place of the longer axis, or for each "
          "element",
      .whole_names = kWholeNames};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::decoupled; }

  static constexpr int kVariants = 1;
  static constexpr int variant(const Setup& /*setup*/) { return 0; }
  static constexpr std::uint32_t states(int /*variant*/) { return 1; }

  /// A sum that takes in g in every step ends at g / (1 - momentum), and Nesterov's look ahead adds less than it again.
  static double largest_gradient(const Setup& setup, double largest) {
    return setup.choices[momentum_form] == sum ? largest * (1 - setup.constant(momentum, 0)) / 2 : largest;
  }

  template <class T>
  struct Constants {
    T keep, take;  ///< m = keep m + take g
    T of_g, of_m;  ///< u = of_g g + of_m m
    T variance_beta, variance_correct;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double share = v[momentum];
    const double take = choices[momentum_form] == sum ? 1 : 1 - share;
    const bool looks_ahead = choices[nesterov] != 0;
    double of_g = looks_ahead ? take : 0;
    double of_m = looks_ahead ? share : 1;
    if (choices[momentum_form] == corrected) {
      const double now = clock.power(0, share);
      of_g = looks_ahead ? take / (1 - now) : 0;
      of_m = looks_ahead ? share / (1 - now * share) : 1 / (1 - now);
    }
    return {share, take, of_g, of_m, v[variance_beta], 1 / (1 - clock.power(1, v[variance_beta]))};
  }

  /// Returns u, which is orthogonalized as a whole.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V /*p*/, V g, V* state, T /*largest*/) {
    const V m = c.keep * state[0] + c.take * g;
    state[0] = m;
    return c.of_g * g + c.of_m * m;
  }

  static NewtonSchulz orthogonalization(const std::int32_t* choices, const double* settings) {
    return {static_cast<NewtonSchulzSet>(choices[coefficients]),
            static_cast<std::int32_t>(settings[iterations]),
            static_cast<Normalizer>(choices[normalizer]),
            settings[epsilon],
            {settings[coefficient_a], settings[coefficient_b], settings[coefficient_c]},
            static_cast<IteratePrecision>(choices[product_precision]),
            static_cast<Iterate>(choices[iterate]),
            static_cast<std::int32_t>(settings[gram_restart_every])};
  }

  static Variance variance(const std::int32_t* choices, const double* settings) {
    return {static_cast<VarianceOf>(choices[variance_of]), static_cast<VarianceFloor>(choices[variance_floor]),
            static_cast<VarianceLength>(choices[variance_length]), 0, settings[variance_epsilon]};
  }
  /// What a step along an orthogonalized matrix is multiplied by, beside the learning rate.
  static double step_scale(const std::int32_t* choices, const double* settings, double rows, double columns) {
    const double longer = rows > columns ? rows : columns;
    double scale = 1;
    switch (choices[step_scale_by]) {
      case shape:
        scale = std::sqrt(rows > columns ? rows / columns : 1);
        break;
      case rms:
        scale = 0.2 * std::sqrt(longer);
        break;
      case spectral:
        scale = std::sqrt(rows / columns);
        break;
      case largest:
        scale = std::sqrt(longer);
        break;
      case kernel:
        scale = std::sqrt(columns > rows ? columns / rows : 1);
        break;
      default:
        break;
    }
    return settings[scale_factor] * scale;
  }
};

}  // namespace gradstep::rules
