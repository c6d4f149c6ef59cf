// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** Options that a builder was given. Immutable. */
public abstract class Options {
  private final Map<String, Object> values;

  Options(Map<String, Object> values) {
    this.values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
  }

  /**
   * The options that were given; of a rule as {@link Optimizer#byName} takes them.
   *
   * @return by their names, in the order in which they were given
   */
  public Map<String, Object> options() {
    return values;
  }

  @Override
  public String toString() {
    return getClass().getSimpleName() + values;
  }
}
