// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.languages;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import org.gradstep.Constants;

/** Options by the names of their fields in C. */
public final class Fields {
  /** What the enumerators of a field begin with. */
  private static final Map<String, String> PREFIXES = Map.ofEntries(
      Map.entry("state_dtype", "STATE_DTYPE_"),
      Map.entry("epsilon_placement", "EPSILON_PLACEMENT_"),
      Map.entry("first_step", "SGD_FIRST_STEP_"),
      Map.entry("bias_correction", "BIAS_CORRECTION_"),
      Map.entry("graft_type", "GRAFT_TYPE_"),
      Map.entry("root_method", "ROOT_METHOD_"),
      Map.entry("root_padding", "ROOT_PADDING_"),
      Map.entry("refresh", "REFRESH_"),
      Map.entry("statistics", "SHAMPOO_STATISTICS_"),
      Map.entry("ridge", "RIDGE_"),
      Map.entry("AccumulatorOptions.mode", "ACCUMULATE_"),
      Map.entry("trigger", "TRIGGER_"),
      Map.entry("nonfinite", "NONFINITE_"),
      Map.entry("ReducerOptions.mode", "REDUCER_"),
      Map.entry("average", "AVERAGE_"),
      Map.entry("half_sum", "HALF_SUM_"),
      Map.entry("selection", "SELECTION_"),
      Map.entry("sync", "SYNC_"));

  private Fields() {}

  /** Sets every field: numbers, 0 or 1 for bools, and the ends of enumerators' names. */
  public static <O> O set(O options, Map<String, String> fields) {
    fields.forEach((name, value) -> set(options, name, value));
    return options;
  }

  /** Sets one field. */
  public static void set(Object options, String name, String value) {
    Method setter = Arrays.stream(options.getClass().getMethods())
        .filter(method -> method.getName().equals("set" + camelCase(name)))
        .findFirst()
        .orElseThrow(() -> new NoSuchElementException("there is no key '" + name + "'"));
    Class<?> type = setter.getParameterTypes()[0];
    try {
      if (type == double.class) {
        setter.invoke(options, Double.parseDouble(value));
      } else if (type == long.class) {
        setter.invoke(options, Long.parseLong(value));
      } else {
        setter.invoke(options, isWord(value) ? enumerator(options, name, value) : Integer.parseInt(value));
      }
    } catch (IllegalAccessException | InvocationTargetException error) {
      throw new IllegalStateException(error);
    }
  }

  private static boolean isWord(String value) {
    return !value.matches("-?[0-9]+");
  }

  private static int enumerator(Object options, String name, String word) throws IllegalAccessException {
    String own = PREFIXES.get(options.getClass().getSimpleName() + "." + name);
    String prefix = own != null ? own : PREFIXES.get(name);
    try {
      return Constants.class.getField(prefix + word.toUpperCase(Locale.ROOT)).getInt(null);
    } catch (NoSuchFieldException error) {
      throw new NoSuchElementException(name + ": '" + word + "' is unknown", error);
    }
  }

  private static String camelCase(String name) {
    StringBuilder camel = new StringBuilder();
    for (String part : name.split("_")) {
      camel.append(Character.toUpperCase(part.charAt(0))).append(part.substring(1));
    }
    return camel.toString();
  }
}
