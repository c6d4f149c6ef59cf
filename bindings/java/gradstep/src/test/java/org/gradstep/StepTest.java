// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class StepTest {
  private static final List<Parameter> LINE = List.of(Parameter.of("line", DType.F32, 4));

  private static Optimizer sgd(Context context, double learningRate) {
    return Optimizer.create(context, SgdOptions.builder(learningRate).build(), LINE);
  }

  @Test
  void stepsBetweenPositionAndLimitInPlace() {
    FloatBuffer memory = floats(9, 1, 2, 3, 4, 9).position(1).limit(5);
    FloatBuffer gradient = floats(1, 1, 2, 2);
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, 0.5);
        TensorList params = TensorList.of(memory);
        TensorList grads = TensorList.of(gradient)) {
      sgd.step(params, grads);
      assertEquals(1, sgd.stepCount());
    }
    float[] found = new float[6];
    memory.clear().get(found);
    org.junit.jupiter.api.Assertions.assertArrayEquals(new float[] {9, 0.5f, 1.5f, 2, 3, 9}, found);
  }

  @Test
  void adamMovesByItsLearningRateFirst() {
    // docs:begin step
    FloatBuffer weight = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).asFloatBuffer();
    FloatBuffer gradient = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).asFloatBuffer();
    gradient.put(new float[] {1, -1, 2, -2}).flip();
    try (Context context = new Context(1);
        Optimizer adam = Optimizer.create(
            context, AdamOptions.builder(0.25).build(), List.of(Parameter.of("weight", DType.F32, 4)));
        TensorList params = TensorList.of(weight);
        TensorList grads = TensorList.of(gradient)) {
      adam.step(params, grads);
    }
    // docs:end step
    for (int i = 0; i < 4; i++) { // m / sqrt(v) is the sign, up to epsilon = 1e-8 and f32 rounding
      assertEquals(i % 2 == 0 ? -0.25f : 0.25f, weight.get(i), 1e-6f);
    }
  }

  @Test
  void aStepWithKeptListsMakesNoObjects() {
    var threads = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
    int calls = 10_000;
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, 0.5);
        TensorList params = TensorList.of(floats(4));
        TensorList grads = TensorList.of(floats(4))) {
      sgd.step(params, grads);
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < calls; i++) {
        sgd.step(params, grads);
      }
      long bytes = threads.getCurrentThreadAllocatedBytes() - before;
      assertTrue(bytes < calls, bytes + " bytes"); // an object takes 16 at least; asking costs some hundred once
    }
  }

  @Test
  void badInputNamesTheArgument() {
    FloatBuffer heap = FloatBuffer.allocate(4);
    assertTrue(assertThrows(IllegalArgumentException.class, () -> TensorList.of(floats(4), heap))
        .getMessage().startsWith("buffers[1]: expected a direct buffer"));
    ByteOrder other =
        ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    FloatBuffer swapped = ByteBuffer.allocateDirect(16).order(other).asFloatBuffer();
    assertTrue(assertThrows(IllegalArgumentException.class, () -> TensorList.of(swapped))
        .getMessage().startsWith("buffers[0]: expected byte order"));
    assertTrue(assertThrows(IllegalArgumentException.class, () -> Tensor.of(floats(4), 5))
        .getMessage().contains("has 4 elements from position to limit, the shape needs 5"));
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, 0.5);
        TensorList params = TensorList.of(floats(4));
        TensorList fixed = TensorList.of(floats(4).asReadOnlyBuffer());
        TensorList two = TensorList.of(floats(4), floats(4));
        TensorList three = TensorList.of(floats(3))) {
      assertEquals("params[0]: the memory is read-only",
          assertThrows(IllegalArgumentException.class, () -> sgd.step(fixed, params)).getMessage());
      assertEquals("grads: has 2 tensors, expected 1",
          assertThrows(IllegalArgumentException.class, () -> sgd.step(params, two)).getMessage());
      assertTrue(assertThrows(IllegalArgumentException.class, () -> sgd.step(params, three))
          .getMessage().contains("grads[0]"));
      assertThrows(IllegalArgumentException.class, () -> sgd.setValue("momentun", 0.5));
      sgd.step(params, fixed); // gradients are only read
    }
    try (Context context = new Context(1)) {
      SgdOptions options = SgdOptions.builder(-1).build();
      assertThrows(IllegalArgumentException.class, () -> Optimizer.create(context, options, LINE));
    }
  }

  @Test
  void useAfterCloseIsAnIllegalState() {
    Context context = new Context(1);
    Optimizer sgd = sgd(context, 0.5);
    context.close(); // handles keep what they need of it
    TensorList list = TensorList.of(floats(4));
    sgd.step(list, list == null ? null : TensorList.of(floats(4)));
    sgd.close();
    sgd.close();
    assertEquals("optimizer: is closed",
        assertThrows(IllegalStateException.class, sgd::stepCount).getMessage());
    list.close();
    assertThrows(IllegalStateException.class, () -> list.set(0, floats(4)));
    assertThrows(IllegalStateException.class, () -> sgd(context, 0.5));
  }

  @Test
  void whatAScheduleThrowsIsTheCause() {
    RuntimeException thrown = new RuntimeException("no more");
    FloatBuffer memory = floats(4);
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, 0.5);
        TensorList params = TensorList.of(memory);
        TensorList grads = TensorList.of(floats(1, 1, 1, 1))) {
      sgd.setSchedule("learning_rate", Schedule.of(t -> {
        if (t == 1) {
          throw thrown;
        }
        return 0.25;
      }));
      sgd.step(params, grads);
      GradstepException error = assertThrows(GradstepException.class, () -> sgd.step(params, grads));
      assertEquals("GRADSTEP_ERR_CALLBACK", error.statusName());
      assertSame(thrown, error.getCause());
      assertEquals(-0.25f, memory.get(0));
      assertEquals(1, sgd.stepCount());
    }
  }

  @Test
  void schedulesHaveTheirFormulas() {
    assertEquals(0.5, Schedule.constant(0.5).value(7));
    assertEquals(0.25, Schedule.exponentialDecay(1, 2, 0.5, true).value(5));
    assertEquals(0.5, Schedule.inverseTime(1, 4, 1, false).value(4));
    assertEquals(0.5, Schedule.polynomial(1, 0, 4, 1).value(2));
    assertEquals(1.0, Schedule.cosine(1, 0, 4).value(0));
    assertEquals(3.0, Schedule.piecewise(new long[] {1}, new double[] {2, 3}).value(2));
    assertEquals(0.5, Schedule.constant(1).warmup(3).value(1));
    assertThrows(IllegalArgumentException.class, () -> Schedule.constant(1).value(-1));
  }

  @Test
  void savedStateComesBack() {
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    try (Context context = new Context(1);
        Optimizer saved = sgd(context, 0.5);
        Optimizer loaded = sgd(context, 0.5);
        TensorList params = TensorList.of(floats(4));
        TensorList grads = TensorList.of(floats(4))) {
      saved.step(params, grads);
      saved.save(file);
      loaded.load(new ByteArrayInputStream(file.toByteArray()));
      assertEquals(1, loaded.stepCount());
      byte[] flipped = file.toByteArray();
      flipped[flipped.length - 1] ^= 1;
      GradstepException corrupt =
          assertThrows(GradstepException.class, () -> loaded.load(new ByteArrayInputStream(flipped)));
      assertEquals("GRADSTEP_ERR_CORRUPT", corrupt.statusName());
      IOException full = new IOException("disk full");
      GradstepException failed = assertThrows(GradstepException.class, () -> saved.save(new OutputStream() {
        @Override
        public void write(int value) throws IOException {
          throw full;
        }
      }));
      assertSame(full, failed.getCause());
    }
  }

  @Test
  void ranksThatAreThreadsSum() throws InterruptedException {
    int ranks = 3;
    try (Context context = new Context(1)) {
      CommunicatorOptions options = CommunicatorOptions.builder().build();
      List<Communicator> comms = Communicator.local(context, options, ranks);
      FloatBuffer[] values = new FloatBuffer[ranks];
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Thread> threads = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        Communicator comm = comms.get(rank);
        FloatBuffer value = values[rank] = floats(rank + 1, 1);
        Thread thread = new Thread(() -> comm.allReduce(Tensor.of(value)));
        thread.setUncaughtExceptionHandler((where, error) -> failure.set(error));
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertSame(null, failure.get());
      for (FloatBuffer value : values) {
        assertEquals(6f, value.get(0));
        assertEquals(3f, value.get(1));
      }
      comms.forEach(Communicator::close);
    }
  }

  @Test
  void anInterruptedThreadStopsWaiting() throws InterruptedException {
    try (Context context = new Context(1)) {
      CommunicatorOptions options = CommunicatorOptions.builder().build();
      List<Communicator> comms = Communicator.local(context, options, 2);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      Thread waiting = new Thread(() -> comms.get(0).barrier());
      waiting.setUncaughtExceptionHandler((where, error) -> failure.set(error));
      waiting.start();
      waiting.interrupt();
      waiting.join();
      assertEquals("GRADSTEP_ERR_ABORTED", ((GradstepException) failure.get()).statusName());
      comms.forEach(Communicator::close);
    }
  }

  @Test
  void sharedAndClosedHandlesNeverCrash() throws InterruptedException {
    try (Context context = new Context(1)) {
      for (int round = 0; round < 20; round++) {
        Optimizer sgd = sgd(context, 0.5);
        TensorList params = TensorList.of(floats(4));
        TensorList grads = TensorList.of(floats(4));
        List<Throwable> unexpected = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
          Thread thread = new Thread(() -> {
            for (int step = 0; step < 500; step++) {
              try {
                sgd.step(params, grads);
                grads.set(0, floats(4)); // what it replaces becomes garbage
              } catch (IllegalStateException expected) {
                continue; // in use, or closed
              }
            }
          });
          thread.setUncaughtExceptionHandler((where, error) -> {
            synchronized (unexpected) {
              unexpected.add(error);
            }
          });
          threads.add(thread);
          thread.start();
        }
        System.gc();
        (round % 2 == 0 ? sgd : grads).close();
        for (Thread thread : threads) {
          thread.join();
        }
        assertEquals(List.of(), unexpected);
        sgd.close();
        params.close();
        grads.close();
      }
    }
  }
}
