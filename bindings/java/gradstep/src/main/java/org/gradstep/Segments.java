// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/** What tensors have of java.lang.foreign: nothing here. The class of src/main/java22 takes its place from JDK 22 on. */
abstract class Segments {
  Segments() {}

  /** Throws if the memory of an owner that is no buffer may not be used now. */
  static void requireAccess(Object owner, String where) {}
}
