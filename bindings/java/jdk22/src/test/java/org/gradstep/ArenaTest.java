// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.SPARSE;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Segments and buffers of java.lang.foreign. */
class ArenaTest {
  private static final int COUNT = 1 << 18; // the memory is a mapping of its own, which closing gives back

  private static Optimizer sgd(Context context, List<Parameter> model) {
    return Optimizer.create(context, SgdOptions.builder(0.5).build(), model);
  }

  private static void refused(String argument, Executable call) {
    String text = assertThrows(IllegalStateException.class, call).getMessage();
    assertTrue(text.startsWith(argument + ": the arena of its "), text);
    assertTrue(text.contains(" is closed"), text);
  }

  @Test
  void aStepIsMadeInSegments() {
    // docs:begin segments
    try (Arena arena = Arena.ofConfined();
        Context context = new Context(1);
        Optimizer sgd = sgd(context, List.of(Parameter.of("weight", DType.F32, 2, 2)))) {
      MemorySegment weight = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4);
      MemorySegment gradient = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 2, 2, 4, 4);
      try (TensorList params = TensorList.of(Tensor.of(weight, DType.F32, 2, 2));
          TensorList grads = TensorList.of(Tensor.of(gradient, DType.F32, 2, 2))) {
        sgd.step(params, grads);
      }
      // docs:end segments
      assertArrayEquals(new float[] {0, 1, 1, 2}, weight.toArray(ValueLayout.JAVA_FLOAT));
      MemorySegment second = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 8, 8, 8, 8);
      try (TensorList params = TensorList.of(Tensor.of(weight, DType.F32, 2, 2));
          TensorList grads = TensorList.of(Tensor.of(gradient, DType.F32, 2, 2))) {
        params.set(0, Tensor.of(second, DType.F32, 2, 2));
        sgd.step(params, grads);
        assertArrayEquals(new float[] {7, 7, 6, 6}, second.toArray(ValueLayout.JAVA_FLOAT));
        TensorList fixed = TensorList.of(Tensor.of(second.asReadOnly(), DType.F32, 2, 2));
        assertEquals("params[0]: the memory is read-only",
            assertThrows(IllegalArgumentException.class, () -> sgd.step(fixed, grads)).getMessage());
        assertEquals("segment: has 16 bytes, the shape needs 12", assertThrows(IllegalArgumentException.class,
            () -> Tensor.of(second, DType.F32, 3)).getMessage());
        assertEquals("segment: expected native memory, found memory of the heap",
            assertThrows(IllegalArgumentException.class,
                () -> Tensor.of(MemorySegment.ofArray(new float[4]), DType.F32, 4)).getMessage());
      }
    }
  }

  @Test
  void aTensorMayHaveMoreBytesThanABufferCanShow(@TempDir Path folder) throws IOException {
    long count = (1L << 31) + 8; // a buffer shows 2^31 - 1 bytes at most
    try (Arena arena = Arena.ofConfined();
        FileChannel file = FileChannel.open(folder.resolve("sparse"), CREATE_NEW, SPARSE, READ, WRITE);
        Context context = new Context(1);
        Communicator alone = Communicator.local(context, 1).get(0)) {
      MemorySegment large = file.map(FileChannel.MapMode.READ_WRITE, 0, count, arena); // takes no memory
      large.set(ValueLayout.JAVA_BYTE, count - 1, (byte) 7);
      Tensor tensor = Tensor.of(large, DType.U8, count);
      assertEquals(count, tensor.count());
      assertThrows(UnsupportedOperationException.class, tensor::bytes);
      assertEquals(7, tensor.segment().get(ValueLayout.JAVA_BYTE, count - 1));
      assertEquals(7, Tensor.ofAddress(large.address(), DType.U8, count).segment()
          .get(ValueLayout.JAVA_BYTE, count - 1));
      alone.broadcast(tensor, 0);
    }
  }

  @Test
  void stateIsSeenAsASegment() {
    try (Context context = new Context(1);
        Optimizer adam = Optimizer.create(context, AdamOptions.builder(0.5).build(),
            List.of(Parameter.of("pair", DType.F32, 2)));
        TensorList state = adam.state(0, "exp_avg")) {
      MemorySegment moment = state.get(0).segment();
      moment.setAtIndex(ValueLayout.JAVA_FLOAT, 1, 3);
      assertEquals(3, state.get(0).floats().get(1));
      assertEquals(8, moment.byteSize());
    }
  }

  @Test
  void memoryOfAClosedArenaIsAnIllegalState() {
    Arena arena = Arena.ofShared();
    MemorySegment segment = arena.allocate(4L * COUNT, 64);
    FloatBuffer inArena = segment.asByteBuffer().order(ByteOrder.nativeOrder()).asFloatBuffer();
    List<Parameter> model = List.of(Parameter.of("weight", DType.F32, COUNT));
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, model);
        Accumulator accumulator = new Accumulator(context, null, model);
        Communicator alone = Communicator.local(context, 1).get(0);
        Reducer reducer = new Reducer(context, alone, model);
        TensorList gone = TensorList.of(inArena);
        TensorList alsoGone = TensorList.of(Tensor.of(segment, DType.F32, COUNT));
        TensorList kept = TensorList.of(Tensor.of(Arena.ofAuto().allocate(4L * COUNT, 64), DType.F32, COUNT))) {
      sgd.step(gone, kept);
      sgd.step(kept, alsoGone);
      Tensor tensor = Tensor.of(inArena);
      Tensor raw = Tensor.of(segment, DType.F32, COUNT);
      arena.close();
      refused("params[0]", () -> sgd.step(gone, kept));
      refused("params[0]", () -> sgd.step(alsoGone, kept));
      refused("grads[0]", () -> sgd.step(kept, gone));
      refused("updates[0]", () -> sgd.update(kept, kept, alsoGone, new StepOptions()));
      refused("foundInf", () -> sgd.step(kept, kept, new StepOptions().foundInf(tensor)));
      refused("grads[0]", () -> accumulator.add(gone));
      refused("grads[0]", () -> reducer.reduce(alsoGone));
      refused("grad", () -> reducer.push(0, raw));
      refused("tensor", () -> alone.allReduce(tensor));
      refused("tensor", () -> alone.allReduce(raw));
      refused("tensor", () -> tensor.bytes());
      refused("tensor", () -> raw.segment());
      refused("tensor", () -> gone.get(0).floats());
      assertEquals(2, sgd.stepCount());
    }
  }

  @Test
  void aConfinedArenaIsForItsThread() {
    try (Arena arena = Arena.ofConfined();
        Context context = new Context(1);
        Communicator alone = Communicator.local(context, 1).get(0)) {
      Tensor own = Tensor.of(arena.allocate(8), DType.F32, 2);
      alone.allReduce(own);
      Throwable cause = assertThrows(CompletionException.class,
          () -> CompletableFuture.runAsync(() -> alone.allReduce(own)).join()).getCause();
      assertEquals("tensor: the arena of its segment is confined to another thread",
          ((WrongThreadException) cause).getMessage());
    }
  }
}
