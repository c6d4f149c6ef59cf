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

  /**
   * Chains handles, which may be closed, and used by themselves between pushes.
   *
   * @param context whose threads work
   * @param optimizer steps
   * @param accumulator null = every push is a window
   * @param reducer null = no other ranks
   * @param options read during the call; null = defaults
   */
  public Updater(
      Context context, Optimizer optimizer, Accumulator accumulator, Reducer reducer, UpdaterOptions options) {
    this(context, optimizer, accumulator, reducer, null, options);
  }

  /**
   * As above, with an outer optimizer of the same parameters: with DELTAS it steps by what every syncSteps local steps
   * have changed (DiLoCo).
   *
   * @param context whose threads work
   * @param optimizer makes the local steps
   * @param accumulator null = every push is a window
   * @param reducer null = no other ranks
   * @param outer null = there are no rounds of local steps
   * @param options read during the call; null = defaults
   */
  public Updater(Context context, Optimizer optimizer, Accumulator accumulator, Reducer reducer, Optimizer outer,
      UpdaterOptions options) {
    super("updater", create(context, optimizer, accumulator, reducer, outer, options), core::updater_destroy,
        FUNCTIONS);
    // And with them the tensors of their hyper-parameters.
    resource.borrowed = outer == null ? List.of(optimizer.resource) : List.of(optimizer.resource, outer.resource);
  }

  private static long create(Context context, Optimizer optimizer, Accumulator accumulator, Reducer reducer,
      Optimizer outer, UpdaterOptions options) {
    enter(resourceOf(context, "context"), resourceOf(optimizer, "optimizer"),
        resourceOf(accumulator), resourceOf(reducer));
    try {
      if (outer == null) {
        return core.create_updater(context.resource.address, optimizer.resource.address, addressOf(accumulator),
            addressOf(reducer), 0, options);
      }
      enter(outer.resource, null, null, null);
      try {
        return core.create_updater(context.resource.address, optimizer.resource.address, addressOf(accumulator),
            addressOf(reducer), outer.resource.address, options);
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
   * Continues after a failure, over a new communicator of the survivors; docs/failure.md tells what becomes of windows.
   *
   * @param comm of any world size; null only drops the reducer
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
      try (UpdaterStatisticsStruct u = new UpdaterStatisticsStruct()) {
        core.updater_stats(address, u);
        return new UpdaterStatistics(u.getDroppedWindows(), u.getPushes(), u.getWindows(), u.getSteps(),
            u.getSkippedSteps(), u.getAccumulateNanoseconds(), u.getReduceNanoseconds(), u.getStepNanoseconds());
      }
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
