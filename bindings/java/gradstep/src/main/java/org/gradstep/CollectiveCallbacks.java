// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** What the JNI library calls of a host's collectives. Exceptions end in it. */
final class CollectiveCallbacks {
  /** In the order of the bits that describe() gives. */
  private static final List<String> OPTIONAL = List.of("allReduce", "reduceScatter", "broadcast", "send", "recv",
      "sendRecv", "exchange", "barrier", "dup", "abort", "poll");

  private CollectiveCallbacks() {}

  /** Rank, world size, any thread, rank ordered, and which of the optional methods the class overrides. */
  static int[] describe(Object object) {
    HostCollectives collectives = (HostCollectives) object;
    int offered = 0;
    for (Method method : HostCollectives.class.getMethods()) {
      int index = OPTIONAL.indexOf(method.getName());
      if (index >= 0 && isOverridden(collectives, method)) {
        offered |= 1 << index;
      }
    }
    return new int[] {collectives.rank(), collectives.worldSize(), collectives.anyThread() ? 1 : 0,
      collectives.rankOrdered() ? 1 : 0, offered};
  }

  private static boolean isOverridden(HostCollectives collectives, Method method) {
    try {
      return collectives.getClass().getMethod(method.getName(), method.getParameterTypes()).getDeclaringClass()
          != HostCollectives.class;
    } catch (NoSuchMethodException error) {
      throw new AssertionError(error); // the interface has it
    }
  }

  private static ByteBuffer sent(ByteBuffer buffer) {
    return buffer == null ? null : buffer.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
  }

  private static ByteBuffer filled(ByteBuffer buffer) {
    return buffer == null ? null : buffer.order(ByteOrder.nativeOrder());
  }

  static void allGather(Object host, ByteBuffer send, ByteBuffer receive, long timeout) throws Exception {
    ((HostCollectives) host).allGather(sent(send), filled(receive), Duration.ofMillis(timeout));
  }

  static void allReduce(Object host, ByteBuffer data, int code, int bits, int op, long timeout) throws Exception {
    ((HostCollectives) host).allReduce(filled(data), DType.of(code, bits), ReduceOp.of(op), Duration.ofMillis(timeout));
  }

  static void reduceScatter(Object host, ByteBuffer send, ByteBuffer receive, int code, int bits, int op, long timeout)
      throws Exception {
    ((HostCollectives) host)
        .reduceScatter(sent(send), filled(receive), DType.of(code, bits), ReduceOp.of(op), Duration.ofMillis(timeout));
  }

  static void broadcast(Object host, ByteBuffer data, int root, long timeout) throws Exception {
    ((HostCollectives) host).broadcast(filled(data), root, Duration.ofMillis(timeout));
  }

  static void send(Object host, ByteBuffer data, int to, long timeout) throws Exception {
    ((HostCollectives) host).send(sent(data), to, Duration.ofMillis(timeout));
  }

  static void recv(Object host, ByteBuffer data, int from, long timeout) throws Exception {
    ((HostCollectives) host).recv(filled(data), from, Duration.ofMillis(timeout));
  }

  static void sendRecv(Object host, ByteBuffer send, int to, ByteBuffer receive, int from, long timeout)
      throws Exception {
    ((HostCollectives) host).sendRecv(sent(send), to, filled(receive), from, Duration.ofMillis(timeout));
  }

  static void exchange(Object host, ByteBuffer[] send, ByteBuffer[] receive, long timeout) throws Exception {
    ByteBuffer[] outgoing = Arrays.stream(send).map(CollectiveCallbacks::sent).toArray(ByteBuffer[]::new);
    for (ByteBuffer buffer : receive) {
      filled(buffer);
    }
    ((HostCollectives) host).exchange(outgoing, receive, Duration.ofMillis(timeout));
  }

  static void barrier(Object host, long timeout) throws Exception {
    ((HostCollectives) host).barrier(Duration.ofMillis(timeout));
  }

  static Object dup(Object host, long timeout) throws Exception {
    HostCollectives copy = ((HostCollectives) host).dup(Duration.ofMillis(timeout));
    if (copy == null) {
      throw new NullPointerException("dup: returned null");
    }
    return copy;
  }

  static void abort(Object host) {
    try {
      ((HostCollectives) host).abort();
    } catch (Throwable error) { // no caller waits for an answer
      Callbacks.handToHandler(error);
    }
  }

  static void poll(Object host) throws Exception {
    ((HostCollectives) host).poll();
  }
}
