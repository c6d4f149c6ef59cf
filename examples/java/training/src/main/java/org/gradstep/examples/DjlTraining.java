// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.examples;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.training.GradientCollector;
import ai.djl.training.loss.Loss;
import java.util.ArrayList;
import java.util.List;
import org.gradstep.AccumulationMode;
import org.gradstep.Accumulator;
import org.gradstep.AccumulatorOptions;
import org.gradstep.AdamWOptions;
import org.gradstep.Context;
import org.gradstep.DType;
import org.gradstep.Optimizer;
import org.gradstep.Parameter;
import org.gradstep.Tensor;
import org.gradstep.TensorList;
import org.gradstep.Updater;

/**
 * DJL computes gradients with PyTorch, and gradstep accumulates them and steps DJL's own memory: a network of one
 * hidden layer learns which points lie inside a ring.
 */
public final class DjlTraining {
  private static final int MICRO_BATCHES = 2;
  private static final int MICRO_BATCH = 128;
  private static final int WINDOWS = 200;

  private final NDManager manager;
  private final List<NDArray> weights = new ArrayList<>();

  private DjlTraining(NDManager manager) {
    this.manager = manager;
    addWeight(manager.randomNormal(0, 1, new Shape(2, 32), DataType.FLOAT32));
    addWeight(manager.zeros(new Shape(32)));
    addWeight(manager.randomNormal(0, 0.2f, new Shape(32, 2), DataType.FLOAT32));
    addWeight(manager.zeros(new Shape(2)));
  }

  private void addWeight(NDArray weight) {
    weight.setRequiresGradient(true);
    weights.add(weight);
  }

  private NDArray points(NDManager scope, int n) {
    return scope.randomUniform(-1, 1, new Shape(n, 2));
  }

  /** 1 where a point lies between the radii 0.4 and 0.8. */
  private NDArray labels(NDArray points) {
    NDArray radius = points.square().sum(new int[] {1}).sqrt();
    return radius.gt(0.4).logicalAnd(radius.lt(0.8)).toType(DataType.INT64, false);
  }

  private NDArray forward(NDArray points) {
    NDArray hidden = Activation.relu(points.dot(weights.get(0)).add(weights.get(1)));
    return hidden.dot(weights.get(2)).add(weights.get(3));
  }

  /** A view of an array's own memory. The array must stay for as long as the view is used. */
  private static Tensor view(NDArray array) {
    return Tensor.of(array.toByteBuffer(true), DType.F32, array.getShape().getShape()); // true: direct, no copy
  }

  private void differentiate(NDManager scope) {
    try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
      collector.zeroGradients();
      NDArray points = points(scope, MICRO_BATCH);
      NDArray loss = Loss.softmaxCrossEntropyLoss()
          .evaluate(new NDList(labels(points)), new NDList(forward(points)));
      collector.backward(loss);
    }
  }

  private void train() {
    List<Parameter> model = weights.stream()
        .map(weight -> Parameter.of(null, DType.F32, weight.getShape().getShape()))
        .toList();
    try (Context context = new Context()) {
      AdamWOptions rule = AdamWOptions.builder(0.05).weightDecay(0.001).build();
      AccumulatorOptions window =
          AccumulatorOptions.builder().mode(AccumulationMode.MEAN).steps(MICRO_BATCHES).build();
      try (Optimizer optimizer = Optimizer.create(context, rule, model);
          Accumulator accumulator = new Accumulator(context, window, model);
          Updater updater = Updater.builder(context, optimizer).accumulator(accumulator).build();
          TensorList params = TensorList.of(weights.stream().map(DjlTraining::view).toArray(Tensor[]::new))) {
        for (int i = 0; i < WINDOWS * MICRO_BATCHES; i++) {
          try (NDManager scope = manager.newSubManager()) {
            differentiate(scope);
            Tensor[] gradients =
                weights.stream().map(weight -> view(weight.getGradient())).toArray(Tensor[]::new);
            try (TensorList grads = TensorList.of(gradients)) {
              updater.push(params, grads); // every second one steps the weights where PyTorch has them
            }
          }
        }
      }
    }
  }

  private double accuracy() {
    try (NDManager scope = manager.newSubManager()) {
      NDArray points = points(scope, 4096);
      NDArray found = forward(points).argMax(1);
      return found.eq(labels(points)).toType(DataType.FLOAT32, false).mean().getFloat();
    }
  }

  /** The part of new points that is classified correctly before and after training. */
  static double[] run() {
    System.setProperty("ai.djl.pytorch.num_threads", "1"); // more would only wait for each other on so small a network
    Engine.getInstance().setRandomSeed(7);
    try (NDManager manager = NDManager.newBaseManager()) {
      DjlTraining training = new DjlTraining(manager);
      double before = training.accuracy();
      training.train();
      return new double[] {before, training.accuracy()};
    }
  }

  /**
   * Prints how many points are classified correctly.
   *
   * @param arguments none
   */
  public static void main(String[] arguments) {
    double[] accuracy = run();
    System.out.printf("correct before training %.3f, after it %.3f%n", accuracy[0], accuracy[1]);
  }
}
