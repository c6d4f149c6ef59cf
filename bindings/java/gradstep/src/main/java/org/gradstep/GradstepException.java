// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * A failure that is no argument's and no state's: those are {@link IllegalArgumentException}, {@link IllegalStateException}
 * and, for what this build cannot do, {@link UnsupportedOperationException}. The text is the C library's own.
 */
public final class GradstepException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;

  GradstepException(int status, String text, Throwable cause) {
    super(text, cause);
    this.status = status;
  }

  /**
   * What failed.
   *
   * @return a constant of {@link coreConstants} whose name begins with ERR_
   */
  public int status() {
    return status;
  }

  /**
   * The C name of the status.
   *
   * @return "GRADSTEP_ERR_TIMEOUT", say
   */
  public String statusName() {
    return core.status_name(status);
  }
}
