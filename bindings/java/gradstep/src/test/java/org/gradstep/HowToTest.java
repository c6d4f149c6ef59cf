// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the pages of docs/how_to quote. */
class HowToTest {
  private static final List<Parameter> MODEL = List.of(Parameter.of("weight", DType.F32, 4));

  private static Optimizer sgd(Context context, double learningRate) {
    return Optimizer.create(context, SgdOptions.builder(learningRate).build(), MODEL);
  }

  private static Optimizer adam(Context context, double learningRate) {
    return Optimizer.create(context, AdamOptions.builder(learningRate).build(), MODEL);
  }

  @Test
  void microBatchesAreOneStep() {
    FloatBuffer weight = floats(5, 5, 5, 5);
    try (Context context = new Context(1);
        Optimizer optimizer = sgd(context, 1);
        TensorList params = TensorList.of(weight);
        TensorList first = TensorList.of(floats(1, 2, 3, 4));
        TensorList second = TensorList.of(floats(3, 2, 1, 0))) {
      List<TensorList> gradientsOfBatches = List.of(first, second);
      // docs:begin accumulate
      AccumulatorOptions options = AccumulatorOptions.builder().mode(AccumulationMode.MEAN).steps(2).build();
      try (Accumulator accumulator = new Accumulator(context, options, MODEL)) {
        for (TensorList gradients : gradientsOfBatches) {
          if (accumulator.add(gradients)) {
            try (TensorList mean = accumulator.gradients()) {
              optimizer.step(params, mean);
            }
          }
        }
      }
      // docs:end accumulate
      assertArrayEquals(new float[] {3, 3, 3, 3}, values(weight));
    }
  }

  @Test
  void anOverflowSkipsTheStepAndHalvesTheScale() {
    FloatBuffer weight = floats(5, 5, 5, 5);
    FloatBuffer scaled = floats(1024, 2048, 0, 0); // gradients of the scaled loss
    double scale = 1024;
    try (Context context = new Context(1);
        Optimizer optimizer = sgd(context, 1);
        TensorList params = TensorList.of(weight);
        TensorList grads = TensorList.of(scaled)) {
      for (float last : new float[] {0, Float.POSITIVE_INFINITY}) {
        scaled.put(3, last);
        // docs:begin scaler
        StepOptions options = new StepOptions().skipNonfinite(true).gradScale(1 / scale).maxNorm(100);
        if (!optimizer.step(params, grads, options).applied()) {
          scale /= 2; // an overflow: nothing has changed
        }
        // docs:end scaler
        assertEquals(last == 0 ? 1024 : 512, scale);
        assertArrayEquals(new float[] {4, 3, 5, 5}, values(weight));
      }
    }
  }

