// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.ArrayList;
import java.util.List;

/** Ranks that are threads of a test. */
final class Ranks {
  interface Body {
    void run(int rank, Communicator comm) throws Exception;
  }

  private Ranks() {}

  /** Runs the body on a thread for each communicator; the first failure aborts the others and comes out here. */
  static void run(List<Communicator> comms, Body body) throws Exception {
    List<Throwable> failures = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < comms.size(); i++) {
      int rank = i;
      threads.add(new Thread(() -> {
        try {
          body.run(rank, comms.get(rank));
        } catch (Throwable failure) {
          synchronized (failures) {
            failures.add(failure);
          }
          comms.forEach(Communicator::abort);
        }
      }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    if (!failures.isEmpty()) {
      throw new AssertionError("a rank failed", failures.get(0));
    }
  }

  /** Runs ranks over the engine "local". */
  static void run(Context context, int worldSize, Body body) throws Exception {
    List<Communicator> comms = Communicator.local(context, worldSize);
    try {
      run(comms, body);
    } finally {
      comms.forEach(Communicator::close);
    }
  }
}
