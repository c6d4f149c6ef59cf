// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * A host's own way to reach the other ranks, for {@link Communicator#host}. Only {@link #rank}, {@link #worldSize} and
 * {@link #allGather} are needed; of the others, those that a class overrides are used, and the rest is built from
 * these.
 *
 * <p>Buffers are direct, in the machine's byte order, read-only where they are sent, and gone when the method returns:
 * they must not be kept. A method returns, also by an exception, when its buffers are done and no thread of the host's
 * touches them any more, and keeps its timeout. What it throws is the cause of the exception of the
 * call that failed by it: a {@link java.util.concurrent.TimeoutException} makes that a TIMEOUT, a {@link
 * java.net.SocketException} a PEER_LOST, an {@link InterruptedException} an ABORTED, a {@link GradstepException} its
 * own status, and anything else a CALLBACK. One call runs at a time; only {@link #abort} may come during another.
 */
public interface HostCollectives {
  /**
   * This rank.
   *
   * @return from 0
   */
  int rank();

  /**
   * The number of ranks.
   *
   * @return 1 or more
   */
  int worldSize();

  /**
   * Gives every rank the bytes of all.
   *
   * @param send this rank's; as many on every rank
   * @param receive the ranks' one after another
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  void allGather(ByteBuffer send, ByteBuffer receive, Duration timeout) throws Exception;

  /**
   * Whether gradstep's own threads may call: waiting calls can then be interrupted and aborted, and with {@link #dup}
   * and {@link #abort} a reducer exchanges while the host computes.
   *
   * @return false
   */
  default boolean anyThread() {
    return false;
  }

  /**
   * Whether {@link #allReduce} and {@link #reduceScatter} sum in the order of ranks.
   *
   * @return false
   */
  default boolean rankOrdered() {
    return false;
  }

  /**
   * Makes data the reduction over ranks, in place.
   *
   * @param data elements
   * @param dtype F32, F64, I32 or I64
   * @param op what is made of them
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  default void allReduce(ByteBuffer data, DType dtype, ReduceOp op, Duration timeout) throws Exception {
    throw new UnsupportedOperationException("allReduce");
  }

  /**
   * Makes receive the reduction over ranks of this rank's block.
   *
   * @param send a block for each rank
   * @param receive one block
   * @param dtype F32, F64, I32 or I64
   * @param op what is made of the elements
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  default void reduceScatter(ByteBuffer send, ByteBuffer receive, DType dtype, ReduceOp op, Duration timeout)
      throws Exception {
    throw new UnsupportedOperationException("reduceScatter");
  }

  /**
   * Gives all ranks the root's bytes.
   *
   * @param data in place
   * @param root whose bytes they are
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  default void broadcast(ByteBuffer data, int root, Duration timeout) throws Exception {
    throw new UnsupportedOperationException("broadcast");
  }

  /**
   * Sends to one rank, in order per pair of ranks. Offered with {@link #recv} or not at all; either may wait for the
   * other.
   *
   * @param data what is sent
   * @param to a rank
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  default void send(ByteBuffer data, int to, Duration timeout) throws Exception {
    throw new UnsupportedOperationException("send");
  }

  /**
   * Receives from one rank.
   *
   * @param data filled
   * @param from a rank
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  default void recv(ByteBuffer data, int from, Duration timeout) throws Exception {
    throw new UnsupportedOperationException("recv");
  }

  /**
   * Both at once, without waiting for each other.
   *
   * @param send what is sent
   * @param to a rank
   * @param receive filled
   * @param from a rank
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  default void sendRecv(ByteBuffer send, int to, ByteBuffer receive, int from, Duration timeout) throws Exception {
    throw new UnsupportedOperationException("sendRecv");
  }

  /**
   * Sends to and receives from every other rank, all at once.
   *
   * @param send a buffer for each rank; null where nothing goes
   * @param receive a buffer for each rank; null where nothing comes
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  default void exchange(ByteBuffer[] send, ByteBuffer[] receive, Duration timeout) throws Exception {
    throw new UnsupportedOperationException("exchange");
  }

  /**
   * Returns when all ranks have entered.
   *
   * @param timeout to keep
   * @throws Exception if it cannot be done
   */
  default void barrier(Duration timeout) throws Exception {
    throw new UnsupportedOperationException("barrier");
  }

  /**
   * Another channel between the same ranks, which does not get in the way of this one. All ranks call it.
   *
   * @param timeout to keep
   * @return the channel
   * @throws Exception if it cannot be made
   */
  default HostCollectives dup(Duration timeout) throws Exception {
    throw new UnsupportedOperationException("dup");
  }

  /** Makes calls in progress return, and tells the peers if it can. Any thread; only with {@link #anyThread}. */
  default void abort() {
    throw new UnsupportedOperationException("abort");
  }

  /**
   * Throws if the channel is of no more use, and never waits. Asked before each call that talks to other ranks.
   *
   * @throws Exception why
   */
  default void poll() throws Exception {
    throw new UnsupportedOperationException("poll");
  }
}
