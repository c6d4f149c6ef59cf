// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.function.BooleanSupplier;

/** The threads, the log and the interrupt that handles share. Results do not depend on the number of threads. */
public final class Context extends Handle {
  /** Takes what gradstep has to say. */
  @FunctionalInterface
  public interface Log {
    /**
     * One message.
     *
     * @param level 1 error to 4 debug
     * @param text of the message
     */
    void log(int level, String text);
  }

  /** A context of default options. */
  public Context() {
    this(0);
  }

  /**
   * A context without a log.
   *
   * @param threads 0 = min(8, cores), 1 = the caller alone
   */
  public Context(int threads) {
    this(threads, 0, null, null);
  }

  /**
   * A context. A thread that waits for other ranks stops with the status ABORTED when it is interrupted.
   *
   * @param threads 0 = min(8, cores), 1 = the caller alone
   * @param logLevel 0 off to 4 debug
   * @param log may be null
   * @param interrupt asked while a call waits: true ends the call; may be null
   */
  public Context(int threads, int logLevel, Log log, BooleanSupplier interrupt) {
    super("context", core.create_context(threads, 1, logLevel, log, interrupt, null), core::context_destroy);
  }
}
