// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules of src/rules said in the language of texts. Hyper-parameters have the names of the compiled rules', so that
// both take the same options.
#pragma once

#include <vector>

#include "gradstep/rule.h"

namespace gradstep::test {

struct RuleAsText {
  const char* text;
  const char* compiled;                       ///< the name of the compiled rule; NULL = there is none
  std::vector<gradstep_option> choices = {};  ///< of the compiled rule
};

inline const RuleAsText kRulesAsText[] = {
    {R"(rule text_sgd
        hyper learning_rate
        p = p - learning_rate * g)",
     "sgd"},
    {R"(rule text_momentum
        hyper learning_rate; momentum = 0.9; dampening = 0.25
        state b
        b = momentum * b + (1 - dampening) * g
        p = p - learning_rate * b)",
     "sgd",
     {{"momentum", 0.9, nullptr}, {"dampening", 0.25, nullptr}}},
    {R"(rule text_nesterov
        hyper learning_rate; momentum = 0.9
        state b
        b = momentum * b + g
        p = p - learning_rate * (g + momentum * b))",
     "sgd",
     {{"momentum", 0.9, nullptr}, {"nesterov", 1, nullptr}}},
    {R"(rule text_rmsprop
        hyper learning_rate; rho = 0.9 in [0, 1); epsilon = 1e-8 in [0, inf)
        state a unsigned
        a = rho * a + (1 - rho) * g * g
        p = p - learning_rate * g / sqrt(a + epsilon))",
     "rmsprop"},
    {R"(rule text_centered_rmsprop
        hyper learning_rate; rho = 0.9; epsilon = 1e-8; momentum = 0.5
        state a unsigned; c; b
        a = rho * a + (1 - rho) * g^2
        c = rho * c + (1 - rho) * g
        b = momentum * b + g / (sqrt(max(a - c * c, 0)) + epsilon)
        p = p - learning_rate * b)",
     "rmsprop",
     {{"centered", 1, nullptr}, {"epsilon_placement", 0, "outside"}, {"momentum", 0.5, nullptr}}},
    {R"(rule text_adagrad
        hyper learning_rate; epsilon = 1e-8; lr_decay = 0.1
        state a unsigned
        a = a + g^2
        p = p - learning_rate / (1 + (t - 1) * lr_decay) * g / sqrt(a + epsilon))",
     "adagrad",
     {{"lr_decay", 0.1, nullptr}}},
    {R"(rule text_adam
        hyper learning_rate; beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1); epsilon = 1e-8 in [0, inf)
        state m; v unsigned
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        p = p - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon))",
     "adam"},
    {R"(rule text_amsgrad
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-8
        state m; v unsigned; largest unsigned
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        largest = max(largest, v)
        p = p - learning_rate / (1 - beta1^t) * m / (sqrt(largest / (1 - beta2^t)) + epsilon))",
     "adam",
     {{"amsgrad", 1, nullptr}}},
    {R"(rule text_lion
        hyper learning_rate; beta1 = 0.9 in [0, 1); beta2 = 0.99 in [0, 1)
        state m
        u = sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g
        p = p - learning_rate * u)",
     "lion"},
    {R"(rule text_signum
        hyper learning_rate; momentum = 0.9
        state m
        m = momentum * m + (1 - momentum) * g
        p = p - learning_rate * sign(m))",
     "signum"},
    {R"(rule text_nadam
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-8
        state m; v unsigned
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        ahead = (1 - beta1) / (1 - beta1^t) * g + beta1 / (1 - beta1^(t + 1)) * m
        p = p - learning_rate * ahead / (sqrt(v / (1 - beta2^t)) + epsilon))",
     "nadam",
     {{"form", 0, "optax"}}},
    {R"(rule text_radam
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-8
        state m; v unsigned
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        R = 2 / (1 - beta2) - 1
        r = R - 2 * t * beta2^t / (1 - beta2^t)
        s = sqrt((r - 4) * (r - 2) * R / ((R - 4) * (R - 2) * r))
        M = m / (1 - beta1^t)
        p = p - learning_rate * select(r > 5, s * M * sqrt(1 - beta2^t) / (sqrt(v) + epsilon), M))",
     "radam"},
    {R"(rule text_adamax
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-8
        state m; u unsigned
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g) + epsilon)
        p = p - learning_rate / (1 - beta1^t) * m / u)",
     "adamax"},
    {R"(rule text_adadelta
        hyper learning_rate; rho = 0.9; epsilon = 1e-6
        state v unsigned; D unsigned
        v = rho * v + (1 - rho) * g^2
        d = sqrt(D + epsilon) / sqrt(v + epsilon) * g
        D = rho * D + (1 - rho) * d^2
        p = p - learning_rate * d)",
     "adadelta"},
    {R"(rule text_rprop
        hyper learning_rate; eta_minus = 0.5; eta_plus = 1.2; minimum_step = 1e-6; maximum_step = 50
        state before; step_size unsigned
        turned = sign(g) * sign(before)
        factor = select(turned > 0, eta_plus, select(turned < 0, eta_minus, 1))
        step_size = clamp(factor * select(t == 1, learning_rate, step_size), minimum_step, maximum_step)
        before = select(turned < 0, 0, g)
        p = p - sign(before) * step_size)",
     "rprop"},
    {R"(rule text_adabelief
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-16; epsilon_root = 1e-16
        state m; s unsigned
        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * (g - m)^2 + epsilon_root
        p = p - learning_rate * m / (1 - beta1^t) / (sqrt(s / (1 - beta2^t)) + epsilon))",
     "adabelief"},
    {R"(rule text_yogi
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-3
        state m; v unsigned
        m = beta1 * select(t == 1, 1e-6, m) + (1 - beta1) * g
        v = select(t == 1, 1e-6, v)
        v = v - (1 - beta2) * sign(v - g^2) * g^2
        p = p - learning_rate * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon))",
     "yogi"},
    {R"(rule text_adan
        hyper learning_rate; beta1 = 0.98; beta2 = 0.92; beta3 = 0.99; epsilon = 1e-8
        state m; D; n unsigned; before
        d = select(t == 1, 0, g - before)
        m = beta1 * m + (1 - beta1) * g
        D = beta2 * D + (1 - beta2) * d
        n = beta3 * n + (1 - beta3) * (g + beta2 * d)^2
        before = g
        u = m / (1 - beta1^t) + beta2 * D / (1 - beta2^t)
        p = p - learning_rate * u / (sqrt(n / (1 - beta3^t)) + epsilon))",
     "adan"},
    {R"(rule text_ademamix
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; beta3 = 0.9999; alpha = 5; epsilon = 1e-8
        state m; s; v unsigned
        alpha_steps = 8
        A = alpha * min(t / alpha_steps, 1)
        share = min(t / 8, 1)
        B = min(exp(log(beta1) * log(beta3) / ((1 - share) * log(beta3) + share * log(beta1))), beta3)
        m = beta1 * m + (1 - beta1) * g
        s = B * s + (1 - B) * g
        v = beta2 * v + (1 - beta2) * g^2
        u = (m / (1 - beta1^t) + A * s) / (sqrt(v / (1 - beta2^t)) + epsilon)
        p = p - learning_rate * u)",
     "ademamix",
     {{"alpha_steps", 8, nullptr}, {"beta3_steps", 8, nullptr}}},
    {R"(rule text_adopt
        hyper learning_rate; beta1 = 0.9; beta2 = 0.9999; epsilon = 1e-6
        state m; v unsigned
        u = clamp(g / max(sqrt(v), epsilon), -(t - 1)^0.25, (t - 1)^0.25)
        m = select(t == 1, m, beta1 * m + (1 - beta1) * u)
        v = select(t == 1, g^2, beta2 * v + (1 - beta2) * g^2)
        p = p - select(t == 1, 0, learning_rate) * m)",
     "adopt"},
    {R"(rule text_laprop
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-15
        state m; v unsigned
        v = beta2 * v + (1 - beta2) * g^2
        m = beta1 * m + (1 - beta1) * g / (sqrt(v / (1 - beta2^t)) + epsilon)
        p = p - learning_rate * m / (1 - beta1^t))",
     "laprop"},
};

/// Rules whose formulas have sums. The weight decay of those that the library has too is their own.
inline const RuleAsText kRulesOfSums[] = {
    {R"(rule text_lamb
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-6; weight_decay = 0.1
        state m, v unsigned
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * p
        p = p - learning_rate * select(norm(p) * norm(u) > 0, norm(p) / norm(u), 1) * u)",
     "lamb"},
    {R"(rule text_lars
        hyper learning_rate; momentum = 0.9; trust_coefficient = 1e-3; epsilon = 1e-8; weight_decay = 0.1
        state m
        u = g + weight_decay * p
        r = select(norm(p) * norm(u) > 0, trust_coefficient * norm(p) / (norm(u) + epsilon), 1)
        m = momentum * m + learning_rate * r * u
        p = p - m)",
     "lars"},
    {R"(rule text_model_sums
        hyper learning_rate
        p = p - learning_rate * model_sum(g) / (1 + abs(sum(g))))",
     nullptr},
};

}  // namespace gradstep::test
