// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.function.Supplier;

/**
 * Options that are a struct of C.
 *
 * @param <S> the struct
 */
abstract class StructOptions<S> extends Options {
  private final Settings<S> settings;
  private final Supplier<S> defaults;

  StructOptions(Settings<S> given, Supplier<S> defaults) {
    super(given.values());
    settings = given.copy();
    this.defaults = defaults;
  }

  /** What a call reads; null stands for the defaults. */
  static <S> S struct(StructOptions<S> options) {
    return options == null ? null : options.settings.write(options.defaults.get());
  }
}
