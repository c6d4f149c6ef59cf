// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.gradstep.AdamOptions;
import org.gradstep.Context;
import org.gradstep.DType;
import org.gradstep.Gradstep;
import org.gradstep.Optimizer;
import org.gradstep.Parameter;
import org.gradstep.SgdOptions;
import org.gradstep.TensorList;

/**
 * call_cost.c from Java: nanoseconds of one optimizer step on one tensor of 16 elements with lists that are kept, beside a
 * call across the border that does next to nothing, timed in turns; and the bytes that a step allocates on Java's heap.
 *
 * <p>java -cp build/release/java/target/classes benchmarks/java/CallCost.java
 */
public final class CallCost {
  private static final int ELEMENTS = 16;
  private static final int WARM_UP = 20;
  private static final int ROUNDS = 101;
  private static final int CALLS = 20_000;
  private static final double LEARNING_RATE = 0x1p-20; // so that the sums of steps are exact
  private static final List<Parameter> MODEL = List.of(Parameter.of("x", DType.F32, ELEMENTS));

  private interface Call {
    void run();
  }

  private CallCost() {}

  private static FloatBuffer floats(float value) {
    FloatBuffer buffer = ByteBuffer.allocateDirect(4 * ELEMENTS).order(ByteOrder.nativeOrder()).asFloatBuffer();
    for (int i = 0; i < ELEMENTS; i++) {
      buffer.put(i, value);
    }
    return buffer;
  }

  private static double nanosecondsOf(Call call) {
    long begin = System.nanoTime();
    for (int i = 0; i < CALLS; i++) {
      call.run();
    }
    return (double) (System.nanoTime() - begin) / CALLS;
  }

  private static double bytesOf(Call call) {
    var threads = (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < CALLS; i++) {
      call.run();
    }
    return (double) (threads.getCurrentThreadAllocatedBytes() - before) / CALLS;
  }

  private static Optimizer sgd(Context context) {
    return Optimizer.create(context, SgdOptions.builder(LEARNING_RATE).build(), MODEL);
  }

  private static Optimizer adam(Context context) {
    return Optimizer.create(context, AdamOptions.builder(LEARNING_RATE).build(), MODEL);
  }

  /** Every step took one learning rate off: with SGD exactly, with Adam up to f32 rounding, as in call_cost.c. */
  private static void check(float sgd, float adam, long steps) {
    double expected = -steps * LEARNING_RATE;
    if (sgd != expected || Math.abs(adam - expected) > 1e-3 * -expected) {
      throw new IllegalStateException("the steps computed " + sgd + " and " + adam);
    }
  }

  /**
   * Prints a JSON object.
   *
   * @param arguments none
   */
  public static void main(String[] arguments) {
    String[] names = {"empty_call", "sgd_step", "adam_step"};
    double[][] rounds = new double[names.length][ROUNDS];
    double[] bytes = new double[names.length];
    FloatBuffer sgdValues = floats(0);
    FloatBuffer adamValues = floats(0);
    try (Context context = new Context(1);
        Optimizer sgd = sgd(context);
        Optimizer adam = adam(context);
        TensorList sgdParams = TensorList.of(sgdValues);
        TensorList adamParams = TensorList.of(adamValues);
        TensorList grads = TensorList.of(floats(1))) {
      Call[] calls = {Gradstep::abiVersion, () -> sgd.step(sgdParams, grads), () -> adam.step(adamParams, grads)};
      for (int round = -WARM_UP; round < ROUNDS; round++) {
        for (int kind = 0; kind < calls.length; kind++) {
          double nanoseconds = nanosecondsOf(calls[kind]);
          if (round >= 0) {
            rounds[kind][round] = nanoseconds;
          }
        }
      }
      for (int kind = 0; kind < calls.length; kind++) {
        bytes[kind] = bytesOf(calls[kind]);
      }
    }
    check(sgdValues.get(0), adamValues.get(0), (long) (WARM_UP + ROUNDS + 1) * CALLS);
    StringBuilder json = new StringBuilder("{");
    for (int kind = 0; kind < names.length; kind++) {
      Arrays.sort(rounds[kind]);
      json.append(String.format(Locale.ROOT, "%s\"%s\": {\"best_ns\": %.2f, \"median_ns\": %.2f, \"bytes\": %.2f}",
          kind == 0 ? "" : ", ", names[kind], rounds[kind][0], rounds[kind][ROUNDS / 2], bytes[kind]));
    }
    System.out.println(json.append("}"));
  }
}
