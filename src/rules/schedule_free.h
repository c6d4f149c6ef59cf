// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/elementary.h"
#include "kernels/macros.h"
#include "kernels/stored.h"
#include "rules/clock.h"
#include "rules/description.h"
#include "rules/limits.h"
#include "rules/powers.h"

namespace gradstep::rules {

struct ScheduleFree {
  enum : std::uint8_t { learning_rate, beta1, beta2, epsilon, weight_rate, weight_decay };
  static constexpr Field kFields[] = {
      {"learning_rate", at_least(0), kRequired, "step size"},
      {"beta1", {.minimum = 1e-3, .limit = 1}, 0.9, "how near the gradient's place is to the average"},
      {"beta2", kFraction, 0.999, "share of the mean square that a step keeps; not of inner sgd"},
      {"epsilon", at_least(0), 1e-8, "keeps the denominator from zero; not of inner sgd"},
      {"weight_rate", at_least(0), 0, "the learning rate that steps are weighted by; 0 = learning_rate"},
      {"weight_decay", at_least(0), 0, "times p joins the direction"},
  };

  enum : std::uint8_t { warmup_steps, weight_power, rate_power };
  static constexpr Field kSettings[] = {
      {"warmup_steps", whole(0, 999999999), 0, "steps in which the learning rate grows from 0"},
      {"weight_power", at_least(0), 0, "r: a step weighs (t+1)^r"},
      {"rate_power", at_least(0), 2, "a step weighs its largest learning rate so far to this power"},
  };

  enum : std::uint8_t { inner, waits };
  static constexpr const char* kInners[] = {"adamw", "sgd", "radam"};
  enum : std::uint8_t { adamw, sgd, radam };
  static constexpr Choice kChoices[] = {
      {"inner", kInners, "adamw, sgd or radam: the rule that gives the direction"},
      {"waits", {}, "inner radam: nothing moves while the variance is unknown (silent_sgd_phase)", 1}};

  static constexpr State kStates[] = {{.name = "z", .has_signs = true, .is_exact = true}, {.name = "exp_avg_sq"}};

  enum : std::uint8_t { weight_sum, largest_rate };
  static constexpr Number kNumbers[] = {{.name = "weight_sum"}, {.name = "largest_rate"}};

  static constexpr Description kAbout = {
      .name = "schedule_free",
      .source =
          "Defazio et al. 2024, The Road Less Scheduled, algorithm 1; the numbers of schedulefree, and of optax with "
          "its schedule for the weights as weight_rate",
      .formula =
          "p is y, where gradients are taken; z = p at first; the average x = p + (1 - 1 / beta1) * (z - p)\n"
          "rate = learning_rate * min(1, (t+1) / warmup_steps); inner radam: times its rectification\n"
          "w = (t+1)^weight_power * (largest rate so far)^rate_power, c = w / (sum of all w), or 0\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "u = g / (sqrt(v / (1 - beta2^(t+1))) + epsilon) + weight_decay * p; inner sgd: g + weight_decay * p\n"
          "p = p + c * (z - p) - rate * (1 - beta1 * (1 - c)) * u\n"
          "z = z - rate * u",
      .text =
          "rule my_schedule_free\n"
          "hyper learning_rate in [0, inf); beta1 = 0.9 in [0.001, 1); beta2 = 0.999 in [0, 1)\n"
          "hyper epsilon = 1e-8 in [0, inf); weight_rate = 0 in [0, inf); weight_decay = 0 in [0, inf)\n"
          "hyper warmup_steps = 0 in [0, inf); weight_power = 0 in [0, inf); rate_power = 2 in [0, inf)\n"
          "state z; v unsigned; weights unsigned; largest unsigned  # the last two are equal in all elements\n"
          "warmth = select(t < warmup_steps, t / warmup_steps, 1)\n"
          "rate = learning_rate * warmth\n"
          "largest = max(largest, select(weight_rate > 0, weight_rate * warmth, rate))\n"
          "w = t^weight_power * largest^rate_power\n"
          "weights = weights + w\n"
          "c = select(weights > 0, w / weights, 0)\n"
          "v = beta2 * v + (1 - beta2) * g^2\n"
          "u = g / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * p\n"
          "z = select(t == 1, p, z)\n"
          "p = p + c * (z - p) - rate * (1 - beta1 * (1 - c)) * u\n"
          "z = z - rate * u",
      .fields = kFields,
      .settings = kSettings,
      .choices = kChoices,
      .states = kStates,
      .requirements = {},
      .numbers = kNumbers};

