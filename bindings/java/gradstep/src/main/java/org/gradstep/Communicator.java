// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.ArrayList;
import java.util.List;

/** One rank's end of a group. Calls are collective; the first error breaks a communicator for good. */
public final class Communicator extends Handle {
  private Communicator(long address) {
    super("communicator", address, core::comm_destroy);
  }

  /**
   * Ranks that are threads of this process. Not collective.
   *
   * @param context whose interrupt ends a wait
   * @param options of which the timeout and the order of sums count
   * @param worldSize the number of ranks
   * @return an end for each rank, the caller's to close
   */
  public static List<Communicator> local(Context context, CommunicatorOptions options, int worldSize) {
    long[] addresses = new long[worldSize];
    context.resource.enter();
    try {
      core.create_local_communicators(context.resource.address, options, addresses);
    } finally {
      context.resource.leave();
    }
    List<Communicator> ends = new ArrayList<>(worldSize);
    for (long address : addresses) {
      ends.add(new Communicator(address));
    }
    return ends;
  }

  /**
   * Processes that meet in a shared folder.
   *
   * @param context whose interrupt ends a wait
   * @param options rank, world size, timeout
   * @param engine "self", "shm", "gloo" or "auto"
   * @param folder that all ranks share; null for "self"
   * @param networkInterface for gloo: its name or address, or null
   * @return this rank's end, the caller's to close
   */
  public static Communicator connect(
      Context context, CommunicatorOptions options, String engine, String folder, String networkInterface) {
    context.resource.enter();
    try {
      return new Communicator(core.create_communicator(
          context.resource.address, options, engine, null, folder, networkInterface));
    } finally {
      context.resource.leave();
    }
  }

  /**
   * The sum over ranks, in place.
   *
   * @param tensor of this rank
   */
  public void allReduce(Tensor tensor) {
    if (tensor.readOnly) {
      throw new IllegalArgumentException("tensor: the buffer is read-only");
    }
    resource.enter();
    try {
      core.comm_all_reduce(resource.address, tensor, core.REDUCE_SUM, 0);
    } finally {
      resource.leave();
      java.lang.ref.Reference.reachabilityFence(tensor);
    }
  }

  /** Returns when all ranks have entered. */
  public void barrier() {
    resource.enter();
    try {
      core.comm_barrier(resource.address);
    } finally {
      resource.leave();
    }
  }

  /** Ends waiting calls and breaks the communicator. Any thread, at any time. */
  public void abort() {
    resource.enter();
    try {
      core.comm_abort(resource.address);
    } finally {
      resource.leave();
    }
  }
}
