// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.List;

/**
 * Accumulator, reducer and optimizer in one {@link #push}. The one that ends a window is collective, and so are
 * {@link #flush} and {@link #recover}.
 */
public final class Updater extends StatefulHandle {
  private static final Functions FUNCTIONS =
      new Functions(core::updater_save, core::updater_save_file, core::updater_load, core::updater_load_file);

  /** What an updater chains. */
  public static final class Builder {
    private final Context context;
    private final Optimizer optimizer;
    private Accumulator accumulator;
    private Reducer reducer;
    private Optimizer outer;
    private UpdaterOptions options;

    private Builder(Context context, Optimizer optimizer) {
      this.context = present(context, "context");
      this.optimizer = present(optimizer, "optimizer");
    }

    /**
     * Adds up micro-batches; without it every push is a window.
     *
     * @param accumulator of the same parameters
     * @return this
     */
    public Builder accumulator(Accumulator accumulator) {
      this.accumulator = accumulator;
      return this;
    }

    /**
     * Makes the gradients of all ranks one; without it there are no other ranks.
     *
     * @param reducer of the same parameters
     * @return this
     */
    public Builder reducer(Reducer reducer) {
      this.reducer = reducer;
      return this;
    }

    /**
     * With {@link UpdaterSync#DELTAS}: steps by what every syncSteps local steps have changed (DiLoCo).
     *
     * @param outer of the same parameters
     * @return this
     */
    public Builder outer(Optimizer outer) {
      this.outer = outer;
      return this;
    }

    /**
     * How the ranks are kept equal, and what happens to gradients before a step.
     *
     * @param options null = defaults
     * @return this
     */
    public Builder options(UpdaterOptions options) {
      this.options = options;
      return this;
    }

    /**
     * The updater.
     *
     * @return the caller's to close
     */
    public Updater build() {
      return new Updater(this);
    }
  }

  /**
   * Chains handles, which may be closed, and used by themselves between pushes.
   *
   * @param context whose threads work
   * @param optimizer makes the steps
   * @return the builder
   */
  public static Builder builder(Context context, Optimizer optimizer) {
    return new Builder(context, optimizer);
  }

  private Updater(Builder parts) {
    super("updater", create(parts.context, parts.optimizer, parts.accumulator, parts.reducer, parts.outer,
        parts.options), core::updater_destroy, FUNCTIONS);
    // And with them the tensors of their hyper-parameters.
    resource.borrowed = parts.outer == null ? List.of(parts.optimizer.resource)
        : List.of(parts.optimizer.resource, parts.outer.resource);
  }

  private static long create(Context context, Optimizer optimizer, Accumulator accumulator, Reducer reducer,
      Optimizer outer, UpdaterOptions options) {
    enter(resourceOf(context, "context"), resourceOf(optimizer, "optimizer"),
        resourceOf(accumulator), resourceOf(reducer));
    try {
      if (outer == null) {
        return core.create_updater(context.resource.address, optimizer.resource.address, addressOf(accumulator),
            addressOf(reducer), 0, UpdaterOptions.struct(options));
      }
      enter(outer.resource, null, null, null);
      try {
        return core.create_updater(context.resource.address, optimizer.resource.address, addressOf(accumulator),
            addressOf(reducer), outer.resource.address, UpdaterOptions.struct(options));
      } finally {
        leave(outer.resource, null, null, null);
      }
    } finally {
      leave(context.resource, optimizer.resource, resourceOf(accumulator), resourceOf(reducer));
    }
  }

  /**
   * Adds a micro-batch of weight 1, and at the end of the window reduces and steps.
   *
   * @param params one for each parameter
   * @param grads one for each parameter; an absent one counts as zero
   * @return whether the parameters were stepped
   */
  public boolean push(TensorList params, TensorList grads) {
    return push(params, grads, 1, 0);
  }

  /**
   * Adds a micro-batch, and at the end of the window reduces and steps.
   *
   * @param params one for each parameter
   * @param grads one for each parameter; an absent one counts as zero
   * @param weight finite and 0 or more
   * @return whether the parameters were stepped
   */
  public boolean push(TensorList params, TensorList grads, double weight) {
    return push(params, grads, weight, 0);
  }

  /**
   * Adds a micro-batch, and at the end of the window reduces and steps.
   *
   * @param params one for each parameter
   * @param grads one for each parameter; an absent one counts as zero
   * @param weight finite and 0 or more
   * @param stream of a device; 0 on the CPU
   * @return whether the parameters were stepped
   */
  public boolean push(TensorList params, TensorList grads, double weight, long stream) {
    enter(resource, resourceOf(params, "params"), resourceOf(grads, "grads"), null);
    try {
      return core.updater_push(resource.address, params.write("params"), grads.read("grads", params.size()),
          params.size(), weight, stream) != 0;
    } finally {
      leave(resource, params.resource, grads.resource, null);
    }
  }

  /**
   * Ends a window that is not full, or tries again where an exchange has failed.
   *
   * @param params one for each parameter
   * @return whether the parameters were stepped
   */
  public boolean flush(TensorList params) {
    return flush(params, 0);
  }

  /**
   * Ends a window that is not full, or tries again where an exchange has failed.
   *
   * @param params one for each parameter
   * @param stream of a device; 0 on the CPU
   * @return whether the parameters were stepped
   */
  public boolean flush(TensorList params, long stream) {
    enter(resource, resourceOf(params, "params"), null, null);
    try {
      return core.updater_flush(resource.address, params.write("params"), params.size(), stream) != 0;
    } finally {
      leave(resource, params.resource, null, null);
    }
  }

  /**
   * As {@link #recover(Communicator, TensorList, long)}, of parameters on the CPU.
   *
   * @param comm a new one, of any world size; null = this rank goes on alone
   * @param params one for each parameter
   */
  public void recover(Communicator comm, TensorList params) {
    recover(comm, params, 0);
  }

  /**
   * Continues over a new communicator: of the survivors of a failure, of the ranks that stay where others leave, and of
   * newcomers. docs/failure.md says what becomes of windows.
   *
   * @param comm of any world size; null = this rank goes on alone, without a reducer, and sharded state is gathered with
   *     the ranks that recover then
   * @param params one for each parameter
   * @param stream of a device; 0 on the CPU
   */
  public void recover(Communicator comm, TensorList params, long stream) {
    enter(resource, resourceOf(comm), resourceOf(params, "params"), null);
    try {
      core.updater_recover(resource.address, addressOf(comm), params.write("params"), params.size(), stream);
    } finally {
      leave(resource, resourceOf(comm), params.resource, null);
    }
  }

  /**
   * Whether nothing is under way. Not collective.
   *
   * @return false while a device or other ranks are at work
   */
  public boolean poll() {
    return call(core::updater_poll) != 0;
  }

  /**
   * What was done. Not collective.
   *
   * @return counts since creation
   */
  public UpdaterStatistics statistics() {
    return ask(address -> {
      UpdaterStatisticsStruct u = new UpdaterStatisticsStruct();
      core.updater_stats(address, u);
      return new UpdaterStatistics(u.getDroppedWindows(), u.getPushes(), u.getWindows(), u.getSteps(),
          u.getSkippedSteps(), u.getAccumulateNanoseconds(), u.getReduceNanoseconds(), u.getStepNanoseconds());
    });
  }

  /**
   * The statistics as text for Prometheus. Not collective.
   *
   * @param labels put into the braces of every line, job="7" say; null = none
   * @return lines
   */
  public String counters(String labels) {
    return ask(address -> Text.read(bytes -> core.updater_counters(address, labels, bytes)));
  }
}
