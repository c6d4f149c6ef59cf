// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Handles that are shared, closed or collected where a call does not expect it. */
class HandleTest {
  private static final int LARGE = 1 << 16;
  private static final List<Parameter> MODEL = List.of(Parameter.of("large", DType.F32, LARGE));

  private static Accumulator accumulator(Context context, Schedule windowLength) {
    AccumulatorOptions options = AccumulatorOptions.builder()
        .mode(AccumulationMode.SUM)
        .trigger(AccumulationTrigger.SCHEDULE)
        .schedule(windowLength)
        .build();
    return new Accumulator(context, options, MODEL);
  }

  private static FloatBuffer ones() {
    FloatBuffer buffer = floats(LARGE);
    for (int i = 0; i < LARGE; i++) {
      buffer.put(i, 1);
    }
    return buffer;
  }

  /** Collects what can be, and writes zeros where something was freed. */
  private static double collect() {
    try {
      for (int i = 0; i < 3; i++) {
        System.gc();
        Thread.sleep(10); // cleaners have threads of their own
      }
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
    for (int i = 0; i < 16; i++) {
      floats(LARGE);
    }
    return 1;
  }

  @Test
  void whatACallHasBorrowedIsNotCollected() {
    try (Context context = new Context(1); Accumulator sum = accumulator(context, Schedule.of(t -> collect()))) {
      for (int window = 0; window < 5; window++) {
        sum.add(TensorList.of(ones())); // neither the list nor the buffer is kept elsewhere
        FloatBuffer found = sum.gradients().get(0).floats(); // nor is what this is a view of
        collect();
        for (float element : values(found)) {
          assertEquals(1f, element);
        }
      }
    }
  }

  @Test
  void aHandleThatNobodyClosesIsCollected() throws InterruptedException {
    Schedule schedule = Schedule.of(new java.util.function.LongToDoubleFunction() {
      @Override
      public double applyAsDouble(long t) {
        return 1;
      }
    });
    java.lang.ref.WeakReference<Object> function = new java.lang.ref.WeakReference<>(schedule.function);
    try (Context context = new Context(1)) {
      accumulator(context, schedule);
      schedule = null;
      for (int i = 0; function.get() != null && i < 500; i++) { // the library holds the function until it lets go
        System.gc();
        Thread.sleep(10);
      }
    }
    assertEquals(null, function.get());
  }

  @Test
  void aHandleInUseIsAnIllegalState() {
    AtomicReference<Supplier<Object>> inside = new AtomicReference<>(() -> 0);
    AtomicReference<Object> found = new AtomicReference<>();
    try (Context context = new Context(1);
        Accumulator accumulator = accumulator(context, Schedule.of(window -> {
          found.set(inside.get().get());
          return 1;
        }));
        TensorList grads = TensorList.of(ones())) {
      inside.set(() -> assertThrows(IllegalStateException.class, accumulator::count));
      assertTrue(accumulator.add(grads));
      assertTrue(((Exception) found.get()).getMessage().contains("of this thread, which has called back"),
          found.get().toString());
      inside.set(() -> assertThrows(IllegalStateException.class, () -> grads.set(0, ones())));
      assertTrue(accumulator.add(grads));
      assertEquals("tensor list: is in use by another call or a view", ((Exception) found.get()).getMessage());
    }
  }

  @Test
  void aCallbackMayCloseTheHandleThatItServes() {
    AtomicReference<Accumulator> handle = new AtomicReference<>();
    try (Context context = new Context(1); TensorList grads = TensorList.of(ones())) {
      handle.set(accumulator(context, Schedule.of(window -> {
        handle.get().close();
        return 1;
      })));
      assertTrue(handle.get().add(grads)); // the call finishes as if nothing had happened
      assertEquals("accumulator: is closed",
          assertThrows(IllegalStateException.class, () -> handle.get().add(grads)).getMessage());
    }
  }

  @Test
  void everyHandleSaysThatItIsClosed() throws Exception {
    Context context = new Context(1);
    Communicator comm = Communicator.local(context, 1).get(0);
    Reducer reducer = new Reducer(context, comm, MODEL);
    TensorList list = TensorList.of(ones());
    for (AutoCloseable handle : List.of(comm, reducer, list, context)) {
      handle.close();
      handle.close();
    }
    assertThrows(IllegalStateException.class, comm::rank);
    assertThrows(IllegalStateException.class, comm::abort);
    assertThrows(IllegalStateException.class, reducer::poll);
    assertThrows(IllegalStateException.class, () -> list.get(0));
    assertThrows(IllegalStateException.class, () -> new Reducer(context, comm, MODEL));
    StepOptions options = new StepOptions();
    try (Context other = new Context(1)) {
      SgdOptions sgd = SgdOptions.builder(1).build();
      Optimizer optimizer = Optimizer.create(other, sgd, MODEL);
      optimizer.close();
      try (TensorList params = TensorList.of(ones())) {
        assertThrows(IllegalStateException.class, () -> optimizer.step(params, params, options));
        assertThrows(IllegalStateException.class, () -> Updater.builder(other, optimizer).build());
      }
    }
  }

  @Test
  void threadsThatCloseAndCallNeverCrash() throws InterruptedException {
    try (Context context = new Context(1)) {
      for (int round = 0; round < 30; round++) {
        Accumulator accumulator = accumulator(context, Schedule.constant(1));
        AtomicReference<Throwable> unexpected = new AtomicReference<>();
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
          threads[i] = new Thread(() -> {
            try {
              for (int call = 0; call < 50; call++) {
                try (TensorList grads = TensorList.of(ones())) {
                  accumulator.add(grads);
                  try (TensorList views = accumulator.gradients()) {
                    Tensor view = views.get(0);
                    accumulator.close();
                    assertEquals(LARGE, values(view.floats()).length);
                  }
                } catch (IllegalStateException expected) {
                  continue; // in use, or closed
                }
              }
            } catch (Throwable error) {
              unexpected.set(error);
            }
          });
          threads[i].start();
        }
        for (Thread thread : threads) {
          thread.join();
        }
        assertEquals(null, unexpected.get());
      }
    }
  }

