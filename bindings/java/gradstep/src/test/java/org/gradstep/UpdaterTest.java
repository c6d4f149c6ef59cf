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

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.Test;

class UpdaterTest {
  private static final List<Parameter> MODEL = List.of(Parameter.of("line", DType.F32, 2));

  private static Optimizer sgd(Context context) {
    return Optimizer.create(context, SgdOptions.builder(0.5).build(), MODEL);
  }

  private static Accumulator accumulator(Context context, int steps) {
    return new Accumulator(context, AccumulatorOptions.builder().steps(steps).build(), MODEL);
  }

  @Test
  void aWindowIsSummedReducedAndStepped() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer memory = floats(1, 1);
        // docs:begin updater
        try (Optimizer optimizer = sgd(context);
            Accumulator accumulator = accumulator(context, 2);
            Reducer reducer = new Reducer(context, comm, MODEL);
            Updater updater = Updater.builder(context, optimizer).accumulator(accumulator).reducer(reducer).build();
            TensorList params = TensorList.of(memory);
            TensorList grads = TensorList.of(floats(rank, 4))) {
          assertFalse(updater.push(params, grads)); // the window has two micro-batches
          assertTrue(updater.push(params, grads)); // this one ends it: the ranks' gradients are averaged, and stepped
          // docs:end updater
          assertArrayEquals(new float[] {1 - 0.25f, 1 - 2}, values(memory));
          assertFalse(updater.push(params, grads, 1));
          assertTrue(updater.flush(params));
          assertTrue(updater.poll());
          UpdaterStatistics statistics = updater.statistics();
          assertEquals(3, statistics.pushes());
          assertEquals(2, statistics.windows());
          assertEquals(2, statistics.steps());
          assertEquals(0, statistics.droppedWindows());
        }
      });
    }
  }

  @Test
  void anOuterOptimizerStepsByWhatARoundHasChanged() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer memory = floats(8, 8);
        try (Optimizer inner = sgd(context);
            Optimizer outer = sgd(context);
            Reducer reducer = new Reducer(context, comm, MODEL)) {
          UpdaterOptions options = UpdaterOptions.builder().sync(UpdaterSync.DELTAS).syncSteps(2).build();
          Updater.Builder parts = Updater.builder(context, inner).reducer(reducer).options(options);
          try (Updater updater = parts.outer(outer).build();
              TensorList params = TensorList.of(memory);
              TensorList grads = TensorList.of(floats(2, 4 * rank))) {
            assertTrue(updater.push(params, grads));
            assertArrayEquals(new float[] {7, 8 - 2 * rank}, values(memory)); // its own step
            assertTrue(updater.push(params, grads));
            assertArrayEquals(new float[] {7, 7}, values(memory)); // half of the mean change, which is 2 of both
            assertEquals(1, outer.stepCount());
          }
          assertThrows(IllegalArgumentException.class, () -> parts.outer(inner).build(), "the optimizer itself");
        }
      });
    }
  }

  @Test
  void localStepsMeetEverySecondTime() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer memory = floats(0, 0);
        try (Optimizer optimizer = sgd(context);
            Reducer reducer = new Reducer(context, comm, MODEL)) {
          UpdaterOptions options = UpdaterOptions.builder()
              .sync(UpdaterSync.PARAMETERS)
              .syncSteps(2)
              .build();
          try (Updater updater = Updater.builder(context, optimizer).reducer(reducer).options(options).build();
              TensorList params = TensorList.of(memory);
              TensorList grads = TensorList.of(floats(2 * rank, 2))) {
            updater.push(params, grads);
            assertArrayEquals(new float[] {-rank, -1}, values(memory)); // its own step
            updater.push(params, grads);
            assertArrayEquals(new float[] {-1, -2}, values(memory)); // the mean of 0 and -2
          }
        }
      });
    }
  }

  @Test
  void survivorsContinueAfterAFailure() throws Exception {
    try (Context context = new Context(1)) {
      List<Communicator> later = Communicator.local(context, 2);
      CyclicBarrier together = new CyclicBarrier(2);
      List<Communicator> comms = Communicator.local(context, 2);
      Ranks.run(comms, (rank, comm) -> {
        FloatBuffer memory = floats(0, 0);
        try (Optimizer optimizer = sgd(context);
            Accumulator accumulator = accumulator(context, 1);
            Reducer reducer = new Reducer(context, comm, MODEL);
            Updater updater = Updater.builder(context, optimizer).accumulator(accumulator).reducer(reducer).build();
            TensorList params = TensorList.of(memory);
            TensorList grads = TensorList.of(floats(2 * rank, 2))) {
          together.await();
          comm.abort();
          together.await();
          assertThrows(GradstepException.class, () -> updater.push(params, grads));
          assertArrayEquals(new float[] {0, 0}, values(memory));
          assertThrows(IllegalStateException.class, () -> updater.push(params, grads));
          updater.recover(later.get(rank), params);
          assertTrue(updater.flush(params)); // the micro-batch was kept
          assertArrayEquals(new float[] {-0.5f, -1}, values(memory));
        }
      });
      comms.forEach(Communicator::close);
      later.forEach(Communicator::close);
    }
  }

  @Test
  void aReducerBringsEachRankItsShare() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer memory = floats(0, 0);
        try (Optimizer optimizer = sgd(context); Reducer reducer = new Reducer(context, comm, MODEL)) {
          optimizer.shard(reducer);
          try (Updater updater = Updater.builder(context, optimizer).reducer(reducer).build();
              TensorList params = TensorList.of(memory);
              TensorList grads = TensorList.of(floats(2 * rank, 2))) {
            assertTrue(updater.push(params, grads));
            assertArrayEquals(new float[] {-0.5f, -1}, values(memory));
            assertThrows(UnsupportedOperationException.class, reducer::gradients);
          }
        }
      });
    }
  }

  @Test
  void ranksStepTheirPartsByTheNormOfTheWhole() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        List<Parameter> row = List.of(
            Parameter.of("weight", DType.F32, 1, 2).partOf(new long[] {2, 2}, rank, 0));
        FloatBuffer memory = floats(8f, 8f);
        FloatBuffer gradient = rank == 0 ? floats(3f, 0f) : floats(0f, 4f);
        try (Optimizer sgd = Optimizer.create(context, SgdOptions.builder(1).build(), row);
            TensorList params = TensorList.of(Tensor.of(memory, 1, 2));
            TensorList grads = TensorList.of(Tensor.of(gradient, 1, 2))) {
          assertThrows(IllegalStateException.class, () -> sgd.step(params, grads));
          sgd.attachShards(comm);
          assertEquals(5, sgd.step(params, grads, new StepOptions().maxNorm(2.5)).gradNorm());
          sgd.attachShards(null);
          assertThrows(IllegalStateException.class, () -> sgd.step(params, grads));
        }
        assertEquals(rank == 0 ? 6.5f : 6f, memory.get(rank), 1e-5f);
        assertThrows(IllegalArgumentException.class,
            () -> Parameter.of("weight", DType.F32, 1, 2).partOf(new long[] {2}, 0, 0));
      });
    }
  }

  @Test
  void aShardedOptimizerStepsAsAWholeOne() throws Exception {
    int elements = 3 * 16384; // shares are whole chunks of 16384
    List<Parameter> model = List.of(Parameter.of("large", DType.F32, elements));
    try (Context context = new Context(1)) {
      List<float[]> found = new ArrayList<>(List.of(new float[0], new float[0]));
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer memory = floats(elements);
        ShardingOptions sharding = ShardingOptions.builder().build();
        AdamOptions options = AdamOptions.builder(0.25).build();
        try (Optimizer adam = Optimizer.create(context, options, model);
            TensorList params = TensorList.of(memory);
            TensorList grads = TensorList.of(floats(elements))) {
          FloatBuffer gradient = grads.get(0).floats();
          for (int i = 0; i < elements; i++) {
            gradient.put(i, rank == 0 ? 3 : -1);
          }
          try (TensorList state = adam.state(0, "exp_avg")) {
            assertEquals("optimizer: is in use by another call or a view",
                assertThrows(IllegalStateException.class, () -> adam.shard(comm, sharding)).getMessage());
          }
          adam.shard(comm, sharding);
          assertTrue(adam.memory().stateBytes() < 2 * 4 * elements);
          assertThrows(UnsupportedOperationException.class, () -> adam.state(0, "exp_avg"));
          adam.step(params, grads);
          Tensor moment = Tensor.of(floats(elements));
          adam.getState(0, "exp_avg", moment);
          assertEquals(0.1f, moment.floats().get(0), 1e-7f); // (1 - beta1) * the mean gradient, 1
          adam.unshard();
          assertTrue(adam.memory().stateBytes() >= 2 * 4 * elements);
        }
        found.set(rank, values(memory));
      });
      assertArrayEquals(found.get(0), found.get(1));
      assertEquals(-0.25f, found.get(0)[elements - 1], 1e-6f);
    }
  }

  @Test
  void handlesOfAnUpdaterMayBeClosed() {
    FloatBuffer memory = floats(0, 0);
    try (Context context = new Context(1); TensorList params = TensorList.of(memory)) {
      Optimizer optimizer = sgd(context);
      optimizer.setTensor(-1, "learning_rate", Memory.doubles(0.125));
      Updater updater = Updater.builder(context, optimizer).build();
      optimizer.close();
      optimizer = null;
      System.gc(); // the number that the learning rate is read from stays
      try (TensorList grads = TensorList.of(floats(8, 8))) {
        assertTrue(updater.push(params, grads));
      }
      assertArrayEquals(new float[] {-1, -1}, values(memory));
      updater.close();
      assertEquals("updater: is closed",
          assertThrows(IllegalStateException.class, () -> updater.flush(params)).getMessage());
    }
  }
}
