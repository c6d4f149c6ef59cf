// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What texts say. */
class MessagesTest {
  private static final List<Parameter> MODEL = List.of(Parameter.of("weight", DType.F32, 4));

  private static String refused(Executable call) {
    return assertThrows(IllegalArgumentException.class, call).getMessage();
  }

  @Test
  void tensorsAndHandlesShowWhatTheyAre() {
    assertEquals("Tensor(F32, [2, 2])", Tensor.of(floats(4), 2, 2).toString());
    Device device = new Device(DeviceType.CUDA, 1);
    assertEquals("Tensor(F64, [2, 2], strides [1, 2], on " + device + ")",
        Tensor.ofAddress(64, DType.F64, device, new long[] {2, 2}, new long[] {1, 2}).toString());
    Context context = new Context(1);
    assertEquals("context", context.toString());
    context.close();
    assertEquals("context, closed", context.toString());
  }

  @Test
  void shapesThatNoTensorHasAreRefused() {
    assertEquals("shape[0]: is -2, expected at least 0", refused(() -> Tensor.of(floats(4), -2, -2)));
    assertEquals("shape[1]: is -1, expected at least 0", refused(() -> Tensor.ofAddress(8, DType.F32, 0, -1)));
    assertEquals("shape: [4294967296, 4294967296] has more elements than a long can count",
        refused(() -> Tensor.of(floats(4), 1L << 32, 1L << 32)));
    assertEquals(0, Tensor.of(floats(0), Long.MAX_VALUE, Long.MAX_VALUE, 0).count());
  }

  @Test
  void whatIsNullIsNamed() {
    try (Context context = new Context(1);
        TensorList list = TensorList.of(floats(4))) {
      CommunicatorOptions how = CommunicatorOptions.builder().build();
      SgdOptions options = SgdOptions.builder(0.5).build();
      assertEquals("where: is null", refused(() -> Communicator.connect(context, how, "shm", null)));
      assertEquals("engine: is null", refused(() -> Communicator.connect(context, how, null, Rendezvous.none())));
      assertEquals("store: is null", refused(() -> Rendezvous.store(null)));
      assertEquals("folder: is null", refused(() -> Rendezvous.folder((Path) null)));
      assertEquals("context: is null", refused(() -> Optimizer.create(null, options, MODEL)));
      assertEquals("parameters: is null", refused(() -> Optimizer.create(context, options, null)));
      assertEquals("comm: is null", refused(() -> new Reducer(context, null, null, MODEL)));
      assertEquals("optimizer: is null", refused(() -> Updater.builder(context, null).build()));
      assertEquals("tensors: is null", refused(() -> TensorList.of((Tensor[]) null)));
      try (Optimizer sgd = Optimizer.create(context, options, MODEL);
          Accumulator accumulator = new Accumulator(context, null, MODEL)) {
        assertEquals("params: is null", refused(() -> sgd.step(null, list)));
        assertEquals("comm: is null", refused(() -> sgd.shard((Communicator) null)));
        assertEquals("reducer: is null", refused(() -> sgd.shard((Reducer) null)));
        assertEquals("grads: is null", refused(() -> sgd.step(list, null)));
        assertEquals("updates: is null", refused(() -> sgd.update(list, list, null, new StepOptions())));
        assertEquals("options: is null", refused(() -> sgd.step(list, list, null)));
        assertEquals("grads: is null", refused(() -> accumulator.add(null)));
      }
    }
  }

  @Test
  void aBufferOfTheOtherByteOrderIsToldHowToView() {
    String text = refused(() -> TensorList.of(ByteBuffer.allocateDirect(16).asFloatBuffer()));
    assertTrue(text.contains("order(ByteOrder.nativeOrder())"), text);
  }

  @Test
  void aFailureShowsItsStatus() {
    String shown = new GradstepException(Status.PEER_LOST, "rank 1 is gone").toString();
    assertEquals("org.gradstep.GradstepException: GRADSTEP_ERR_PEER_LOST: rank 1 is gone", shown);
  }

  @Test
  void aCallThatComesBackIntoItsHandleIsToldSo() {
    AtomicReference<Optimizer> own = new AtomicReference<>();
    try (Context context = new Context(1);
        TensorList params = TensorList.of(floats(4));
        TensorList grads = TensorList.of(floats(4))) {
      SgdOptions options = SgdOptions.builder(0.5).build();
      try (Optimizer sgd = Optimizer.create(context, options, MODEL)) {
        own.set(sgd);
        sgd.setSchedule("learning_rate", Schedule.of(step -> {
          own.get().step(params, grads);
          return 1;
        }));
        String text = assertThrows(RuntimeException.class, () -> sgd.step(params, grads)).getMessage();
        assertTrue(text.contains("a call of this thread, which has called back, is using it"), text);
      }
    }
  }
}
