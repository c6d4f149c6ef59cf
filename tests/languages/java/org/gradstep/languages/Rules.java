// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.languages;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.gradstep.AdaGradOptions;
import org.gradstep.AdamOptions;
import org.gradstep.Context;
import org.gradstep.Optimizer;
import org.gradstep.Parameter;
import org.gradstep.RmsPropOptions;
import org.gradstep.SgdOptions;
import org.gradstep.ShampooOptions;

/** Optimizers by the name of their rule, for scripts and recorded vectors. */
public final class Rules {
  private Rules() {}

  /** Options by name: numbers where a value is one, else its text. */
  static Map<String, Object> options(Map<String, String> fields) {
    Map<String, Object> options = new HashMap<>();
    fields.forEach((name, value) -> {
      try {
        options.put(name, Double.valueOf(value));
      } catch (NumberFormatException word) {
        options.put(name, value);
      }
    });
    return options;
  }

  /** An optimizer of the rule, with the options' fields as in {@link Fields}. */
  public static Optimizer create(Context context, String rule, Map<String, String> fields, List<Parameter> parameters) {
    double rate = Double.parseDouble(fields.getOrDefault("learning_rate", "NaN"));
    return Optimizer.create(context, switch (rule) {
      case "sgd" -> Fields.set(SgdOptions.builder(rate), fields).build();
      case "rmsprop" -> Fields.set(RmsPropOptions.builder(rate), fields).build();
      case "adagrad" -> Fields.set(AdaGradOptions.builder(rate), fields).build();
      case "adam" -> Fields.set(AdamOptions.builder(rate), fields).build();
      case "shampoo" -> Fields.set(ShampooOptions.builder(rate), fields).build();
      default ->
        throw new IllegalArgumentException("rule '" + rule + "', expected sgd, rmsprop, adagrad, adam or shampoo");
    }, parameters);
  }
}
