// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.TimeoutException;

/**
 * Exceptions for statuses, and those that callbacks threw until the call that failed by them asks. The text of a
 * callback's exception travels with its status, and by that it is found again, also on another thread. An interrupt's
 * does not travel: it is found by its thread.
 */
final class Failures {
  private static final int MOST_KEPT = 64;

  private record Kept(Thread thread, String text, boolean interrupt, Throwable exception) {
    boolean explains(int status, String reported) {
      return interrupt
          ? status == core.ERR_ABORTED && thread == Thread.currentThread()
          : reported.endsWith(text);
    }
  }

  private static final ArrayDeque<Kept> KEPT = new ArrayDeque<>();

  private Failures() {}

  /** Called by the JNI library. */
  static RuntimeException of(int status, byte[] utf8) {
    String text = new String(utf8, StandardCharsets.UTF_8);
    Throwable cause = take(status, text);
    return switch (status) {
      case core.ERR_INVALID_ARGUMENT -> new IllegalArgumentException(text, cause);
      case core.ERR_INVALID_STATE -> new IllegalStateException(text, cause);
      case core.ERR_UNSUPPORTED -> new UnsupportedOperationException(text, cause);
      default -> new GradstepException(Status.of(status), text, cause);
    };
  }

  /** Called by the JNI library: keeps what a callback threw, and gives the text for it. */
  static byte[] keep(Throwable exception) {
    return keep(exception, false).getBytes(StandardCharsets.UTF_8);
  }

  /** Keeps what an interrupt threw. */
  static void keepInterrupt(Throwable exception) {
    keep(exception, true);
  }

  /** Called by the JNI library: the status that an exception of a callback stands for. */
  static int status(Throwable exception) {
    if (exception instanceof GradstepException failure) {
      return failure.status().code;
    }
    if (exception instanceof TimeoutException) {
      return core.ERR_TIMEOUT;
    }
    if (exception instanceof InterruptedException) {
      return core.ERR_ABORTED;
    }
    return exception instanceof SocketException ? core.ERR_PEER_LOST : core.ERR_CALLBACK;
  }

  private static String keep(Throwable exception, boolean interrupt) {
    String text = exception.toString().replace('\0', ' ');
    synchronized (KEPT) {
      if (KEPT.size() == MOST_KEPT) {
        KEPT.removeFirst(); // of calls that did not fail after all
      }
      KEPT.addLast(new Kept(Thread.currentThread(), text, interrupt, exception));
    }
    return text;
  }

  private static Throwable take(int status, String text) {
    synchronized (KEPT) {
      Kept found = null;
      for (Iterator<Kept> each = KEPT.descendingIterator(); each.hasNext(); ) {
        Kept kept = each.next();
        boolean own = kept.thread() == Thread.currentThread();
        if (kept.explains(status, text) && (found == null || own)) {
          found = kept;
          if (own) {
            break;
          }
        }
      }
      if (found == null) {
        return null;
      }
      KEPT.remove(found);
      if (found.exception() instanceof InterruptedException && found.thread() == Thread.currentThread()) {
        found.thread().interrupt(); // its thrower has cleared the flag
      }
      return found.exception();
    }
  }
}
