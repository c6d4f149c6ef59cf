// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongToDoubleFunction;

/** What the JNI library calls of schedules, contexts, streams and stores. Exceptions end in it. */
final class Callbacks {
  private static final int CHUNK = 1 << 16;

  private Callbacks() {}

  static double schedule(Object function, long step) {
    return ((LongToDoubleFunction) function).applyAsDouble(step);
  }

  static void log(Object log, int level, byte[] utf8) {
    try {
      ((Context.Log) log).log(level, Text.of(utf8));
    } catch (RuntimeException | Error error) { // a log cannot fail a call
      handToHandler(error);
    }
  }

  static boolean interrupted(Object interrupt) {
    try {
      return Thread.currentThread().isInterrupted()
          || interrupt != null && ((BooleanSupplier) interrupt).getAsBoolean();
    } catch (RuntimeException | Error error) {
      Failures.keepInterrupt(error);
      return true;
    }
  }

  static void parallelFor(Object threads, long n, long body, long bodyUser) throws Exception {
    Body work = new Body(body, bodyUser);
    try {
      ((Context.ParallelFor) threads).run(n, work);
    } finally {
      work.over = true;
    }
  }

  /** The pieces of one call's work. */
  private static final class Body implements LongConsumer {
    private final long function;
    private final long user;
    private volatile boolean over;

    Body(long function, long user) {
      this.function = function;
      this.user = user;
    }

    @Override
    public void accept(long i) {
      if (over) {
        throw new IllegalStateException("body: parallelFor has returned");
      }
      coreJNI.run_body(function, user, i);
    }
  }

  static long allocate(Object allocator, long bytes, long alignment, int deviceType, int deviceId) {
    try {
      return ((Context.Allocator) allocator).allocate(bytes, alignment, new Device(deviceType, deviceId));
    } catch (RuntimeException | Error error) { // the call fails with OUT_OF_MEMORY
      handToHandler(error);
      return 0;
    }
  }

  static void deallocate(Object allocator, long address, long bytes, long alignment, int deviceType, int deviceId) {
    try {
      ((Context.Allocator) allocator).deallocate(address, bytes, alignment, new Device(deviceType, deviceId));
    } catch (RuntimeException | Error error) {
      handToHandler(error);
    }
  }

  static void storeSet(Object store, byte[] key, byte[] value) throws Exception {
    ((Rendezvous.Store) store).set(Text.of(key), value);
  }

  static byte[] storeGet(Object store, byte[] key, long timeoutMillis) throws Exception {
    byte[] value = ((Rendezvous.Store) store).get(Text.of(key), timeoutMillis);
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
