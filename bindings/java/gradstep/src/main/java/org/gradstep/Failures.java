// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Iterator;

/**
 * Exceptions for statuses, and those that callbacks threw until the call that failed by them asks. The text of a callback's
 * exception travels with its status, and by that it is found again, also on another thread.
 */
final class Failures {
  private static final int MOST_KEPT = 64;

  private record Kept(Thread thread, String text, Throwable exception) {}

  private static final ArrayDeque<Kept> KEPT = new ArrayDeque<>();

  private Failures() {}

  /** Called by the JNI library. */
  static RuntimeException of(int status, byte[] utf8) {
    String text = new String(utf8, StandardCharsets.UTF_8);
    Throwable cause = status == core.ERR_CALLBACK || status == core.ERR_ABORTED ? take(text) : null;
    if (status == core.ERR_INVALID_ARGUMENT) {
      return new IllegalArgumentException(text);
    }
    if (status == core.ERR_INVALID_STATE) {
      return new IllegalStateException(text);
    }
    if (status == core.ERR_UNSUPPORTED) {
      return new UnsupportedOperationException(text);
    }
    return new GradstepException(status, text, cause);
  }

  /** Called by the JNI library: keeps what a callback threw, and gives the text for it. */
  static byte[] keep(Throwable exception) {
    String text = exception.toString().replace('\0', ' ');
    synchronized (KEPT) {
      if (KEPT.size() == MOST_KEPT) {
        KEPT.removeFirst(); // of calls that did not fail after all
      }
      KEPT.addLast(new Kept(Thread.currentThread(), text, exception));
    }
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Throwable take(String text) {
    synchronized (KEPT) {
      Kept found = null;
      for (Iterator<Kept> each = KEPT.descendingIterator(); each.hasNext(); ) {
        Kept kept = each.next();
        boolean own = kept.thread() == Thread.currentThread();
        if (text.endsWith(kept.text()) && (found == null || own)) {
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
      return found.exception();
    }
  }
}
