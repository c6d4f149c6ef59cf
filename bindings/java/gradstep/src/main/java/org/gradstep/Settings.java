// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Values of options by their names, and how each is written into the struct of C.
 *
 * @param <S> the struct
 */
final class Settings<S> {
  private final Map<String, Object> values = new LinkedHashMap<>();
  private final Map<String, Consumer<S>> writers = new LinkedHashMap<>();

  void put(String name, Object value, Consumer<S> writer) {
    values.put(name, Handle.present(value, name));
    writers.put(name, writer);
  }

  Settings<S> copy() {
    Settings<S> copy = new Settings<>();
    copy.values.putAll(values);
    copy.writers.putAll(writers);
    return copy;
  }

  Map<String, Object> values() {
    return Collections.unmodifiableMap(values);
  }

  S write(S struct) {
    writers.values().forEach(writer -> writer.accept(struct));
    return struct;
  }
}
