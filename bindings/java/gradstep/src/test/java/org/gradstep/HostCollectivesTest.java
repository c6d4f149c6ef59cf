// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.SocketException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class HostCollectivesTest {
  /** What the ranks of a channel share. */
  private static final class Channel {
    final byte[][] sent;
    final CyclicBarrier turn;
    volatile Channel next;

    Channel(int worldSize) {
      sent = new byte[worldSize][];
      turn = new CyclicBarrier(worldSize);
    }
  }

  /** Ranks that are threads, joined by arrays; only what is needed. */
  // docs:begin collectives
  private static class Gatherer implements HostCollectives {
    final int rank;
    final Channel channel;

    Gatherer(int rank, Channel channel) {
      this.rank = rank;
      this.channel = channel;
    }

    @Override
    public int rank() {
      return rank;
    }

    @Override
    public int worldSize() {
      return channel.sent.length;
    }

    @Override
    public void allGather(ByteBuffer send, ByteBuffer receive, Duration timeout) throws Exception {
      long deadline = System.nanoTime() + timeout.toNanos();
      byte[] own = new byte[send.remaining()];
      send.get(own);
      channel.sent[rank] = own;
      await(deadline); // all have sent
      for (byte[] bytes : channel.sent) {
        receive.put(bytes);
      }
      await(deadline); // all have received
    }

    void await(long deadline) throws Exception {
      try {
        channel.turn.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS); // a TimeoutException when it is over
      } catch (BrokenBarrierException error) {
        throw new SocketException("a peer has left");
      }
    }
  }
  // docs:end collectives

  /** As above, with sums of its own and another channel where one is asked for. */
  private static final class Complete extends Gatherer {
    static final AtomicInteger SUMS = new AtomicInteger();

    Complete(int rank, Channel channel) {
      super(rank, channel);
    }

    @Override
    public boolean anyThread() {
      return true;
    }

    @Override
    public boolean rankOrdered() {
      return true;
    }

    @Override
    public void allReduce(ByteBuffer data, DType dtype, ReduceOp op, Duration timeout) throws Exception {
      SUMS.incrementAndGet();
      ByteBuffer all = Memory.bytes(data.remaining() * worldSize());
      allGather(data.asReadOnlyBuffer(), all, timeout);
      int count = data.remaining() / 4;
      for (int i = 0; dtype == DType.F32 && op == ReduceOp.SUM && i < count; i++) {
        float sum = 0;
        for (int peer = 0; peer < worldSize(); peer++) {
          sum += all.getFloat(4 * (peer * count + i));
        }
        data.putFloat(4 * i, sum);
      }
    }

    @Override
    public HostCollectives dup(Duration timeout) throws Exception {
      if (rank == 0) {
        channel.next = new Channel(worldSize());
      }
      await(System.nanoTime() + timeout.toNanos());
      return new Complete(rank, channel.next);
    }

    @Override
    public void abort() {
      channel.turn.reset();
    }
  }

  private interface Make {
    HostCollectives of(int rank, Channel channel);
  }

  private static void run(int worldSize, Make make, Ranks.Body body) throws Exception {
    Channel channel = new Channel(worldSize);
    try (Context context = new Context(1)) {
      CommunicatorOptions options = CommunicatorOptions.builder().timeout(Duration.ofSeconds(10)).build();
      Ranks.run(context, worldSize, (rank, unused) -> {
        try (Communicator comm = Communicator.host(context, make.of(rank, channel), options)) {
          body.run(rank, comm);
        }
      });
    }
  }

  @Test
  void everythingIsBuiltFromAnAllGather() throws Exception {
    run(3, Gatherer::new, (rank, comm) -> {
      assertEquals("host", comm.engine());
      Tensor sum = Tensor.of(floats(rank, 1));
      comm.allReduce(sum);
      assertArrayEquals(new float[] {3, 3}, values(sum.floats()));
      Tensor word = Memory.longs(rank == 2 ? 7 : 0);
      comm.broadcast(word, 2);
      assertEquals(7, word.bytes().getLong(0));
      comm.barrier();
      assertThrows(UnsupportedOperationException.class, () -> comm.send(word, (rank + 1) % 3));
    });
  }

  @Test
  void whatAClassOverridesIsUsed() throws Exception {
    int before = Complete.SUMS.get();
    List<Parameter> model = List.of(Parameter.of("x", DType.F32, 2));
    run(2, Complete::new, (rank, comm) -> {
      Tensor sum = Tensor.of(floats(rank, 1));
      comm.allReduce(sum);
      assertArrayEquals(new float[] {1, 2}, values(sum.floats()));
      try (Context context = new Context(1);
          Reducer reducer = new Reducer(context, comm, model); // on a channel of its own, by dup
          TensorList grads = TensorList.of(floats(2 * rank, 4))) {
        reducer.push(0, grads.get(0)); // exchanged on a thread of gradstep's own
        reducer.await(grads);
        assertArrayEquals(new float[] {1, 4}, values(grads, 0));
      }
    });
    assertTrue(Complete.SUMS.get() >= before + 4);
  }

  @Test
  void whatACollectiveThrowsIsTheCause() throws Exception {
    IllegalArgumentException thrown = new IllegalArgumentException("no route");
    run(2, (rank, channel) -> new Gatherer(rank, channel) {
      @Override
      public void broadcast(ByteBuffer data, int root, Duration timeout) {
        throw thrown;
      }
    }, (rank, comm) -> {
      GradstepException error =
          assertThrows(GradstepException.class, () -> comm.broadcast(Tensor.of(floats(1f)), 0));
      assertEquals("GRADSTEP_ERR_CALLBACK", error.statusName());
      assertSame(thrown, error.getCause());
      assertEquals("GRADSTEP_ERR_CALLBACK", comm.error().orElseThrow().statusName());
    });
  }

  @Test
  void failuresKeepTheirKind() throws Exception {
    for (Exception failure : List.of(new TimeoutException("late"), new SocketException("gone"),
        new GradstepException(Status.PEER_LOST, "told by the transport"))) {
      run(2, (rank, channel) -> new Gatherer(rank, channel) {
        @Override
        public void barrier(Duration timeout) throws Exception {
          throw failure;
        }
      }, (rank, comm) -> {
        GradstepException error = assertThrows(GradstepException.class, comm::barrier);
        assertEquals(failure instanceof TimeoutException ? Status.TIMEOUT : Status.PEER_LOST,
            error.status());
        assertSame(failure, error.getCause());
      });
    }
  }

  @Test
  void anInterruptIsNotLost() throws Exception {
    run(2, (rank, channel) -> new Gatherer(rank, channel) {
      @Override
      public void barrier(Duration timeout) throws Exception {
        Thread.currentThread().interrupt();
        Thread.sleep(timeout.toMillis()); // which clears the flag
      }
    }, (rank, comm) -> {
      GradstepException error = assertThrows(GradstepException.class, comm::barrier);
      assertEquals(Status.ABORTED, error.status());
      assertTrue(error.getCause() instanceof InterruptedException);
      assertTrue(Thread.interrupted());
    });
  }

  @Test
  void collectivesThatCannotBeUsedAreRefused() {
    try (Context context = new Context(1)) {
      Channel channel = new Channel(2);
      assertThrows(IllegalArgumentException.class,
          () -> Communicator.host(context, new Gatherer(5, channel), null));
      IllegalStateException thrown = new IllegalStateException("not yet");
      assertSame(thrown, assertThrows(IllegalStateException.class,
          () -> Communicator.host(context, new Gatherer(0, channel) {
            @Override
            public int rank() {
              throw thrown;
            }
          }, null)));
    }
  }
}
