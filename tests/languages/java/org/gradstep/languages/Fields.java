// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.languages;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;

/** Options by the names of their fields in C. */
public final class Fields {
  private Fields() {}

  /** Sets every field of a builder: numbers, 0 or 1 for booleans, and the names of enums' values in lower case. */
  public static <B> B set(B builder, Map<String, String> fields) {
    fields.forEach((name, value) -> set(builder, name, value));
    return builder;
  }

  /** Sets one field. */
  public static void set(Object builder, String name, String value) {
    Method setter = Arrays.stream(builder.getClass().getMethods())
        .filter(method -> method.getName().equals(camelCase(name)) && method.getParameterCount() == 1)
        .findFirst()
        .orElseThrow(() -> new NoSuchElementException("there is no key '" + name + "'"));
    try {
      setter.invoke(builder, parsed(setter.getParameterTypes()[0], name, value));
    } catch (IllegalAccessException | InvocationTargetException error) {
      throw new IllegalStateException(error);
    }
  }

  private static Object parsed(Class<?> type, String name, String value) {
    if (type == boolean.class) {
      return !value.equals("0");
    }
    if (type == double.class) {
      return Double.parseDouble(value);
    }
    if (type == long.class) {
      return Long.parseLong(value);
    }
    if (type == int.class) {
      return Integer.parseInt(value);
    }
    return Arrays.stream(type.getEnumConstants())
        .filter(word -> ((Enum<?>) word).name().equals(value.toUpperCase(Locale.ROOT)))
        .findFirst()
        .orElseThrow(() -> new NoSuchElementException(name + ": '" + value + "' is unknown"));
  }

  private static String camelCase(String name) {
    StringBuilder camel = new StringBuilder();
    for (String part : name.split("_")) {
      camel.append(camel.isEmpty() ? part : Character.toUpperCase(part.charAt(0)) + part.substring(1));
    }
    return camel.toString();
  }
}
