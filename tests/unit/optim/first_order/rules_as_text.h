// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Texts of the library's rules: those of src/rules, and some for other choices than the default ones. Hyper-parameters
// have the names of the compiled rules', so that both take the same options.
#pragma once

#include <vector>

#include "gradstep/rule.h"
#include "optim/first_order/named_options.h"

namespace gradstep::test {

struct RuleAsText {
  const char* text;
  const char* compiled;                       ///< the name of the compiled rule; NULL = there is none
  std::vector<gradstep_option> choices = {};  ///< of the compiled rule
};

inline RuleAsText text_of(const char* rule) { return {find_rule(rule).about.text, rule}; }

inline const RuleAsText kNesterov = {R"(rule text_nesterov
    hyper learning_rate; momentum = 0.9
    state b
    b = momentum * b + g
    p = p - learning_rate * (g + momentum * b))",
                                     "sgd",
                                     {{"momentum", 0.9, nullptr}, {"nesterov", 1, nullptr}}};

inline const RuleAsText kTextsOfChoices[] = {
    kNesterov,
    {R"(rule text_centered_rmsprop
        hyper learning_rate; rho = 0.9; epsilon = 1e-8; momentum = 0.5
        state a unsigned; c; b
        a = rho * a + (1 - rho) * g^2
        c = rho * c + (1 - rho) * g
        b = momentum * b + g / (sqrt(max(a - c * c, 0)) + epsilon)
        p = p - learning_rate * b)",
     "rmsprop",
     {{"centered", 1, nullptr}, {"epsilon_placement", 0, "outside"}, {"momentum", 0.5, nullptr}}},
    {R"(rule text_amsgrad
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-8
        state m; v unsigned; largest unsigned
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        largest = max(largest, v)
        p = p - learning_rate / (1 - beta1^t) * m / (sqrt(largest / (1 - beta2^t)) + epsilon))",
     "adam",
     {{"amsgrad", 1, nullptr}}},
    {R"(rule text_nadam_of_optax
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-8
        state m; v unsigned
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        ahead = (1 - beta1) / (1 - beta1^t) * g + beta1 / (1 - beta1^(t + 1)) * m
        p = p - learning_rate * ahead / (sqrt(v / (1 - beta2^t)) + epsilon))",
     "nadam",
     {{"form", 0, "optax"}}},
};

/// Sums of a tensor and of the model in one rule.
inline const RuleAsText kModelSums = {R"(rule text_model_sums
    hyper learning_rate
    p = p - learning_rate * model_sum(g) / (1 + abs(sum(g))))",
                                      nullptr};

/// All of these, and all of src/rules.
inline std::vector<RuleAsText> all_texts() {
  std::vector<RuleAsText> texts(std::begin(kTextsOfChoices), std::end(kTextsOfChoices));
  texts.push_back(kModelSums);
  for (const RuleType& type : rule_types()) {
    if (type.about.text != nullptr) texts.push_back(text_of(type.about.name));
  }
  return texts;
}

}  // namespace gradstep::test
