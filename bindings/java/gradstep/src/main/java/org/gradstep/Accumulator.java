// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.List;

/**
 * One sum per parameter over the micro-batches of a window. A window is open until its trigger fires or {@link #flush}
 * ends it; its result then stands until the next add. Each rank has its own.
 */
public final class Accumulator extends StatefulHandle {
  private static final Functions FUNCTIONS = new Functions(
      core::accumulator_save, core::accumulator_save_file, core::accumulator_load, core::accumulator_load_file);

  private final int size;

  /**
   * An accumulator.
   *
   * @param context whose threads work
   * @param options null = defaults
   * @param parameters the model
   */
  public Accumulator(Context context, AccumulatorOptions options, List<Parameter> parameters) {
    super("accumulator", present(context, "context").call(address -> Parameter.lend(parameters,
        (data, n) -> create(address, options, data, n))), core::accumulator_destroy, FUNCTIONS);
    this.size = parameters.size();
  }

  private static long create(long context, AccumulatorOptions options, long parameters, long n) {
    Schedule schedule = options == null ? null : (Schedule) options.options().get("schedule");
    return core.create_accumulator(context, AccumulatorOptions.struct(options), schedule, parameters, n);
  }

  /**
   * Adds a micro-batch of weight 1.
   *
   * @param grads one for each parameter; an absent one counts as zero
   * @return whether this ended the window
   */
  public boolean add(TensorList grads) {
    return add(grads, 1, 0);
  }

  /**
   * Adds a micro-batch.
   *
   * @param grads one for each parameter; an absent one counts as zero
   * @param weight finite and 0 or more
   * @return whether this ended the window
   */
  public boolean add(TensorList grads, double weight) {
    return add(grads, weight, 0);
  }

  /**
   * Adds a micro-batch.
   *
   * @param grads one for each parameter; an absent one counts as zero
   * @param weight finite and 0 or more
   * @param stream of a device; 0 on the CPU
   * @return whether this ended the window
   */
  public boolean add(TensorList grads, double weight, long stream) {
    enter(resource, resourceOf(grads, "grads"), null, null);
    try {
      return core.accumulator_add(resource.address, grads.read("grads"), grads.size(), weight, stream) != 0;
    } finally {
      leave(resource, grads.resource, null, null);
    }
  }

  /**
   * Adds a micro-batch that has sparse rows.
   *
   * @param grads one for each parameter; null = rows alone
   * @param rows of this micro-batch
   * @param weight finite and 0 or more
   * @return whether this ended the window
   */
  public boolean add(TensorList grads, List<Rows> rows, double weight) {
    return add(grads, rows, weight, 0);
  }

  /**
   * Adds a micro-batch that has sparse rows.
   *
   * @param grads one for each parameter; null = rows alone
   * @param rows of this micro-batch
   * @param weight finite and 0 or more
   * @param stream of a device; 0 on the CPU
   * @return whether this ended the window
   */
  public boolean add(TensorList grads, List<Rows> rows, double weight, long stream) {
    Rows[] array = Rows.toArray(rows);
    enter(resource, resourceOf(grads), null, null);
    try {
      return core.accumulator_add_ex(resource.address, grads == null ? 0 : grads.read("grads"),
          grads == null ? 0 : grads.size(), array, weight, stream) != 0;
    } finally {
      leave(resource, resourceOf(grads), null, null);
      java.lang.ref.Reference.reachabilityFence(array);
    }
  }

  /**
   * Ends a window that is not full.
   *
   * @return whether there is a result
   */
  public boolean flush() {
    return flush(0);
  }

  /**
   * Ends a window that is not full.
   *
   * @param stream of a device; 0 on the CPU
   * @return whether there is a result
   */
  public boolean flush(long stream) {
    return call(address -> core.accumulator_flush(address, stream)) != 0;
  }

  /** Drops the window. */
  public void reset() {
    reset(0);
  }

  /**
   * Drops the window.
   *
   * @param stream of a device; 0 on the CPU
   */
  public void reset(long stream) {
    call(address -> core.accumulator_reset(address, stream));
  }

  /**
   * The result of a window that has ended; its numbers are good until the next add or reset.
   *
   * @return views, the caller's to close
   */
  public TensorList gradients() {
    return gradients(0);
  }

  /**
   * The result of a window that has ended; its numbers are good until the next add or reset.
   *
   * @param stream of a device; 0 on the CPU
   * @return views, the caller's to close
   */
  public TensorList gradients(long stream) {
    return ask(address -> TensorList.views(resource, size,
        (handle, tensors, n) -> core.accumulator_gradients(handle, tensors, n, stream)));
  }

  /**
   * The sums that are not divided yet, see gradstep_accumulator_sums in the C header.
   *
   * @return views, the caller's to close
   */
  public TensorList sums() {
    return sums(0);
  }

  /**
   * The sums that are not divided yet, see gradstep_accumulator_sums in the C header.
   *
   * @param stream of a device; 0 on the CPU
   * @return views, the caller's to close
   */
  public TensorList sums(long stream) {
    return ask(address -> TensorList.views(resource, size,
        (handle, tensors, n) -> core.accumulator_sums(handle, tensors, n, stream)));
  }

  /**
   * The Euclidean norm of the result over all parameters.
   *
   * @return infinite or NaN if an element is
   */
  public double norm() {
    try (TensorList norm = normTensor()) {
      return norm.get(0).doubles().get(0);
    }
  }

  /**
   * The norm where the gradients are.
   *
   * @return a view of one F64, the caller's to close
   */
  public TensorList normTensor() {
    return normTensor(0);
  }

  /**
   * The norm where the gradients are.
   *
   * @param stream of a device; 0 on the CPU
   * @return a view of one F64, the caller's to close
   */
  public TensorList normTensor(long stream) {
    return ask(address -> TensorList.views(resource, 1,
        (handle, tensors, n) -> core.accumulator_norm(handle, tensors, stream)));
  }

  /**
   * The window's divisor.
   *
   * @return the sum of weights in mode WEIGHTED, else the number of micro-batches
   */
  public double weight() {
    return Double.longBitsToDouble(call(core::accumulator_weight));
  }

  /**
   * Micro-batches in the window.
   *
   * @return skipped ones not counted
   */
  public long count() {
    return call(core::accumulator_count);
  }

  /**
   * Micro-batches skipped as non-finite.
   *
   * @return since creation
   */
  public long skipped() {
    return call(core::accumulator_skipped);
  }

  /**
   * Whether nothing is under way, on a device.
   *
   * @return true on the CPU
   */
  public boolean poll() {
    return call(core::accumulator_poll) != 0;
  }
}
