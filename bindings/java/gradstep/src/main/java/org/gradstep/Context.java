// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;

/** The threads, memory, log and interrupt that handles share. Results do not depend on the number of threads. */
public final class Context extends Handle {
  /** Takes what gradstep has to say. What it throws goes to the thread's handler of uncaught exceptions. */
  @FunctionalInterface
  public interface Log {
    /**
     * One message.
     *
     * @param level ERROR to DEBUG
     * @param text of the message
     */
    void log(LogLevel level, String text);

    /**
     * A log that passes everything on to the platform's.
     *
     * @param logger where it goes
     * @return the log
     */
    static Log to(System.Logger logger) {
      return (level, text) -> logger.log(
          switch (level) {
            case ERROR -> System.Logger.Level.ERROR;
            case WARNING -> System.Logger.Level.WARNING;
            case INFO -> System.Logger.Level.INFO;
            default -> System.Logger.Level.DEBUG;
          },
          text);
    }
  }

  /** The host's own threads. */
  @FunctionalInterface
  public interface ParallelFor {
    /**
     * Calls body.accept(i) once for every i from 0 to below n, in any order, on any threads, and returns when all are
     * done. Where it leaves earlier, the call fails: when those that are running have ended.
     *
     * @param n how many
     * @param body of this call alone: when run has left, it is an IllegalStateException
     * @throws Exception if it cannot be done; an InterruptedException sets the thread's interrupt again
     */
    void run(long n, LongConsumer body) throws Exception;
  }

  /** The host's own memory for gradstep's buffers. What it throws goes to the handler of uncaught exceptions. */
  public interface Allocator {
    /**
     * Gives memory.
     *
     * @param bytes how much
     * @param alignment of the address, a power of two
     * @param device where
     * @return the address; 0 = there is none
     */
    long allocate(long bytes, long alignment, Device device);

    /**
     * Takes back what allocate gave.
     *
     * @param address of the memory
     * @param bytes as then
     * @param alignment as then
     * @param device as then
     */
    void deallocate(long address, long bytes, long alignment, Device device);
  }

  /** What a context is made of; all of it has a default. */
  public static final class Builder {
    private int threads;
    private int backgroundThreads = 1;
    private LogLevel logLevel = LogLevel.OFF;
    private Log log;
    private BooleanSupplier interrupt;
    private ParallelFor parallelFor;
    private Allocator allocator;
    private Path lapackLibrary;

    private Builder() {}

    /**
     * How many threads compute.
     *
     * @param threads 0, the default = min(8, cores); 1 = the caller alone
     * @return this
     */
    public Builder threads(int threads) {
      this.threads = threads;
      return this;
    }

    /**
     * How many threads work behind the caller's back, at low priority.
     *
     * @param backgroundThreads started at first use; default 1
     * @return this
     */
    public Builder backgroundThreads(int backgroundThreads) {
      this.backgroundThreads = backgroundThreads;
      return this;
    }

    /**
     * Where messages go; nowhere by default.
     *
     * @param level the most talkative that is wanted
     * @param log gets them, on threads that are inside gradstep; must not call gradstep
     * @return this
     */
    public Builder log(LogLevel level, Log log) {
      this.logLevel = present(level, "level");
      this.log = log;
      return this;
    }

    /**
     * What ends a wait, beside the interruption of the thread that waits.
     *
     * @param interrupt asked about every 100 ms while a call waits: true ends it as ABORTED
     * @return this
     */
    public Builder interrupt(BooleanSupplier interrupt) {
      this.interrupt = interrupt;
      return this;
    }

    /**
     * Threads of the host's in place of gradstep's.
     *
     * @param parallelFor runs the pieces of a call
     * @return this
     */
    public Builder parallelFor(ParallelFor parallelFor) {
      this.parallelFor = parallelFor;
      return this;
    }

    /**
     * Memory of the host's in place of the C library's.
     *
     * @param allocator used by all handles of the context, on any thread
     * @return this
     */
    public Builder allocator(Allocator allocator) {
      this.allocator = allocator;
      return this;
    }

    /**
     * A LAPACK for Shampoo's large eigenproblems in place of gradstep's own.
     *
     * @param library a shared library with dsyevd and ssyevd
     * @return this
     */
    public Builder lapackLibrary(Path library) {
      this.lapackLibrary = library;
      return this;
    }

    /**
     * The context.
     *
     * @return the caller's to close
     */
    public Context build() {
      return new Context(this);
    }
  }

  /** A context of default options. */
  public Context() {
    this(new Builder());
  }

  /**
   * A context without a log.
   *
   * @param threads 0 = min(8, cores), 1 = the caller alone
   */
  public Context(int threads) {
    this(new Builder().threads(threads));
  }

  private Context(Builder options) {
    super("context", core.create_context(options.threads, options.backgroundThreads, options.logLevel.code, options.log,
        options.interrupt, options.parallelFor, options.allocator,
        options.lapackLibrary == null ? null : options.lapackLibrary.toString()), core::context_destroy);
  }

  /**
   * A context of other options. A thread that waits for other ranks stops with the status ABORTED when it is
   * interrupted.
   *
   * @return defaults, to be changed
   */
  public static Builder builder() {
    return new Builder();
  }
}
