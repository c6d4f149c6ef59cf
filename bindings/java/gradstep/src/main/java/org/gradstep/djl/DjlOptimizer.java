// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.gradstep.Accumulator;
import org.gradstep.AccumulatorOptions;
import org.gradstep.Communicator;
import org.gradstep.Context;
import org.gradstep.DType;
import org.gradstep.Optimizer;
import org.gradstep.OptimizerOptions;
import org.gradstep.Parameter;
import org.gradstep.Reducer;
import org.gradstep.ReducerOptions;
import org.gradstep.Tensor;
import org.gradstep.TensorList;
import org.gradstep.Updater;
import org.gradstep.UpdaterOptions;

/**
 * An optimizer for the {@link ai.djl.training.Trainer} of DJL. It steps the arrays of the model in place, by any rule of
 * gradstep. {@link ai.djl.training.Trainer#step} brings the parameters one by one: the last one ends the micro-batch.
 * Where that ends a window, all are reduced over the ranks and stepped together. Arrays are on the CPU.
 */
public final class DjlOptimizer extends ai.djl.training.optimizer.Optimizer implements AutoCloseable {
  /** What an optimizer is made of. */
  public static final class Builder {
    private final OptimizerOptions rule;
    private final Block block;
    private Context context;
    private AccumulatorOptions accumulation;
    private Communicator comm;
    private ReducerOptions reduction;
    private UpdaterOptions updates;

    private Builder(OptimizerOptions rule, Block block) {
      this.rule = present(rule, "rule");
      this.block = present(block, "block");
    }

    /**
     * The threads that step.
     *
     * @param context stays the caller's to close; without it the optimizer has its own
     * @return this
     */
    public Builder context(Context context) {
      this.context = present(context, "context");
      return this;
    }

    /**
     * Adds up several micro-batches, each a call of the trainer's step, before the weights are stepped.
     *
     * @param options how many, and whether they are averaged
     * @return this
     */
    public Builder accumulator(AccumulatorOptions options) {
      this.accumulation = present(options, "options");
      return this;
    }

    /**
     * As {@link #reducer(Communicator, ReducerOptions)}, with the default options.
     *
     * @param comm this rank's, which stays the caller's to close
     * @return this
     */
    public Builder reducer(Communicator comm) {
      return reducer(comm, null);
    }

    /**
     * Makes the gradients of all ranks one. Every rank trains the same model on data of its own.
     *
     * @param comm this rank's, which stays the caller's to close
     * @param options null = defaults
     * @return this
     */
    public Builder reducer(Communicator comm, ReducerOptions options) {
      this.comm = present(comm, "comm");
      this.reduction = options;
      return this;
    }

    /**
     * Clips and scales gradients, or keeps the ranks equal in another way.
     *
     * @param options of the updater
     * @return this
     */
    public Builder updater(UpdaterOptions options) {
      this.updates = present(options, "options");
      return this;
    }

    /**
     * The optimizer. It looks at the block at the first step.
     *
     * @return the caller's to close, when the trainer is closed
     */
    public DjlOptimizer build() {
      return new DjlOptimizer(this);
    }
  }

  /** What the constructor of DJL's class reads: nothing of it is used. */
  private static final class Unused extends OptimizerBuilder<Unused> {
    @Override
    protected Unused self() {
      return this;
    }
  }

  private static final byte[] ZEROS = new byte[1 << 16];

  private record Entry(int index, ai.djl.nn.Parameter parameter, ByteBuffer memory, Tensor gradient) {}

  private final Builder parts;
  private final boolean ownsContext;
  private final Context context;
  private final Map<String, Entry> entries = new LinkedHashMap<>();
  private final List<Runnable> closing = new ArrayList<>();
  private Optimizer optimizer;
  private Updater updater;
  private NDArray[] weights;
  private TensorList params;
  private TensorList grads;
  /** Whose gradients belong to the micro-batch: parameters may be frozen. */
  private boolean[] expected;
  private boolean[] arrived;
  private int missing;

  private DjlOptimizer(Builder parts) {
    super(new Unused());
    this.parts = parts;
    this.ownsContext = parts.context == null;
    this.context = ownsContext ? new Context() : parts.context;
  }

  private static <T> T present(T value, String argument) {
    if (value == null) {
      throw new IllegalArgumentException(argument + ": is null");
    }
    return value;
  }

  /**
   * Begins with the rule and the model.
   *
   * @param rule such as {@link org.gradstep.AdamOptions}
   * @param block of the model that is trained
   * @return the builder
   */
  public static Builder builder(OptimizerOptions rule, Block block) {
    return new Builder(rule, block);
  }

  /**
   * The optimizer of gradstep, for schedules and state.
   *
   * @return stays this one's to close
   * @throws IllegalStateException if the block is not initialized
   */
  public Optimizer optimizer() {
    create();
    return optimizer;
  }

  /**
   * The updater, which saves and loads everything.
   *
   * @return stays this one's to close
   * @throws IllegalStateException if the block is not initialized
   */
  public Updater updater() {
    create();
    return updater;
  }