  static constexpr bool kOneKernel = true;
  static constexpr Decay decay(const std::int32_t* /*choices*/) { return Decay::none; }

  static constexpr int kVariants = 2;
  static constexpr int variant(const Setup& setup) { return setup.choices[inner] == sgd ? 1 : 0; }
  static constexpr std::uint32_t states(int variant) { return variant == 0 ? 0b11 : 0b1; }

  static double largest_gradient(const Setup& setup, double largest) {
    return setup.choices[inner] == sgd ? largest : largest_square(setup.constant(beta2, 0), largest);
  }

  static constexpr std::size_t kAveraged = 0;
  static double average_share(const std::int32_t* /*choices*/, const double* values) { return 1 - 1 / values[beta1]; }

  template <class T>
  struct Constants {
    T keep_z, take_p;  ///< z is p at first
    T beta2, one_minus_beta2, correct2, epsilon;
    T of_root, of_one;  ///< what u is divided by: the root, or 1
    T decay;
    T toward_z, of_u, rate;
    T weight_sum, largest_rate;
  };

  static GRADSTEP_FORMULA Constants<double> constants(const std::int32_t* choices, const double* v,
                                                      const Clock& clock) {
    const double count = static_cast<double>(clock.t) + 1;
    const double warmth = count < clock.settings[warmup_steps] ? count / clock.settings[warmup_steps] : 1;
    const double power2 = clock.power(0, v[beta2]);
    double rate = v[learning_rate] * warmth;
    double weighed = v[weight_rate] > 0 ? v[weight_rate] * warmth : rate;
    bool divides = choices[inner] != sgd;
    if (choices[inner] == radam) {
      const double longest = 2 / (1 - v[beta2]) - 1;
      const double length = longest - 2 * count * power2 / (1 - power2);
      divides = length > 4;
      double factor = choices[waits] != 0 ? 0 : 1;
      if (divides) {
        factor = kernels::square_root((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
      }
      rate *= factor;
      weighed *= factor;
    }
    const double largest = weighed > clock.numbers[largest_rate] ? weighed : clock.numbers[largest_rate];
    const double weight = power_of(count, clock.settings[weight_power]) * power_of(largest, clock.settings[rate_power]);
    const double sum = clock.numbers[weight_sum] + weight;
    const double share = sum > 0 ? weight / sum : 0;
    return {clock.is_first ? 0.0 : 1.0,
            clock.is_first ? 1.0 : 0.0,
            v[beta2],
            1 - v[beta2],
            1 / (1 - power2),
            divides ? v[epsilon] : 0,
            divides ? 1.0 : 0.0,
            divides ? 0.0 : 1.0,
            v[weight_decay],
            share,
            rate * (1 - v[beta1] * (1 - share)),
            rate,
            sum,
            largest};
  }

  static GRADSTEP_FORMULA void advance(const std::int32_t* /*choices*/, const double* /*settings*/,
                                       const double* /*sums*/, double* numbers, Constants<double>& c) {
    numbers[weight_sum] = c.weight_sum;
    numbers[largest_rate] = c.largest_rate;
  }

  /// Returns the change of p.
  template <class T, int kVariant, class V>
  static GRADSTEP_FORMULA V delta(const Constants<T>& c, V p, V g, V* state, T largest) {
    const V z = c.keep_z * state[0] + c.take_p * p;
    V u = g;
    if constexpr (kVariant == 0) {
      const V v = kernels::storable(c.beta2 * state[1] + c.one_minus_beta2 * g * g, largest);
      state[1] = v;
      u = g / (c.of_root * kernels::square_root(v * c.correct2) + (c.epsilon + c.of_one));
    }
    u = u + c.decay * p;
    state[0] = z - c.rate * u;
    return c.toward_z * (z - p) - c.of_u * u;
  }
};

}  // namespace gradstep::rules
