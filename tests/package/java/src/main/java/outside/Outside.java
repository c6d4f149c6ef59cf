// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package outside;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.gradstep.AdamOptions;
import org.gradstep.Communicator;
import org.gradstep.CommunicatorOptions;
import org.gradstep.Context;
import org.gradstep.DType;
import org.gradstep.Gradstep;
import org.gradstep.Optimizer;
import org.gradstep.Parameter;
import org.gradstep.Rendezvous;
import org.gradstep.Tensor;
import org.gradstep.TensorList;

/**
 * A foreign program: it steps Adam, and sums over two ranks, by Gloo. Its argument is the
 * instruction set that the library must have chosen.
 */
public final class Outside {
  private Outside() {}

  public static void main(String[] arguments) throws IOException {
    long begin = System.nanoTime();
    String info = Gradstep.buildInfo();
    double loaded = 1e-6 * (System.nanoTime() - begin);
    require(info.replace(" ", "").contains("\"instruction_set\":\"" + arguments[0] + "\""),
        "the library did not choose " + arguments[0] + ": " + info);
    step();
    Path store = Files.createTempDirectory("outside-");
    var peer = CompletableFuture.runAsync(() -> sumOverGloo(1, store));
    sumOverGloo(0, store);
    peer.join();
    System.out.printf("gradstep %s, %s; loaded in %.0f ms%n", Gradstep.version(), arguments[0], loaded);
  }

  /** Adam's first step is as long as the learning rate, against the gradient's sign, but for epsilon. */
  private static void step() {
    var line = List.of(Parameter.of("line", DType.F32, 4));
    FloatBuffer memory = floats(0, 0, 0, 0);
    try (Context context = new Context(1);
        Optimizer adam = Optimizer.create(context, AdamOptions.builder(0.25).build(), line);
        TensorList params = TensorList.of(memory);
        TensorList grads = TensorList.of(floats(1, -1, 2, -2))) {
      adam.step(params, grads);
    }
    for (int i = 0; i < 4; i++) {
      float expected = i % 2 == 0 ? -0.25f : 0.25f;
      require(Math.abs(memory.get(i) - expected) < 1e-6f, "element " + i + " is " + memory.get(i));
    }
  }

  private static void sumOverGloo(int rank, Path store) {
    FloatBuffer value = floats(rank + 1);
    CommunicatorOptions options =
        CommunicatorOptions.builder().rank(rank).worldSize(2).timeout(Duration.ofSeconds(20)).build();
    try (Context context = new Context(1);
        Communicator comm = Communicator.connect(context, options, "gloo", Rendezvous.folder(store), "127.0.0.1")) {
      comm.allReduce(Tensor.of(value));
    }
    require(value.get(0) == 3, "the sum is " + value.get(0));
  }

  private static FloatBuffer floats(float... values) {
    return ByteBuffer.allocateDirect(4 * values.length).order(ByteOrder.nativeOrder()).asFloatBuffer().put(values).flip();
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }
}
