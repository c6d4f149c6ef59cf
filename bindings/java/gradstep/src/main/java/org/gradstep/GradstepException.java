// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * A failure that is no argument's and no state's: those are {@link IllegalArgumentException}, {@link
 * IllegalStateException} and, for what this build cannot do, {@link UnsupportedOperationException}. The text is the C
 * library's own, and the cause what a callback threw. A {@link HostCollectives} throws one to say which failure it met.
 */
public final class GradstepException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What failed. */
  private final Status status;

  /**
   * A failure of a host's callback.
   *
   * @param status what failed, such as {@link Status#PEER_LOST}
   * @param text what happened
   */
  public GradstepException(Status status, String text) {
    this(Handle.present(status, "status"), text, null);
  }

  GradstepException(Status status, String text, Throwable cause) {
    super(text, cause);
    this.status = status;
  }

  /**
   * What failed, with the name of its status.
   *
   * @return the class, the status and the text
   */
  @Override
  public String toString() {
    return getClass().getName() + ": " + statusName() + ": " + getMessage();
  }

  /**
   * What failed.
   *
   * @return never OK
   */
  public Status status() {
    return status;
  }

  /**
   * The C name of the status.
   *
   * @return "GRADSTEP_ERR_TIMEOUT", say
   */
  public String statusName() {
    return core.status_name(status.code);
  }
}