  @Override
  public void update(String parameterId, NDArray weight, NDArray gradient) {
    create();
    Entry entry = entries.get(parameterId);
    if (entry == null) {
      throw new IllegalStateException("parameter " + parameterId + " (" + weight.getShape()
          + "): had no gradient when the optimizer looked at the block, at the first step");
    }
    if (missing == 0) {
      begin();
    }
    String name = entry.parameter().getName();
    if (!expected[entry.index()] || arrived[entry.index()]) {
      missing = 0;
      throw new IllegalStateException("parameter '" + name + "': came again before " + nameOfMissing()
          + "; expected each once in a step, on one device, of a trainer that is initialized");
    }
    if (weights[entry.index()] != weight) {
      params.set(entry.index(), tensor(weight, name));
      weights[entry.index()] = weight;
    }
    entry.memory().clear().put(memoryOf(gradient, name));
    try (NDArray own = weight.getGradient()) {
      clear(memoryOf(own, name)); // PyTorch adds the next one to it
    }
    arrived[entry.index()] = true;
    if (--missing == 0) {
      updater.push(params, grads);
    }
  }

  private static void clear(ByteBuffer memory) {
    while (memory.hasRemaining()) {
      memory.put(ZEROS, 0, Math.min(ZEROS.length, memory.remaining()));
    }
  }

  /** Begins a micro-batch of the parameters that are not frozen. */
  private void begin() {
    boolean[] trained = new boolean[entries.size()];
    entries.values().forEach(each -> trained[each.index()] = each.parameter().requiresGradient());
    if (!Arrays.equals(trained, expected)) {
      expected = trained;
      grads.close();
      grads = gradients();
    }
    arrived = new boolean[entries.size()];
    for (boolean each : trained) {
      missing += each ? 1 : 0;
    }
  }

  /** None for a frozen parameter. */
  private TensorList gradients() {
    return TensorList.of(entries.values().stream()
        .map(each -> expected[each.index()] ? each.gradient() : null).toArray(Tensor[]::new));
  }

  private String nameOfMissing() {
    return entries.values().stream().filter(each -> expected[each.index()] && !arrived[each.index()]).findFirst()
        .map(each -> "'" + each.parameter().getName() + "'").orElse("any other");
  }

  private void create() {
    if (updater != null) {
      return;
    }
    List<Parameter> model = new ArrayList<>();
    List<Tensor> values = new ArrayList<>();
    parts.block.getParameters().forEach(named -> {
      ai.djl.nn.Parameter parameter = named.getValue();
      if (!parameter.isInitialized()) {
        throw new IllegalStateException("parameter '" + named.getKey() + "': is not initialized");
      }
      if (parameter.requiresGradient()) {
        Tensor value = tensor(parameter.getArray(), named.getKey());
        ByteBuffer memory = ByteBuffer.allocateDirect(memoryOf(parameter.getArray(), named.getKey()).remaining());
        Tensor gradient = Tensor.of(memory, value.dtype(), value.shape());
        entries.put(parameter.getId(), new Entry(model.size(), parameter, memory, gradient));
        model.add(Parameter.of(named.getKey(), value.dtype(), value.shape()));
        values.add(value);
      }
    });
    weights = new NDArray[model.size()];
    expected = new boolean[model.size()];
    params = TensorList.of(values.toArray(Tensor[]::new));
    grads = gradients();
    optimizer = Optimizer.create(context, parts.rule, model);
    closing.addAll(List.of(() -> params.close(), () -> grads.close(), () -> optimizer.close()));
    Updater.Builder chain = Updater.builder(context, optimizer).options(parts.updates);
    if (parts.accumulation != null) {
      Accumulator accumulator = new Accumulator(context, parts.accumulation, model);
      closing.add(() -> accumulator.close());
      chain.accumulator(accumulator);
    }
    if (parts.comm != null) {
      Reducer reducer = new Reducer(context, parts.comm, parts.reduction, model);
      closing.add(() -> reducer.close());
      chain.reducer(reducer);
    }
    updater = chain.build();
    closing.add(() -> updater.close());
  }

  private static Tensor tensor(NDArray array, String name) {
    return Tensor.of(memoryOf(array, name), dtypeOf(array.getDataType(), name), array.getShape().getShape());
  }

  private static ByteBuffer memoryOf(NDArray array, String name) {
    ByteBuffer memory = array.getDevice().isGpu() ? null : array.toByteBuffer(true);
    if (memory == null || !memory.isDirect()) {
      throw new UnsupportedOperationException("array of '" + name + "': is on " + array.getDevice() + " in "
          + array.getSparseFormat() + " form, expected dense and contiguous memory of the CPU");
    }
    return memory;
  }

  private static DType dtypeOf(DataType type, String name) {
    return switch (type) {
      case FLOAT32 -> DType.F32;
      case FLOAT64 -> DType.F64;
      case FLOAT16 -> DType.F16;
      case BFLOAT16 -> DType.BF16;
      default -> throw new UnsupportedOperationException(
          "array of '" + name + "': is of " + type + ", expected a type of floating point");
    };
  }

  /** Gives the handles up. The arrays stay. */
  @Override
  public void close() {
    closing.forEach(Runnable::run);
    if (ownsContext) {
      context.close();
    }
  }
}
