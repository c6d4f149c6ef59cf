// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * The enumerators of the C headers, without their prefix: {@code Constants.REDUCER_POWERSGD}, say, for the mode of
 * {@link ReducerOptions}.
 */
public final class Constants implements coreConstants {
  private Constants() {}
}
