// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.util.List;

/**
 * Gradients of all ranks become one, in fused buckets; the mode of its options says how. Creation, {@link #reduce} and
 * {@link #await} are collective.
 */
public final class Reducer extends StatefulHandle {
  private static final Functions FUNCTIONS =
      new Functions(core::reducer_save, core::reducer_save_file, core::reducer_load, core::reducer_load_file);

  private final int size;

  /**
   * A reducer with the default options.
   *
   * @param context whose threads work
   * @param comm may be shared, or closed afterwards
   * @param parameters the model, the same on all ranks
   */
  public Reducer(Context context, Communicator comm, List<Parameter> parameters) {
    this(context, comm, null, parameters);
  }

  /**
   * A reducer on a channel of its own.
   *
   * @param context whose threads work
   * @param comm may be shared, or closed afterwards
   * @param options null = defaults
   * @param parameters the model, the same on all ranks
   */
  public Reducer(Context context, Communicator comm, ReducerOptions options, List<Parameter> parameters) {
    super("reducer", present(context, "context").call(
        address -> present(comm, "comm").call(comms -> Parameter.lend(parameters,
        (data, n) -> core.reducer_create(address, comms, ReducerOptions.struct(options), data, n)))),
        core::reducer_destroy, FUNCTIONS);
    this.size = parameters.size();
  }

  /**
   * Reduces a window of weight 1, in place.
   *
   * @param grads one for each parameter; an absent one contributes zeros
   */
  public void reduce(TensorList grads) {
    reduce(grads, grads, 1, 0);
  }

  /**
   * Reduces a window.
   *
   * @param grads one for each parameter; an absent one contributes zeros
   * @param results get the outcome, and may be grads; null = {@link #gradients} shows it
   * @param weight finite and 0 or more; matters for {@link Average#WEIGHTED}
   */
  public void reduce(TensorList grads, TensorList results, double weight) {
    reduce(grads, results, weight, 0);
  }

  /**
   * Reduces a window.
   *
   * @param grads one for each parameter; an absent one contributes zeros
   * @param results get the outcome, and may be grads; null = {@link #gradients} shows it
   * @param weight finite and 0 or more; matters for {@link Average#WEIGHTED}
   * @param stream of a device; 0 on the CPU
   */
  public void reduce(TensorList grads, TensorList results, double weight, long stream) {
    enter(resource, resourceOf(grads, "grads"), resourceOf(results), null);
    try {
      core.reducer_reduce(resource.address, grads.read("grads"),
          results == null ? 0 : results.write("results", grads.size()), grads.size(), weight, stream);
    } finally {
      leave(resource, grads.resource, resourceOf(results), null);
    }
  }

  /**
   * Begins a window whose gradients come one at a time; without it the weight is 1.
   *
   * @param weight finite and 0 or more
   */
  public void begin(double weight) {
    begin(weight, 0);
  }

  /**
   * Begins a window whose gradients come one at a time; without it the weight is 1.
   *
   * @param weight finite and 0 or more
   * @param stream of a device; 0 on the CPU
   */
  public void begin(double weight, long stream) {
    call(address -> core.reducer_begin(address, weight, stream));
  }

  /**
   * Gives one gradient, once in a window. Buckets that are full leave at once, where they can; collective where they
   * cannot, see gradstep_reducer_push in the C header.
   *
   * @param index of the parameter
   * @param grad on a device in use until {@link #await}
   */
  public void push(int index, Tensor grad) {
    push(index, grad, 0);
  }

  /**
   * Gives one gradient, once in a window. Buckets that are full leave at once, where they can; collective where they
   * cannot, see gradstep_reducer_push in the C header.
   *
   * @param index of the parameter
   * @param grad on a device in use until {@link #await}
   * @param stream of a device; 0 on the CPU
   */
  public void push(int index, Tensor grad, long stream) {
    call(address -> core.reducer_push(address, index, grad, stream));
    java.lang.ref.Reference.reachabilityFence(grad);
  }

  /** Ends a window of pushes: returns when all buckets have been exchanged. {@link #gradients} shows the outcome. */
  public void await() {
    await(null, 0);
  }

  /**
   * Ends a window of pushes: returns when all buckets have been exchanged.
   *
   * @param results get the outcome; null = {@link #gradients} shows it
   */
  public void await(TensorList results) {
    await(results, 0);
  }

