// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/** What tensors have of java.lang.foreign: nothing here, and segments from JDK 22 on, where src/main/java22 has its place. */
abstract class Segments {
  Segments() {}

  /** Throws if the memory of an owner that is no buffer may not be used now. */
  static void requireAccess(Object owner, String where) {}
}
