// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.ResourceBundle;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ContextTest {
  private static final int LARGE = 1 << 20;

  private static Optimizer sgd(Context context, int elements) {
    SgdOptions options = SgdOptions.builder(1).momentum(0.5).build();
    return Optimizer.create(context, options, List.of(Parameter.of("x", DType.F32, elements)));
  }

  /** A logger that keeps what it gets. */
  private static final class Kept implements System.Logger {
    final ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();

    @Override
    public String getName() {
      return "kept";
    }

    @Override
    public boolean isLoggable(Level level) {
      return true;
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String text, Throwable thrown) {
      lines.add(level + " " + text);
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
      lines.add(level + " " + format);
    }
  }

  @Test
  void messagesGoToThePlatformsLog() throws Exception {
    Kept kept = new Kept();
    // docs:begin log
    try (Context context = Context.builder()
        .threads(1)
        .log(LogLevel.DEBUG, Context.Log.to(kept)) // System.getLogger("gradstep"), say
        .build()) {
      // docs:end log
      Ranks.run(context, 2, (rank, comm) -> {
        if (rank == 0) {
          comm.abort();
        }
        assertThrows(GradstepException.class, comm::barrier);
      });
    }
    assertFalse(kept.lines.isEmpty());
    assertTrue(kept.lines.stream().anyMatch(line -> line.startsWith("ERROR") || line.startsWith("WARNING")),
        kept.lines.toString());
  }

  @Test
  void aLogThatThrowsFailsNoCall() throws Exception {
    AtomicLong handed = new AtomicLong();
    Thread thread = Thread.currentThread();
    thread.setUncaughtExceptionHandler((where, error) -> handed.incrementAndGet());
    try (Context context = Context.builder().threads(1).log(LogLevel.DEBUG, (level, text) -> {
      throw new IllegalStateException("full");
    }).build(); Communicator comm = Communicator.local(context, 1).get(0)) {
      comm.abort();
      assertEquals(Status.ABORTED, assertThrows(GradstepException.class, comm::barrier).status());
    } finally {
      thread.setUncaughtExceptionHandler(null);
    }
    assertTrue(handed.get() > 0);
  }

  @Test
  void theHostsThreadsDoTheWork() {
    AtomicLong pieces = new AtomicLong();
    IllegalStateException thrown = new IllegalStateException("the pool is closed");
    try (Context context = Context.builder().parallelFor((n, body) -> {
          if (pieces.addAndGet(n) > 1_000_000) {
            throw thrown;
          }
          LongStream.range(0, n).parallel().forEach(body);
        }).build();
        Optimizer sgd = sgd(context, LARGE);
        TensorList params = TensorList.of(floats(LARGE));
        TensorList grads = TensorList.of(floats(LARGE))) {
      fill(grads.get(0), 2);
      sgd.step(params, grads);
      assertTrue(pieces.get() > 1);
      float[] found = values(params.get(0).floats());
      assertEquals(-2f, found[0]);
      assertEquals(-2f, found[LARGE - 1]);
      pieces.set(1_000_000);
      GradstepException error = assertThrows(GradstepException.class, () -> sgd.step(params, grads));
      assertEquals("GRADSTEP_ERR_CALLBACK", error.statusName());
      assertSame(thrown, error.getCause());
    }
  }

  /** Runs two pieces or more on the pool, and is interrupted while some are running and one has not begun. */
  private static void runAndLeave(ExecutorService pool, List<Future<?>> pieces, long n, LongConsumer body)
      throws Exception {
    CountDownLatch running = new CountDownLatch(1);
    CountDownLatch left = new CountDownLatch(1);
    pieces.add(pool.submit(() -> {
      left.await();
      body.accept(0);
      return null;
    }));
    LongStream.range(1, n).forEach(i -> pieces.add(pool.submit(() -> {
      running.countDown();
      body.accept(i);
    })));
    running.await();
    Thread.currentThread().interrupt();
    try {
      pieces.get(0).get();
    } finally {
      left.countDown();
    }
  }

  private static boolean isInsideAPiece(StackTraceElement[] stack) {
    return Arrays.stream(stack).anyMatch(frame -> frame.getMethodName().equals("run_body"));
  }

  /** A step that is left in the middle of one of its loops; whether it has so many. */
  private static boolean isLeftIn(int loop, ExecutorService pool) throws InterruptedException {
    int extent = 256;
    AtomicInteger loops = new AtomicInteger();
    AtomicReference<LongConsumer> late = new AtomicReference<>();
    List<Future<?>> pieces = new ArrayList<>();
    ShampooOptions options = ShampooOptions.builder(1).blockSize(extent).build(); // two roots of many milliseconds
    try (Context context = Context.builder().parallelFor((n, body) -> {
      late.set(body);
      if (loops.getAndIncrement() == loop) {
        runAndLeave(pool, pieces, n, body);
      } else {
        LongStream.range(0, n).forEach(body);
      }
    }).build()) {
      try (Optimizer shampoo =
              Optimizer.create(context, options, List.of(Parameter.of("x", DType.F32, extent, extent)));
          TensorList params = TensorList.of(Tensor.of(floats(extent * extent), extent, extent));
          TensorList grads = TensorList.of(Tensor.of(floats(extent * extent), extent, extent))) {
        FloatBuffer elements = grads.get(0).floats();
        for (int i = 0; i < elements.limit(); i++) {
          elements.put(i, (float) Math.sin(i));
        }
        GradstepException error = null;
        try {
          shampoo.step(params, grads);
        } catch (GradstepException found) {
          error = found;
        }
        assertFalse(Thread.getAllStackTraces().values().stream().anyMatch(ContextTest::isInsideAPiece));
        assertEquals("body: parallelFor has returned",
            assertThrows(IllegalStateException.class, () -> late.get().accept(0)).getMessage());
        if (error != null) {
          assertTrue(error.getCause() instanceof InterruptedException, String.valueOf(error.getCause()));
          assertTrue(Thread.interrupted()); // it is not lost
        }
        return error != null;
      }
    } finally {
      for (Future<?> piece : pieces) {
        try {
          piece.get();
        } catch (ExecutionException failure) {
          assertEquals("body: parallelFor has returned", failure.getCause().getMessage());
        }
      }
    }
  }

  @Test
  void piecesThatRunAreWaitedForAndLaterOnesAreRefused() throws InterruptedException {
    ExecutorService pool = Executors.newFixedThreadPool(3);
    try {
      int loops = 0;
      while (isLeftIn(loops, pool)) {
        loops++;
      }
      assertTrue(loops > 0);
    } finally {
      pool.shutdown();
    }
  }

  private static void fill(Tensor tensor, float value) {
    FloatBuffer elements = tensor.floats();
    for (int i = 0; i < elements.limit(); i++) {
      elements.put(i, value);
    }
  }

  @Test
  void buffersComeFromTheHostsMemory() {
    Map<Long, ByteBuffer> given = new ConcurrentHashMap<>();
    AtomicLong left = new AtomicLong(Long.MAX_VALUE);
    Context.Allocator allocator = new Context.Allocator() {
      @Override
      public long allocate(long bytes, long alignment, Device device) {
        assertEquals(Device.CPU, device);
        if (left.get() < bytes) {
          return 0;
        }
        ByteBuffer memory = ByteBuffer.allocateDirect((int) (bytes + alignment)).alignedSlice((int) alignment);
        long address = Tensor.of(memory, DType.BF16).address();
        given.put(address, memory);
        return address;
      }

      @Override
      public void deallocate(long address, long bytes, long alignment, Device device) {
        given.remove(address);
      }
    };
    try (Context context = Context.builder().threads(1).allocator(allocator).build()) {
      try (Optimizer sgd = sgd(context, 1000);
          TensorList params = TensorList.of(floats(1000));
          TensorList grads = TensorList.of(floats(1000))) {
        assertFalse(given.isEmpty());
        sgd.step(params, grads);
      }
      left.set(0);
      assertEquals(Status.OUT_OF_MEMORY,
          assertThrows(GradstepException.class, () -> sgd(context, 1000)).status());
    }
    assertTrue(given.isEmpty(), given.keySet().toString());
  }

  /** Throws an undeclared exception, as other languages of the machine do. */
  @SuppressWarnings("unchecked")
  private static <E extends Exception> void throwUndeclared(Exception exception) throws E {
    throw (E) exception;
  }

  @Test
  void anAllocatorThatThrowsHasNoMemory() {
    AtomicReference<Throwable> handed = new AtomicReference<>();
    Exception thrown = new java.io.IOException("not declared");
    Thread thread = Thread.currentThread();
    thread.setUncaughtExceptionHandler((where, error) -> handed.set(error));
    Context.Allocator allocator = new Context.Allocator() {
      @Override
      public long allocate(long bytes, long alignment, Device device) {
        ContextTest.<RuntimeException>throwUndeclared(thrown);
        return 0;
      }

      @Override
      public void deallocate(long address, long bytes, long alignment, Device device) {}
    };
    try (Context context = Context.builder().threads(1).allocator(allocator).build()) {
      assertEquals(Status.OUT_OF_MEMORY,
          assertThrows(GradstepException.class, () -> sgd(context, 1000)).status());
    } finally {
      thread.setUncaughtExceptionHandler(null);
    }
    assertSame(thrown, handed.get());
  }

  @Test
  void anInterruptEndsAWait() throws Exception {
    IllegalStateException thrown = new IllegalStateException("the job is over");
    try (Context context = Context.builder().threads(1).interrupt(() -> {
      throw thrown;
    }).build()) {
      Ranks.run(context, 2, (rank, comm) -> {
        if (rank == 0) {
          GradstepException error = assertThrows(GradstepException.class, comm::barrier);
          assertEquals(Status.ABORTED, error.status());
          assertSame(thrown, error.getCause());
        }
      });
    }
  }

  @Test
  void badOptionsAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> new Context(-1));
    assertThrows(IllegalArgumentException.class, () -> Context.builder().log(null, (level, text) -> {}).build());
    String text = assertThrows(GradstepException.class,
        () -> Context.builder().lapackLibrary(Path.of("/nowhere/liblapack.so")).build()).getMessage();
    assertTrue(text.contains("/nowhere/liblapack.so"), text);
    try (Context context = Context.builder().threads(2).backgroundThreads(0).build()) {
      assertArrayEquals(new float[] {0}, values(floats(1)));
    }
  }

  @Test
  void theLibraryTellsWhatItIs() {
    assertTrue(Gradstep.version().matches("[0-9]+\\.[0-9]+\\.[0-9]+.*"), Gradstep.version());
    assertEquals(core.ABI_VERSION, Gradstep.abiVersion());
    assertTrue(Gradstep.buildInfo().contains("instruction_set"));
    assertTrue(Gradstep.backendAvailable("shm"));
    assertEquals("ok", Gradstep.backendStatus("cpu"));
    assertFalse(Gradstep.backendAvailable("pigeon"));
    assertThrows(IllegalArgumentException.class, () -> Gradstep.backendStatus("pigeon"));
    assertEquals("GRADSTEP_ERR_BACKEND_UNAVAILABLE", assertThrows(GradstepException.class,
        () -> Gradstep.loadBackend(Path.of("/nowhere/plugin.so"))).statusName());
  }

  @Test
  void costsArePredicted() {
    try (Context context = new Context(1)) {
      CostOptions.Builder measured = Cost.measure(context);
      assertThrows(IllegalArgumentException.class, () -> Cost.predict(measured.build())); // no network yet
      assertTrue((double) measured.build().options().get("addSeconds") > 0);
      CostOptions options =
          measured.elements(1_000_000).ranks(2).bandwidth(1e8).latency(0).message(0).build();
      List<Cost> costs = Cost.predict(options);
      Cost dense = costs.stream()
          .filter(cost -> cost.mode() == ReducerMode.DENSE && cost.algorithm() == CostAlgorithm.OWN)
          .findFirst().orElseThrow();
      assertEquals(4_000_000, dense.bytes()); // 2 n (P - 1) / P
      assertEquals(0.04, dense.networkSeconds(), 1e-9);
    }
  }

  @Test
  void pluginsInTheJarAreFound() {
    for (String engine : List.of("gloo", "mpi")) {
      String file = "/org/gradstep/native/linux-" + System.getProperty("os.arch") + "/libgradstep_" + engine + ".so";
      if (ContextTest.class.getResource(file) != null) {
        assertTrue(Gradstep.backendAvailable(engine), () -> engine + ": " + Gradstep.backendStatus(engine));
      }
    }
  }
}