  @Test
  void eachRankKeepsAShareOfTheState() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer weight = floats(5, 5, 5, 5);
        int mean = 1 + 2 * rank;
        try (Optimizer optimizer = adam(context, 1);
            TensorList params = TensorList.of(weight);
            TensorList grads = TensorList.of(floats(mean, mean, mean, mean))) {
          // docs:begin shard
          optimizer.shard(comm); // this rank's share of the state, from here on
          optimizer.step(params, grads); // collective: averages, steps, and gathers the parameters
          // docs:end shard
          assertEquals(4, weight.get(0), 1e-6);
          Tensor moment = Tensor.of(floats(4));
          optimizer.getState(0, "exp_avg", moment);
          assertEquals(0.2, moment.floats().get(3), 1e-6); // 0.1 of the mean gradient, 2
        }
      });
    }
  }

  @Test
  void stateOfTwoRanksIsResumedOnThree(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("adam.safetensors");
    float[] saved;
    float[] expected;
    try (Context context = new Context(1)) {
      FloatBuffer whole = floats(5, 5, 5, 5);
      try (Optimizer adam = adam(context, 0.5);
          TensorList params = TensorList.of(whole);
          TensorList grads = TensorList.of(floats(1, 2, 3, 4))) {
        adam.step(params, grads);
        saved = values(whole);
        adam.step(params, grads);
        expected = values(whole);
      }
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer weight = floats(5, 5, 5, 5);
        try (TensorList params = TensorList.of(weight);
            TensorList grads = TensorList.of(floats(1, 2, 3, 4))) { // reduced already: equal on all ranks
          // docs:begin save_shared
          // On two ranks:
          ShardingOptions reduced = ShardingOptions.builder().gradients(ShardedGradients.REDUCED).build();
          try (Optimizer optimizer = adam(context, 0.5)) {
            optimizer.shard(comm, reduced);
            optimizer.step(params, grads);
            optimizer.save(file); // collective; rank 0 writes the state of the whole
          }
          // docs:end save_shared
          assertArrayEquals(saved, values(weight));
        }
      });
      Ranks.run(context, 3, (rank, comm) -> {
        FloatBuffer weight = floats(saved);
        try (TensorList params = TensorList.of(weight);
            TensorList grads = TensorList.of(floats(1, 2, 3, 4))) {
          // docs:begin resume_elsewhere
          // Later, on three:
          ShardingOptions same = ShardingOptions.builder().gradients(ShardedGradients.REDUCED).build();
          try (Optimizer optimizer = adam(context, 0.5)) { // with the options of the first one
            optimizer.shard(comm, same);
            optimizer.load(file); // collective; each rank keeps its share
            optimizer.step(params, grads);
          }
          // docs:end resume_elsewhere
          assertArrayEquals(expected, values(weight));
        }
      });
    }
  }

  @Test
  void eachRankStepsItsRowsOfAWhole() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (firstRow, comm) -> {
        FloatBuffer rows = floats(8f, 8f);
        FloatBuffer gradient = firstRow == 0 ? floats(3f, 0f) : floats(0f, 4f);
        try (TensorList params = TensorList.of(Tensor.of(rows, 1, 2));
            TensorList grads = TensorList.of(Tensor.of(gradient, 1, 2))) {
          // docs:begin own_shards
          Parameter part = Parameter.of("matrix", DType.F32, 1, 2).partOf(new long[] {2, 2}, firstRow, 0);
          try (Optimizer optimizer = Optimizer.create(context, SgdOptions.builder(1).build(), List.of(part))) {
            optimizer.attachShards(comm);
            optimizer.step(params, grads, new StepOptions().maxNorm(2.5)); // clips by the norm of the whole
          }
          // docs:end own_shards
        }
        assertEquals(firstRow == 0 ? 14.5 : 14, rows.get(0) + rows.get(1), 1e-5); // half; the norm is 5
      });
    }
  }

  private static double lastLength(Optimizer optimizer) {
    FloatBuffer weight = floats(5, 5, 5, 5);
    float[] before = values(weight);
    try (TensorList params = TensorList.of(Tensor.of(weight, 2, 2));
        TensorList grads = TensorList.of(Tensor.of(floats(1, 2, 2, 4), 2, 2))) {
      for (int step = 0; step < 100; step++) {
        before = values(weight);
        optimizer.step(params, grads);
      }
    }
    double squares = 0;
    for (int i = 0; i < before.length; i++) {
      squares += Math.pow(before[i] - weight.get(i), 2);
    }
    return Math.sqrt(squares);
  }

  @Test
  void shampooKeepsTheLengthOfAnAdamWsStep() {
    List<Parameter> model = List.of(Parameter.of("matrix", DType.F32, 2, 2));
    try (Context context = new Context(1)) {
      // docs:begin shampoo
      AdamWOptions recipe = AdamWOptions.builder(0.02).beta2(0.99).weightDecay(1e-4).build();
      ShampooOptions shampoo = ShampooOptions.fromAdamW(recipe).preconditioningComputeSteps(10).build();
      ShampooOptions soap = ShampooOptions.fromAdamW(recipe).eigenvalueCorrected(true).build();
      Optimizer optimizer = Optimizer.create(context, shampoo, model);
      // docs:end shampoo
      try (optimizer;
          Optimizer corrected = Optimizer.create(context, soap, model);
          Optimizer adamw = Optimizer.create(context, recipe, model)) {
        assertEquals(lastLength(adamw), lastLength(optimizer), 1e-4);
        assertTrue(lastLength(corrected) > 0);
      }
    }
  }

  @Test
  void aSparseReducerSendsTheLargest() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer weight = floats(5, 5, 5, 5);
        try (Optimizer optimizer = sgd(context, 1);
            TensorList params = TensorList.of(weight);
            TensorList grads = TensorList.of(floats(1, 4, 2, 3))) {
          // docs:begin sparse
          ReducerOptions options = ReducerOptions.builder().mode(ReducerMode.SPARSE_TOPK).sparsity(0.25).build();
          try (Reducer reducer = new Reducer(context, comm, options, MODEL);
              Updater updater = Updater.builder(context, optimizer).reducer(reducer).build()) {
            updater.push(params, grads);
          }
          // docs:end sparse
          assertArrayEquals(new float[] {5, 1, 5, 5}, values(weight));
        }
      });
    }
  }

  @Test
  void adasumAddsWhatRanksDoNotAgreeOn() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer weight = floats(5, 5, 5, 5);
        try (Optimizer optimizer = sgd(context, 1);
            TensorList params = TensorList.of(weight);
            TensorList grads = TensorList.of(rank == 0 ? floats(1, 1, -1, 0) : floats(1, 0, 0, 0))) {
          // docs:begin adasum
          ReducerOptions options = ReducerOptions.builder().mode(ReducerMode.ADASUM_TREE).build();
          try (Reducer reducer = new Reducer(context, comm, options, MODEL);
              Updater updater = Updater.builder(context, optimizer).reducer(reducer).build()) {
            updater.push(params, grads);
          }
          // docs:end adasum
          // a (1 - ab / 2 aa) + b (1 - ab / 2 bb) with ab = 1, aa = 3, bb = 1
          assertEquals(5 - 5.0 / 6 - 0.5, weight.get(0), 1e-6);
          assertEquals(5 - 5.0 / 6, weight.get(1), 1e-6);
        }
      });
    }
  }

  @Test
  void survivorsOfALostRankGoOn(@TempDir Path store) throws Exception {
    try (Context context = new Context(1)) {
      List<Communicator> comms = Communicator.local(context, 3);
      Ranks.run(comms, (rank, comm) -> {
        FloatBuffer weight = floats(5, 5, 5, 5);
        try (Optimizer optimizer = sgd(context, 1);
            Accumulator accumulator = new Accumulator(context, null, MODEL);
            Reducer reducer = new Reducer(context, comm, MODEL);
            Updater updater = Updater.builder(context, optimizer).accumulator(accumulator).reducer(reducer).build();
            TensorList params = TensorList.of(weight);
            TensorList grads = TensorList.of(floats(1, 2, 3, 4))) {
          if (rank == 2) {
            comm.close(); // and the other handles at the end: the others lose a peer
            return;
          }
          // docs:begin recover
          try {
            updater.push(params, grads); // ends the window
          } catch (GradstepException lost) {
            if (lost.status() != Status.PEER_LOST && lost.status() != Status.TIMEOUT) {
              throw lost;
            }
            // Ranks 0 and 1 are left, which is your launcher's to know. Each communicator has another generation.
            CommunicatorOptions options = CommunicatorOptions.builder().rank(rank).worldSize(2).generation(1).build();
            try (Communicator left = Communicator.connect(context, options, "auto", Rendezvous.folder(store))) {
              updater.recover(left, params);
            }
            updater.flush(params); // finishes the window that failed, or finds it finished
          }
          // docs:end recover
          assertArrayEquals(new float[] {4, 3, 2, 1}, values(weight));
        }
      });
      comms.forEach(Communicator::close);
    }
  }

  private static float[] founder(Context context, int rank, Path store) {
    Rendezvous where = Rendezvous.folder(store);
    FloatBuffer weight = floats(5, 5, 5, 5);
    CommunicatorOptions two = CommunicatorOptions.builder().rank(rank).worldSize(2).build();
    try (Communicator comm = Communicator.connect(context, two, "auto", where);
        Optimizer optimizer = sgd(context, 1);
        Reducer reducer = new Reducer(context, comm, MODEL);
        Updater updater = Updater.builder(context, optimizer).reducer(reducer).build();
        TensorList params = TensorList.of(weight);
        TensorList grads = TensorList.of(floats(1, 2, 3, 4))) {
      boolean isGrown = false;
      long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      while (!isGrown) {
        assertTrue(System.nanoTime() < deadline, "no newcomer came");
        // docs:begin grow
        updater.push(params, grads);
        CommunicatorOptions larger = CommunicatorOptions.builder().rank(rank).worldSize(3).generation(1).build();
        if (Communicator.pending(comm, larger, "auto", where) == 1) { // newcomers that wait, the same on all ranks
          try (Communicator grown = Communicator.connect(context, larger, "auto", where)) {
            updater.recover(grown, params); // the updater keeps what it needs of it
          }
          isGrown = true;
        }
        // docs:end grow
      }
      updater.push(params, grads);
    }
    return values(weight);
  }

  private static float[] newcomer(Context context, int rank, Path store) {
    FloatBuffer weight = floats(0, 0, 0, 0);
    try (Optimizer optimizer = sgd(context, 1);
        TensorList params = TensorList.of(weight);
        TensorList grads = TensorList.of(floats(1, 2, 3, 4))) {
      // docs:begin join
      Rendezvous where = Rendezvous.folder(store);
      CommunicatorOptions larger = CommunicatorOptions.builder().rank(rank).worldSize(3).generation(1).build();
      try (Communicator alone = Communicator.local(context, 1).get(0); // a reducer over it: how this rank reduces
          Reducer reducer = new Reducer(context, alone, MODEL);
          Updater updater = Updater.builder(context, optimizer).reducer(reducer).build();
          Communicator comm = Communicator.connect(context, larger, "auto", where)) { // waits for the others
        updater.recover(comm, params); // parameters, state and step count are theirs from here on
        updater.push(params, grads);
      }
      // docs:end join
    }
    return values(weight);
  }

  @Test
  void aNewcomerJoinsBetweenTwoWindows(@TempDir Path store) throws Exception {
    float[][] weights = new float[3][];
    try (Context context = new Context(1)) {
      Ranks.run(context, 3, (rank, unused) ->
          weights[rank] = rank < 2 ? founder(context, rank, store) : newcomer(context, rank, store));
    }
    assertTrue(weights[0][0] < 4); // a step before the newcomer came, and one with it
    assertArrayEquals(weights[0], weights[1]);
    assertArrayEquals(weights[0], weights[2]);
  }

  @Test
  void roundsOfLocalStepsMeetAnOuterOptimizer() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        FloatBuffer weight = floats(8, 8, 8, 8);
        int gradient = 1 + 2 * rank;
        try (TensorList params = TensorList.of(weight);
            TensorList grads = TensorList.of(floats(gradient, gradient, gradient, gradient))) {
          // docs:begin local_steps
          UpdaterOptions options = UpdaterOptions.builder().sync(UpdaterSync.DELTAS).syncSteps(2).build();
          try (Optimizer inner = sgd(context, 1);
              Optimizer outer = sgd(context, 0.5);
              Reducer reducer = new Reducer(context, comm, MODEL);
              Updater updater =
                  Updater.builder(context, inner).reducer(reducer).outer(outer).options(options).build()) {
            updater.push(params, grads);
            updater.push(params, grads);
          }
          // docs:end local_steps
          assertArrayEquals(new float[] {6, 6, 6, 6}, values(weight)); // half of the mean change, which is 4
        }
      });
    }
  }

  @Test
  void aRunIsSavedAndResumed(@TempDir Path folder) {
    FloatBuffer weight = floats(5, 5, 5, 5);
    FloatBuffer copy = floats(5, 5, 5, 5);
    try (Context context = new Context(1);
        Optimizer optimizer = adam(context, 0.5);
        TensorList params = TensorList.of(weight);
        TensorList copies = TensorList.of(copy);
        TensorList grads = TensorList.of(floats(1, 2, 3, 4))) {
      optimizer.step(params, grads);
      copy.put(0, values(weight), 0, 4);
      // docs:begin save
      Path file = folder.resolve("adam.safetensors");
      optimizer.save(file); // the old file or the new one, whatever happens
      Optimizer resumed = adam(context, 0.5); // with the options of the first one
      resumed.load(file);
      // docs:end save
      optimizer.step(params, grads);
      resumed.step(copies, grads);
      assertArrayEquals(values(weight), values(copy));
      assertEquals(2, resumed.stepCount());
      resumed.close();
    }
  }
}
