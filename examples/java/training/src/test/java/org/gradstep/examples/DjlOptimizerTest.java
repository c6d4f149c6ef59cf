// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.gradstep.AccumulatorOptions;
import org.gradstep.AdamOptions;
import org.gradstep.BiasCorrection;
import org.gradstep.Communicator;
import org.gradstep.Context;
import org.gradstep.SgdOptions;
import org.gradstep.djl.DjlOptimizer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** DJL's own optimizers are the reference. */
class DjlOptimizerTest {
  private static final int STEPS = 5;

  private static float[] values(int n, int seed) {
    float[] values = new float[n];
    for (int i = 0; i < n; i++) {
      values[i] = (float) Math.sin(1 + seed + 3.7 * i);
    }
    return values;
  }

  /** The weights after steps on batches of numbers that follow from the seed. */
  private static List<float[]> train(Function<Block, Optimizer> make, int seed, int steps) {
    try (Model model = Model.newInstance("test")) {
      Block block = DjlTrainer.network();
      model.setBlock(block);
      Optimizer optimizer = make.apply(block);
      try (Trainer trainer = model.newTrainer(
          new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss()).optOptimizer(optimizer))) {
        trainer.initialize(new Shape(1, 2));
        block.getParameters().forEach(named -> {
          NDArray array = named.getValue().getArray();
          array.set(values((int) array.getShape().size(), 5));
        });
        for (int step = 0; step < steps; step++) {
          step(trainer, seed + step);
        }
        List<float[]> weights = new ArrayList<>();
        block.getParameters().forEach(named -> weights.add(named.getValue().getArray().toFloatArray()));
        return weights;
      }
    }
  }

  private static void step(Trainer trainer, int seed) {
    differentiate(trainer, seed);
    trainer.step();
  }

  /** One thread at a time: DJL has one collector in a process. */
  private static synchronized void differentiate(Trainer trainer, int seed) {
    try (NDManager scope = trainer.getManager().newSubManager();
        GradientCollector collector = trainer.newGradientCollector()) {
      NDArray points = scope.create(values(64, seed), new Shape(32, 2));
      NDList found = trainer.forward(new NDList(points));
      collector.backward(trainer.getLoss().evaluate(new NDList(DjlTrainer.labels(points)), found));
    }
  }

  private static void assertNear(List<float[]> expected, List<float[]> found) {
    for (int i = 0; i < expected.size(); i++) {
      assertArrayEquals(expected.get(i), found.get(i), 2e-6f, "parameter " + i); // weights of about 1, in f32
    }
  }

  @Test
  void itStepsAsTheOptimizersOfDjl() {
    Tracker rate = Tracker.fixed(0.05f);
    List<float[]> start = train(block -> Optimizer.sgd().setLearningRateTracker(rate).build(), 1, 0);
    List<float[]> sgd =
        train(block -> Optimizer.sgd().setLearningRateTracker(rate).optMomentum(0.9f).build(), 1, STEPS);
    assertNear(sgd, train(
        block -> DjlOptimizer.builder(SgdOptions.builder(0.05f).momentum(0.9f).build(), block).build(), 1, STEPS));
    AdamOptions adam = AdamOptions.builder(0.05f).biasCorrection(BiasCorrection.TF).build();
    assertNear(train(block -> Optimizer.adam().optLearningRateTracker(rate).build(), 1, STEPS),
        train(block -> DjlOptimizer.builder(adam, block).build(), 1, STEPS));
    assertFalse(Arrays.equals(start.get(0), sgd.get(0))); // it has moved
  }

  @Test
  void ranksThatAccumulateEndWithOneModel() {
    List<List<float[]>> found = new ArrayList<>(List.of(List.of(), List.of()));
    Engine.getInstance();
    try (Context context = new Context(1)) {
      List<Communicator> comms = Communicator.local(context, 2);
      CompletableFuture<?>[] ranks = new CompletableFuture<?>[2];
      for (int each = 0; each < 2; each++) {
        int rank = each;
        ranks[rank] = CompletableFuture.runAsync(() -> found.set(rank, train(
            block -> DjlOptimizer.builder(SgdOptions.builder(0.1).build(), block)
                .context(context)
                .accumulator(AccumulatorOptions.builder().steps(2).build())
                .reducer(comms.get(rank))
                .build(),
            10 * rank, 4)), task -> new Thread(task).start());
      }
      CompletableFuture.allOf(ranks).join();
      comms.forEach(Communicator::close);
    }
    for (int i = 0; i < found.get(0).size(); i++) {
      assertArrayEquals(found.get(0).get(i), found.get(1).get(i)); // the same bits, of other data
    }
  }

  @Test
  void frozenParametersStayAndStateIsSaved(@TempDir Path folder) {
    try (Model model = Model.newInstance("test")) {
      Block block = DjlTrainer.network();
      model.setBlock(block);
      try (DjlOptimizer optimizer =
              DjlOptimizer.builder(AdamOptions.builder(0.1).weightDecay(0.5).build(), block).build();
          Trainer trainer = model.newTrainer(
              new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss()).optOptimizer(optimizer))) {
        assertTrue(assertThrows(IllegalStateException.class, optimizer::updater).getMessage()
            .contains("is not initialized"));
        trainer.initialize(new Shape(1, 2));
        step(trainer, 1);
        var first = block.getParameters().valueAt(0);
        float[] before = first.getArray().toFloatArray();
        float[] other = block.getParameters().valueAt(1).getArray().toFloatArray();
        first.freeze(true);
        step(trainer, 2);
        assertArrayEquals(before, first.getArray().toFloatArray()); // and no decay
        assertTrue(other[0] != block.getParameters().valueAt(1).getArray().toFloatArray()[0]);
        Path file = folder.resolve("state");
        optimizer.updater().save(file);
        optimizer.updater().load(file);
        assertEquals(2, optimizer.optimizer().stepCount());
      }
    }
  }

  @Test
  void aParameterThatComesTwiceIsNamed() {
    try (Model model = Model.newInstance("test")) {
      Block block = DjlTrainer.network();
      model.setBlock(block);
      try (DjlOptimizer optimizer = DjlOptimizer.builder(SgdOptions.builder(0.1).build(), block).build();
          Trainer trainer = model.newTrainer(
              new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss()).optOptimizer(optimizer))) {
        trainer.initialize(new Shape(1, 2));
        var weight = block.getParameters().valueAt(0);
        NDArray gradient = weight.getArray().zerosLike();
        optimizer.update(weight.getId(), weight.getArray(), gradient);
        String text = assertThrows(IllegalStateException.class,
            () -> optimizer.update(weight.getId(), weight.getArray(), gradient)).getMessage();
        assertTrue(text.startsWith("parameter 'weight': came again before 'bias'"), text);
        assertThrows(IllegalStateException.class, () -> optimizer.update("other", weight.getArray(), gradient));
      }
    }
  }
}
