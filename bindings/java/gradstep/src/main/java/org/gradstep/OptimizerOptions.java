// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.Map;

/** What {@link Optimizer#create} makes an optimizer of: the options of a rule or of Shampoo. Immutable. */
public abstract class OptimizerOptions extends Options {
  OptimizerOptions(Map<String, Object> values) {
    super(values);
  }

  /** The handle of C. */
  abstract long create(long context, long parameters, long n);

  abstract long stateBytes(long parameters, long n);
}
