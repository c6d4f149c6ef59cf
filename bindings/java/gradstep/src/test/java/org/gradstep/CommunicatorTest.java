// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CommunicatorTest {
  private static CommunicatorOptions options(int rank, int worldSize) {
    return CommunicatorOptions.builder().rank(rank).worldSize(worldSize).timeout(Duration.ofSeconds(20)).build();
  }

  @Test
  void collectivesDoWhatTheySay() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 3, (rank, comm) -> {
        assertEquals(rank, comm.rank());
        assertEquals(3, comm.worldSize());
        assertEquals(rank, comm.localRank());
        assertEquals("local", comm.engine());
        Tensor own = Tensor.of(floats(rank, 1));
        comm.allReduce(own, ReduceOp.MAX);
        assertArrayEquals(new float[] {2, 1}, values(own.floats()));
        Tensor all = Tensor.of(floats(3));
        comm.allGather(Tensor.of(floats((float) rank)), all);
        assertArrayEquals(new float[] {0, 1, 2}, values(all.floats()));
        Tensor ragged = Tensor.of(floats(3));
        comm.allGather(Tensor.of(rank == 2 ? floats(7, 8) : rank == 1 ? floats(6f) : floats(0)), ragged,
            new long[] {0, 1, 2}, 0);
        assertArrayEquals(new float[] {6, 7, 8}, values(ragged.floats()));
        Tensor share = Tensor.of(floats(1));
        comm.reduceScatter(Tensor.of(floats(1, 2, 3)), share, ReduceOp.SUM);
        assertEquals(3f * (rank + 1), share.floats().get(0));
        Tensor word = Memory.longs(rank == 1 ? 42 : 0);
        comm.broadcast(word, 1);
        assertEquals(42, word.bytes().getLong(0));
        Tensor bytes = Tensor.of(Memory.bytes(3).put(0, (byte) (10 + rank)), DType.U8);
        Tensor everyones = Tensor.of(Memory.bytes(9), DType.U8);
        comm.allGather(bytes, everyones);
        assertEquals(12, everyones.bytes().get(6));
        Tensor codes = Tensor.of(Memory.bytes(1).put(0, (byte) -rank), DType.I8);
        comm.broadcast(codes, 2);
        assertEquals(-2, codes.bytes().get(0));
        if (rank == 0) {
          comm.send(Tensor.of(floats(5f)), 2);
        } else if (rank == 2) {
          comm.recv(share, 0);
          assertEquals(5f, share.floats().get(0));
        }
        comm.barrier();
        assertTrue(comm.vote(true));
        assertFalse(comm.vote(rank != 1));
        try (Communicator part = comm.split(rank == 0 ? -1 : 0, -rank).orElse(null); Communicator dup = comm.dup()) {
          assertEquals(rank == 0, part == null);
          assertEquals(rank == 0 ? 0 : 2 - rank, part == null ? 0 : part.rank());
          dup.barrier();
        }
        assertEquals(2, comm.statistics().broadcasts());
        assertTrue(comm.error().isEmpty());
        assertEquals("counts: has 1 numbers, expected 3", assertThrows(IllegalArgumentException.class,
            () -> comm.allGather(own, all, new long[] {1})).getMessage());
        assertThrows(IllegalArgumentException.class,
            () -> comm.allReduce(Tensor.of(floats(1f).asReadOnlyBuffer())));
      });
    }
  }

  @Test
  void anAbortTellsAllRanks() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        if (rank == 0) {
          comm.abort();
        }
        GradstepException error = assertThrows(GradstepException.class, comm::barrier);
        assertEquals(error.status(), comm.error().orElseThrow().status());
      });
    }
    assertEquals("worldSize: is 0, expected 1 or more", assertThrows(IllegalArgumentException.class,
        () -> Communicator.local(new Context(1), 0)).getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "gloo", "auto"})
  void threadsMeetInAFolder(String engine, @TempDir Path folder) throws Exception {
    meet(engine, rank -> Rendezvous.folder(folder));
  }

  @Test
  void threadsMeetByAnId() throws Exception {
    byte[] id = Communicator.uniqueId("gloo", "127.0.0.1");
    meet("gloo", rank -> Rendezvous.id(id));
  }

  @Test
  void threadsMeetInAStoreOfTheHost() throws Exception {
    Map<String, byte[]> values = new ConcurrentHashMap<>();
    Rendezvous.Store store = new Rendezvous.Store() {
      @Override
      public void set(String key, byte[] value) {
        values.put(key, value);
      }

      @Override
      public byte[] get(String key, Duration timeout) throws Exception {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (!values.containsKey(key)) {
          if (System.nanoTime() > deadline) {
            throw new TimeoutException(key);
          }
          Thread.sleep(1);
        }
        return values.get(key);
      }
    };
    meet("shm", rank -> Rendezvous.store(store));
    IllegalStateException broken = new IllegalStateException("the store is gone");
    Rendezvous.Store failing = new Rendezvous.Store() {
      @Override
      public void set(String key, byte[] value) {
        throw broken;
      }

      @Override
      public byte[] get(String key, Duration timeout) {
        throw broken;
      }
    };
    CommunicatorOptions options = options(0, 2);
    try (Context context = new Context(1)) {
      GradstepException error = assertThrows(GradstepException.class,
          () -> Communicator.connect(context, options, "shm", Rendezvous.store(failing)));
      assertEquals(broken, error.getCause());
    }
  }

  private interface Place {
    Rendezvous of(int rank);
  }

  private static void meet(String engine, Place place) throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, unused) -> {
        try (Communicator comm = Communicator.connect(context, options(rank, 2), engine, place.of(rank),
            engine.equals("gloo") ? "127.0.0.1" : null)) {
          assertEquals(engine.equals("auto") ? "shm" : engine, comm.engine());
          Tensor sum = Tensor.of(floats(rank + 1f));
          comm.allReduce(sum);
          assertEquals(3f, sum.floats().get(0));
        }
      });
    }
  }

  @Test
  void aPlaceThatDoesNotFitIsNamed() {
    CommunicatorOptions options = options(0, 1);
    try (Context context = new Context(1)) {
      assertThrows(IllegalArgumentException.class,
          () -> Communicator.connect(context, options, "pigeon", Rendezvous.none()));
      assertThrows(IllegalArgumentException.class,
          () -> Communicator.connect(context, options, "shm", Rendezvous.none()));
      try (Communicator self = Communicator.connect(context, options, "self", Rendezvous.none())) {
        assertEquals(1, self.worldSize());
        assertTrue(List.of("self").contains(self.engine()));
      }
    }
  }

  @Test
  void callsAreTracedAndCounted(@TempDir Path folder) throws Exception {
    Path path = folder.resolve("trace.json");
    try (Context context = new Context(1); Communicator comm = Communicator.local(context, 1).get(0)) {
      Gradstep.traceStart(path);
      comm.barrier();
      Gradstep.traceStop();
      assertTrue(Files.readString(path).contains("\"name\":\"barrier\""));
      assertTrue(comm.counters("job=\"7\"").contains("gradstep_comm_calls_total{call=\"barrier\",job=\"7\"} 1\n"));
      assertTrue(comm.counters(null).contains("gradstep_comm_calls_total{call=\"barrier\"} 1\n"));
      assertThrows(IllegalArgumentException.class, () -> comm.counters("{"));
    }
  }
}
