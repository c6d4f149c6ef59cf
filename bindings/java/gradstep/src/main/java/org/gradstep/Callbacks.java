// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongToDoubleFunction;

/**
 * What the JNI library calls of schedules, contexts, streams and stores. Exceptions end in it. Where the library cannot
 * take one, Throwable is caught: Kotlin and Scala also throw checked ones that are not declared.
 */
final class Callbacks {
  private static final int CHUNK = 1 << 16;

  private Callbacks() {}

  static double schedule(Object function, long step) {
    return ((LongToDoubleFunction) function).applyAsDouble(step);
  }

  static void log(Object log, int level, byte[] utf8) {
    try {
      ((Context.Log) log).log(LogLevel.of(level), Text.of(utf8));
    } catch (Throwable error) { // a log cannot fail a call
      handToHandler(error);
    }
  }

  static boolean interrupted(Object interrupt) {
    try {
      return Thread.currentThread().isInterrupted()
          || interrupt != null && ((BooleanSupplier) interrupt).getAsBoolean();
    } catch (Throwable error) {
      Failures.keepInterrupt(error);
      return true;
    }
  }

  static void parallelFor(Object threads, long n, long body, long bodyUser) throws Exception {
    Body work = new Body(body, bodyUser);
    try {
      ((Context.ParallelFor) threads).run(n, work);
    } finally {
      work.end();
    }
  }

  /**
   * The pieces of one call's work, which is on the stack of the C function that waits for run(). That may leave while
   * pieces are still at work, by an exception say, so they are counted, and the last one wakes who waits for them.
   */
  private static final class Body implements LongConsumer {
    private static final int OVER = 1 << 31;

    private final long function;
    private final long user;
    private final Thread caller = Thread.currentThread();
    /** How many pieces are inside, and OVER. */
    private final AtomicInteger running = new AtomicInteger();

    Body(long function, long user) {
      this.function = function;
      this.user = user;
    }

    @Override
    public void accept(long i) {
      boolean late = running.getAndIncrement() < 0;
      try {
        if (late) {
          throw new IllegalStateException("body: parallelFor has returned");
        }
        coreJNI.run_body(function, user, i);
      } finally {
        if (running.decrementAndGet() == OVER) {
          LockSupport.unpark(caller);
        }
      }
    }

    /** Lets no thread in any more, and waits for those inside, which no interrupt can stop: it
     * is kept for later. */
    void end() {
      boolean interrupted = false;
      running.getAndAdd(OVER);
      while (running.get() != OVER) {
        LockSupport.park(this);
        interrupted |= Thread.interrupted();
      }
      if (interrupted) {
        caller.interrupt();
      }
    }
  }

  static long allocate(Object allocator, long bytes, long alignment, int deviceType, int deviceId) {
    try {
      return ((Context.Allocator) allocator).allocate(bytes, alignment, Device.of(deviceType, deviceId));
    } catch (Throwable error) { // the call fails with OUT_OF_MEMORY
      handToHandler(error);
      return 0;
    }
  }

  static void deallocate(Object allocator, long address, long bytes, long alignment, int deviceType, int deviceId) {
    try {
      ((Context.Allocator) allocator).deallocate(address, bytes, alignment, Device.of(deviceType, deviceId));
    } catch (Throwable error) {
      handToHandler(error);
    }
  }

  static void storeSet(Object store, byte[] key, byte[] value) throws Exception {
    ((Rendezvous.Store) store).set(Text.of(key), value);
  }

  static byte[] storeGet(Object store, byte[] key, long timeoutMillis) throws Exception {
    byte[] value = ((Rendezvous.Store) store).get(Text.of(key), Duration.ofMillis(timeoutMillis));
    if (value == null) {
      throw new NullPointerException("store: get returned null for " + Text.of(key));
    }
    return value;
  }

  static void write(Object stream, ByteBuffer data) throws IOException {
    if (stream instanceof ByteBuffer buffer) {
      buffer.put(data);
    } else if (stream instanceof WritableByteChannel channel) {
      while (data.hasRemaining()) {
        channel.write(data);
      }
    } else {
      byte[] chunk = new byte[Math.min(CHUNK, data.remaining())];
      while (data.hasRemaining()) {
        int size = Math.min(chunk.length, data.remaining());
        data.get(chunk, 0, size);
        ((OutputStream) stream).write(chunk, 0, size);
      }
    }
  }

  /** Fills data as far as the stream has something; 0 is its end. */
  static int read(Object stream, ByteBuffer data) throws IOException {
    if (stream instanceof ByteBuffer buffer) {
      int size = Math.min(buffer.remaining(), data.remaining());
      data.put(buffer.slice(buffer.position(), size));
      buffer.position(buffer.position() + size);
      return size;
    }
    if (stream instanceof ReadableByteChannel channel) {
      return Math.max(0, channel.read(data));
    }
    byte[] chunk = new byte[Math.min(CHUNK, data.remaining())];
    int size = Math.max(0, ((InputStream) stream).read(chunk));
    data.put(chunk, 0, size);
    return size;
  }

  static void handToHandler(Throwable error) {
    Thread thread = Thread.currentThread();
    thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
  }
}
