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
    switch (rule) {
      case "sgd":
        try (SgdOptions options = Fields.set(new SgdOptions(), fields)) {
          return Optimizer.sgd(context, options, parameters);
        }
      case "rmsprop":
        try (RmsPropOptions options = Fields.set(new RmsPropOptions(), fields)) {
          return Optimizer.rmsProp(context, options, parameters);
        }
      case "adagrad":
        try (AdaGradOptions options = Fields.set(new AdaGradOptions(), fields)) {
          return Optimizer.adaGrad(context, options, parameters);
        }
      case "adam":
        try (AdamOptions options = Fields.set(new AdamOptions(), fields)) {
          return Optimizer.adam(context, options, parameters);
        }
      case "shampoo":
        try (ShampooOptions options = Fields.set(new ShampooOptions(), fields)) {
          return Optimizer.shampoo(context, options, parameters);
        }
      default:
        throw new IllegalArgumentException("rule '" + rule + "', expected sgd, rmsprop, adagrad, adam or shampoo");
    }
  }
}
