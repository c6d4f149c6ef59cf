// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.function.BooleanSupplier;
import java.util.function.LongToDoubleFunction;

/** What the JNI library calls. Exceptions end in it. */
final class Callbacks {
  private static final int CHUNK = 1 << 16;

  private Callbacks() {}

  static double schedule(Object function, long step) {
    return ((LongToDoubleFunction) function).applyAsDouble(step);
  }

  static void log(Object log, int level, byte[] utf8) {
    try {
      ((Context.Log) log).log(level, Text.of(utf8));
    } catch (RuntimeException error) { // a log cannot fail a call
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
    }
  }

  static boolean interrupted(Object interrupt) {
    return Thread.currentThread().isInterrupted()
        || interrupt != null && ((BooleanSupplier) interrupt).getAsBoolean();
  }

  static void write(Object stream, ByteBuffer data) throws IOException {
    byte[] chunk = new byte[Math.min(CHUNK, data.remaining())];
    while (data.hasRemaining()) {
      int size = Math.min(chunk.length, data.remaining());
      data.get(chunk, 0, size);
      ((OutputStream) stream).write(chunk, 0, size);
    }
  }

  static int read(Object stream, ByteBuffer data) throws IOException {
    byte[] chunk = new byte[Math.min(CHUNK, data.remaining())];
    int size = Math.max(0, ((InputStream) stream).read(chunk));
    data.put(chunk, 0, size);
    return size;
  }
}