  /**
   * Ends a window of pushes: returns when all buckets have been exchanged.
   *
   * @param results get the outcome; null = {@link #gradients} shows it
   * @param stream of a device; 0 on the CPU
   */
  public void await(TensorList results, long stream) {
    enter(resource, resourceOf(results), null, null);
    try {
      core.reducer_wait(resource.address, results == null ? 0 : results.write("results"),
          results == null ? size : results.size(), stream);
    } finally {
      leave(resource, resourceOf(results), null, null);
    }
  }

  /**
   * Whether no bucket that has left is being exchanged. Not collective.
   *
   * @return true if {@link #await} would have to exchange at most what was not full
   */
  public boolean poll() {
    return call(core::reducer_poll) != 0;
  }

  /**
   * The gradients of the next windows are multiplied by a loss scale; what the mode keeps becomes so, too. All ranks give
   * the same. Not collective.
   *
   * @param scale finite and above 0; 1 until the first call, after a load that of the file
   */
  public void setLossScale(double scale) {
    call(address -> core.reducer_set_loss_scale(address, scale));
  }

  /** Drops an open window; peers get an error if a bucket has left. Not collective. */
  public void cancel() {
    call(core::reducer_cancel);
  }

  /**
   * The reduced gradients; their numbers are good until the next window begins. Not collective.
   *
   * @return views, the caller's to close
   */
  public TensorList gradients() {
    return gradients(0);
  }

  /**
   * The reduced gradients; their numbers are good until the next window begins. Not collective.
   *
   * @param stream of a device; 0 on the CPU
   * @return views, the caller's to close
   */
  public TensorList gradients(long stream) {
    return ask(address -> TensorList.views(resource, size,
        (handle, tensors, n) -> core.reducer_gradients(handle, tensors, n, stream)));
  }

  /**
   * The Euclidean norm of the reduced gradients over all parameters. Not collective.
   *
   * @return infinite or NaN if an element is
   */
  public double norm() {
    try (TensorList norm = normTensor()) {
      return norm.get(0).doubles().get(0);
    }
  }

  /**
   * The norm where the gradients are. Not collective.
   *
   * @return a view of one F64, the caller's to close
   */
  public TensorList normTensor() {
    return normTensor(0);
  }

  /**
   * The norm where the gradients are. Not collective.
   *
   * @param stream of a device; 0 on the CPU
   * @return a view of one F64, the caller's to close
   */
  public TensorList normTensor(long stream) {
    return ask(address -> TensorList.views(resource, 1,
        (handle, tensors, n) -> core.reducer_norm(handle, tensors, stream)));
  }

  /**
   * What a compressing mode has kept back of one parameter's gradients. The host may write to it. Not collective.
   *
   * @param index of the parameter
   * @return a view, the caller's to close
   */
  public TensorList residual(int index) {
    return ask(address -> TensorList.views(resource, 1,
        (handle, tensors, n) -> core.reducer_residual(handle, index, tensors)));
  }

  /**
   * The plan, and what became of it. Not collective.
   *
   * @return one for each bucket, in the order in which they leave
   */
  public List<BucketStatistics> bucketStatistics() {
    return ask(BucketStatistics::of);
  }

  /**
   * The old name of {@link #bucketStatistics}.
   *
   * @return one for each bucket
   * @deprecated use bucketStatistics
   */
  @Deprecated
  public List<BucketStatistics> buckets() {
    return bucketStatistics();
  }

  /**
   * What the reducer's own channel has done. Not collective.
   *
   * @return counts since creation
   */
  public CommunicatorStatistics commStatistics() {
    return ask(address -> CommunicatorStatistics.read(struct -> core.reducer_comm_stats(address, struct)));
  }

  /**
   * The old name of {@link #commStatistics}.
   *
   * @return what the channel has done
   * @deprecated use commStatistics
   */
  @Deprecated
  public CommunicatorStatistics statistics() {
    return commStatistics();
  }

  /**
   * The statistics as text for Prometheus. Not collective.
   *
   * @param labels put into the braces of every line, job="7" say; null = none
   * @return lines
   */
  public String counters(String labels) {
    return ask(address -> Text.read(bytes -> core.reducer_counters(address, labels, bytes)));
  }
}