  @Test
  void buffersAreSeenBetweenPositionAndLimit() {
    FloatBuffer memory = floats(9, 1, 2, 9).position(1).limit(3);
    Tensor tensor = Tensor.of(memory);
    memory.clear();
    assertArrayEquals(new float[] {1, 2}, values(tensor.floats()));
    assertEquals("buffers[1]: is null",
        assertThrows(IllegalArgumentException.class, () -> TensorList.of(memory, null)).getMessage());
  }

  @Test
  void anEntryMayShowAnotherTensorOfItsForm() {
    FloatBuffer other = floats(3, 4);
    try (TensorList list = TensorList.of(floats(1, 2))) {
      list.set(0, Tensor.of(other));
      assertArrayEquals(new float[] {3, 4}, values(list, 0));
      assertEquals("tensor: is Tensor(F32, [2, 1]), expected Tensor(F32, [2])",
          assertThrows(IllegalArgumentException.class, () -> list.set(0, Tensor.of(other, 2, 1))).getMessage());
      assertEquals("tensor: is Tensor(I64, [1]), expected Tensor(F32, [2])",
          assertThrows(IllegalArgumentException.class, () -> list.set(0, Memory.longs(1))).getMessage());
      Tensor strided = Tensor.ofAddress(64, DType.F32, Device.CPU, new long[] {2}, new long[] {2});
      assertEquals("tensor: expected compact memory of this machine, found " + strided,
          assertThrows(IllegalArgumentException.class, () -> list.set(0, strided)).getMessage());
      assertThrows(IllegalArgumentException.class, () -> list.set(1, Tensor.of(other)));
      assertArrayEquals(new float[] {3, 4}, values(list, 0));
    }
  }

  @Test
  void bytesThatAreNoWholeElementsAreRefused() {
    ByteBuffer memory = Memory.bytes(5);
    String expected = "buffer: has 5 bytes from position to limit, expected a multiple of 4, the size of F32";
    assertEquals(expected,
        assertThrows(IllegalArgumentException.class, () -> Tensor.of(memory, DType.F32)).getMessage());
    assertEquals(expected,
        assertThrows(IllegalArgumentException.class, () -> Tensor.of(memory, DType.F32, 1)).getMessage());
    assertEquals(5, Tensor.of(memory, DType.U8).count());
    try (TensorList half = TensorList.of(Tensor.of(Memory.bytes(6), DType.BF16))) {
      half.set(0, Memory.bytes(6)); // three elements, of two bytes each
      assertThrows(IllegalArgumentException.class, () -> half.set(0, Memory.bytes(5)));
    }
  }
}
