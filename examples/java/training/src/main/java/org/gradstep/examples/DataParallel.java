// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.examples;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.gradstep.AccumulationMode;
import org.gradstep.Accumulator;
import org.gradstep.AccumulatorOptions;
import org.gradstep.AdamOptions;
import org.gradstep.Communicator;
import org.gradstep.Context;
import org.gradstep.DType;
import org.gradstep.Optimizer;
import org.gradstep.Parameter;
import org.gradstep.Reducer;
import org.gradstep.TensorList;
import org.gradstep.Updater;

/**
 * A line through noisy points, found by four ranks that are threads. Each has points of its own, accumulates the
 * gradients of two micro-batches, and averages them with the others'; all end with the same line, to the bit.
 */
public final class DataParallel {
  private static final int RANKS = 4;
  private static final int MICRO_BATCHES = 2;
  private static final int WINDOWS = 200;
  private static final int POINTS = 64;
  private static final List<Parameter> MODEL =
      List.of(Parameter.of("slope", DType.F32, 1), Parameter.of("intercept", DType.F32, 1));

  private DataParallel() {}

  private static FloatBuffer number() {
    return ByteBuffer.allocateDirect(4).order(ByteOrder.nativeOrder()).asFloatBuffer();
  }

  /** The gradient of the mean squared error of y = 3 x - 1, with noise, on points of this rank's own. */
  private static void differentiate(Random random, FloatBuffer[] line, FloatBuffer[] gradient) {
    float bySlope = 0;
    float byIntercept = 0;
    for (int i = 0; i < POINTS; i++) {
      float x = random.nextFloat() * 2 - 1;
      float y = 3 * x - 1 + 0.1f * (float) random.nextGaussian();
      float error = line[0].get(0) * x + line[1].get(0) - y;
      bySlope += 2 * error * x / POINTS;
      byIntercept += 2 * error / POINTS;
    }
    gradient[0].put(0, bySlope);
    gradient[1].put(0, byIntercept);
  }

  private static float[] train(int rank, Communicator comm) {
    FloatBuffer[] line = {number(), number()};
    FloatBuffer[] gradient = {number(), number()};
    Random random = new Random(rank);
    try (Context context = new Context(1)) {
      AccumulatorOptions window =
          AccumulatorOptions.builder().mode(AccumulationMode.MEAN).steps(MICRO_BATCHES).build();
      try (Optimizer optimizer = Optimizer.create(context, AdamOptions.builder(0.05).build(), MODEL);
          Accumulator accumulator = new Accumulator(context, window, MODEL);
          Reducer reducer = new Reducer(context, comm, MODEL);
          Updater updater = Updater.builder(context, optimizer).accumulator(accumulator).reducer(reducer).build();
          TensorList params = TensorList.of(line);
          TensorList grads = TensorList.of(gradient)) {
        for (int i = 0; i < WINDOWS * MICRO_BATCHES; i++) {
          differentiate(random, line, gradient);
          updater.push(params, grads); // every second one exchanges and steps
        }
      }
    }
    return new float[] {line[0].get(0), line[1].get(0)};
  }

  /** The line that each rank has found: its slope and its intercept. */
  static List<float[]> run() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try (Context context = new Context(1)) {
      List<Communicator> comms = Communicator.local(context, RANKS);
      List<Callable<float[]>> ranks = IntStream.range(0, RANKS)
          .<Callable<float[]>>mapToObj(rank -> () -> train(rank, comms.get(rank)))
          .toList();
      List<Future<float[]>> lines = threads.invokeAll(ranks);
      comms.forEach(Communicator::close);
      return List.of(lines.get(0).get(), lines.get(1).get(), lines.get(2).get(), lines.get(3).get());
    } finally {
      threads.shutdown();
    }
  }

  /**
   * Prints the line of each rank.
   *
   * @param arguments none
   */
  public static void main(String[] arguments) throws Exception {
    for (float[] line : run()) {
      System.out.println("y = " + line[0] + " x + " + line[1]);
    }
  }
}
