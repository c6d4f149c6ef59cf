// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.EmulatedDevice.download;
import static org.gradstep.EmulatedDevice.upload;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Memory of a CUDA device, which is emulated, by its addresses. */
@EnabledIfEnvironmentVariable(named = "GRADSTEP_EMULATED_CUDA", matches = ".+")
class DeviceTest {
  private static final Device CUDA = Device.cuda(0);
  private static final List<Parameter> MODEL = List.of(Parameter.of("weight", DType.F32, 4).on(CUDA));

  private static Tensor tensor(long address) {
    return Tensor.ofAddress(address, DType.F32, CUDA, new long[] {4}, null);
  }

  @Test
  void aWindowIsSummedAndSteppedOnAStream() {
    long weight = upload(1, 2, 3, 4);
    long gradient = upload(1, -1, 2, 0);
    long stream = EmulatedDevice.makeStream();
    try (Context context = new Context(1);
        Optimizer sgd = Optimizer.create(context, SgdOptions.builder(0.5).build(), MODEL);
        Accumulator accumulator =
            new Accumulator(context, AccumulatorOptions.builder().mode(AccumulationMode.SUM).steps(2).build(), MODEL);
        Updater updater = Updater.builder(context, sgd).accumulator(accumulator).build();
        TensorList params = TensorList.of(tensor(weight));
        TensorList grads = TensorList.of(tensor(gradient))) {
      assertFalse(updater.push(params, grads, 1, stream));
      assertTrue(updater.push(params, grads, 1, stream));
      assertArrayEquals(new float[] {0, 3, 1, 4}, download(weight, 4));
      sgd.step(params, grads, new StepOptions().stream(stream));
      assertArrayEquals(new float[] {-0.5f, 3.5f, 0, 4}, download(weight, 4));
      assertTrue(sgd.poll());
      assertEquals(CUDA, params.get(0).device());
      assertThrows(UnsupportedOperationException.class, () -> params.get(0).floats());
      assertThrows(UnsupportedOperationException.class, () -> params.get(0).segment());
    }
    EmulatedDevice.free(weight);
    EmulatedDevice.free(gradient);
  }

  @Test
  void stateOnTheDeviceIsCopiedToTheHost() {
    long weight = upload(0, 0, 0, 0);
    long gradient = upload(1, 2, 3, 4);
    try (Context context = new Context(1);
        Optimizer adam = Optimizer.create(context, AdamOptions.builder(0.5).beta1(0.5).build(), MODEL);
        TensorList params = TensorList.of(tensor(weight));
        TensorList grads = TensorList.of(tensor(gradient))) {
      adam.step(params, grads);
      Tensor moment = Tensor.of(java.lang.foreign.Arena.ofAuto().allocate(16, 16), DType.F32, 4);
      adam.getState(0, "exp_avg", moment, 0);
      assertArrayEquals(new float[] {0.5f, 1, 1.5f, 2},
          moment.segment().toArray(java.lang.foreign.ValueLayout.JAVA_FLOAT));
    }
    EmulatedDevice.free(weight);
    EmulatedDevice.free(gradient);
  }

  @Test
  void aRankSumsByNccl() {
    long values = upload(1, 2, 3, 4);
    try (Context context = new Context(1);
        Communicator alone = Communicator.local(context, 1).get(0);
        Communicator nccl = alone.attachNccl(0, 0);
        Reducer reducer = new Reducer(context, nccl, MODEL);
        TensorList grads = TensorList.of(tensor(values))) {
      assertEquals("nccl", nccl.engine());
      nccl.allReduce(tensor(values));
      reducer.reduce(grads);
      assertArrayEquals(new float[] {1, 2, 3, 4}, download(values, 4));
    }
    EmulatedDevice.free(values);
  }
}
