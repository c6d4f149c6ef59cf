// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.languages;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.stream.Stream;

/** One line of a script: a call and its keys. */
record Line(int number, String call, Map<String, String> keys) {
  static Line parse(int number, String text) {
    String[] words = text.trim().split(" +");
    Map<String, String> keys = new LinkedHashMap<>();
    for (String word : Arrays.copyOfRange(words, 1, words.length)) {
      int equals = word.indexOf('=');
      if (equals < 0) {
        throw new IllegalArgumentException("'" + word + "' is no key=value");
      }
      keys.put(word.substring(0, equals), word.substring(equals + 1));
    }
    return new Line(number, words[0], keys);
  }

  boolean has(String key) {
    return keys.containsKey(key);
  }

  String text(String key) {
    String value = keys.get(key);
    if (value == null) {
      throw new NoSuchElementException("needs " + key + "=");
    }
    return value;
  }

  double number(String key, double otherwise) {
    return has(key) ? Double.parseDouble(text(key)) : otherwise;
  }

  int integer(String key, int otherwise) {
    return has(key) ? Integer.parseInt(text(key)) : otherwise;
  }

  /** A list of integers; none if it is not there. */
  long[] integers(String key) {
    return split(key).mapToLong(Long::parseLong).toArray();
  }

  double[] numbers(String key) {
    return split(key).mapToDouble(Double::parseDouble).toArray();
  }

  private Stream<String> split(String key) {
    String value = keys.getOrDefault(key, "");
    return value.isEmpty() ? Stream.empty() : Arrays.stream(value.split(","));
  }

  /** The keys that are fields of options: without those of every call, those named, and those of a schedule. */
  Map<String, String> fields(String... known) {
    Map<String, String> fields = new LinkedHashMap<>(keys);
    fields.keySet().removeAll(Arrays.asList("times", "only", "fails"));
    fields.keySet().removeAll(Arrays.asList(known));
    fields.keySet().removeIf(key -> key.contains("."));
    return fields;
  }

  /** The keys that begin with a prefix, without it, as a line of the same number. */
  Line part(String prefix) {
    Map<String, String> fields = new LinkedHashMap<>();
    keys.forEach((key, value) -> {
      if (key.startsWith(prefix)) {
        fields.put(key.substring(prefix.length()), value);
      }
    });
    return new Line(number, call, fields);
  }
}
