// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.examples;

import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.ParameterStore;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.loss.Loss;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import org.gradstep.AdamWOptions;
import org.gradstep.djl.DjlOptimizer;

/** The Trainer of DJL with an optimizer of gradstep: a network learns which points lie inside a ring. */
public final class DjlTrainer {
  private static final int EPOCHS = 15;
  private static final int POINTS = 4096;

  private DjlTrainer() {}

  static Block network() {
    return new SequentialBlock()
        .add(Linear.builder().setUnits(32).build())
        .add(Activation.reluBlock())
        .add(Linear.builder().setUnits(2).build());
  }

  static NDArray points(NDManager manager) {
    return manager.randomUniform(-1, 1, new Shape(POINTS, 2));
  }

  /** 1 where a point lies between the radii 0.4 and 0.8. */
  static NDArray labels(NDArray points) {
    NDArray radius = points.square().sum(new int[] {1}).sqrt();
    return radius.gt(0.4).logicalAnd(radius.lt(0.8)).toType(DataType.INT64, false);
  }

  static ArrayDataset dataset(NDArray points) {
    return new ArrayDataset.Builder().setData(points).optLabels(labels(points)).setSampling(128, false).build();
  }

  /** The part of new points that is classified correctly. */
  private static double accuracy(Block block, NDManager manager) {
    NDArray points = points(manager);
    NDArray found =
        block.forward(new ParameterStore(manager, false), new NDList(points), false).singletonOrThrow().argMax(1);
    return found.eq(labels(points)).toType(DataType.FLOAT32, false).mean().getFloat();
  }

  /** The part of new points that is classified correctly after training. */
  static double run() throws IOException, TranslateException {
    System.setProperty("ai.djl.pytorch.num_threads", "1"); // more would only wait for each other on so small a network
    Engine.getInstance().setRandomSeed(7);
    try (Model model = Model.newInstance("ring")) {
      NDManager manager = model.getNDManager();
      Block block = network();
      model.setBlock(block);
      // docs:begin trainer
      AdamWOptions adamW = AdamWOptions.builder(0.01).weightDecay(0.001).build();
      try (DjlOptimizer optimizer = DjlOptimizer.builder(adamW, block).build();
          Trainer trainer = model.newTrainer(
              new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss()).optOptimizer(optimizer))) {
        trainer.initialize(new Shape(1, 2));
        EasyTrain.fit(trainer, EPOCHS, dataset(points(manager)), null);
      }
      // docs:end trainer
      return accuracy(block, manager);
    }
  }

  /**
   * Prints how many points are classified correctly.
   *
   * @param arguments none
   * @throws IOException from DJL
   * @throws TranslateException from DJL
   */
  public static void main(String[] arguments) throws IOException, TranslateException {
    System.out.printf("correct after training %.3f%n", run());
  }
}
