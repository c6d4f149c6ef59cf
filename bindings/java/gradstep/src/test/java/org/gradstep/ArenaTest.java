// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.function.Executable;

/** Buffers of java.lang.foreign, which the JDK has from 22 on: called by reflection, for this is compiled for 17. */
@EnabledIf("hasArenas")
class ArenaTest {
  private static final int COUNT = 1 << 18; // the memory is a mapping of its own, which closing gives back

  static boolean hasArenas() {
    return Runtime.version().feature() >= 22;
  }

  private static ByteBuffer bytes(AutoCloseable arena) throws ReflectiveOperationException {
    Object segment = Class.forName("java.lang.foreign.Arena").getMethod("allocate", long.class, long.class)
        .invoke(arena, 4L * COUNT, 64L);
    return ((ByteBuffer) Class.forName("java.lang.foreign.MemorySegment").getMethod("asByteBuffer").invoke(segment))
        .order(ByteOrder.nativeOrder());
  }

  private static Optimizer sgd(Context context, List<Parameter> model) {
    try (SgdOptions options = new SgdOptions()) {
      options.setLearningRate(0.5);
      return Optimizer.sgd(context, options, model);
    }
  }

  private static void refused(String argument, Executable call) {
    String text = assertThrows(IllegalStateException.class, call).getMessage();
    assertTrue(text.startsWith(argument + ": the arena of its buffer is closed"), text);
  }

  @Test
  void memoryOfAClosedArenaIsAnIllegalState() throws Exception {
    AutoCloseable arena = (AutoCloseable) Class.forName("java.lang.foreign.Arena").getMethod("ofShared").invoke(null);
    FloatBuffer inArena = bytes(arena).asFloatBuffer();
    List<Parameter> model = List.of(Parameter.of("weight", DType.F32, COUNT));
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context, model);
        Accumulator accumulator = new Accumulator(context, null, model);
        Communicator alone = Communicator.local(context, null, 1).get(0);
        Reducer reducer = new Reducer(context, alone, null, model);
        TensorList gone = TensorList.of(inArena);
        TensorList kept = TensorList.of(floats(COUNT))) {
      sgd.step(gone, kept);
      sgd.step(kept, gone);
      Tensor tensor = Tensor.of(inArena);
      Tensor raw = Tensor.of(bytes(arena), DType.F32, COUNT);
      arena.close();
      refused("params[0]", () -> sgd.step(gone, kept));
      refused("grads[0]", () -> sgd.step(kept, gone));
      refused("updates[0]", () -> sgd.update(kept, kept, gone, new StepOptions()));
      refused("foundInf", () -> sgd.step(kept, kept, new StepOptions().foundInf(tensor)));
      refused("grads[0]", () -> accumulator.add(gone));
      refused("grads[0]", () -> reducer.reduce(gone));
      refused("grad", () -> reducer.push(0, raw, 0));
      refused("tensor", () -> alone.allReduce(tensor));
      refused("tensor", () -> tensor.bytes());
      refused("tensor", () -> gone.get(0).floats());
      assertEquals(2, sgd.stepCount());
    }
  }
}
