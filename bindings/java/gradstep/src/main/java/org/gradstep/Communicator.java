// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongUnaryOperator;

/**
 * One rank's connection to a group of ranks. Calls are collective, that is all ranks make them in one order, unless said
 * otherwise; the first error breaks a communicator for good. Tensors are contiguous; on a device the last argument of a
 * call is the stream that it is queued on.
 */
public final class Communicator extends Handle {
  private Communicator(long address) {
    super("communicator", address, core::comm_destroy);
  }

  /**
   * Ranks that are threads of this process, with the default options. Not collective.
   *
   * @param context whose interrupt ends a wait
   * @param worldSize the number of ranks
   * @return a communicator for each rank, the caller's to close
   */
  public static List<Communicator> local(Context context, int worldSize) {
    return local(context, null, worldSize);
  }

  /**
   * Ranks that are threads of this process. Not collective.
   *
   * @param context whose interrupt ends a wait
   * @param options of which the timeout and the order of sums count; null = defaults
   * @param worldSize the number of ranks
   * @return a communicator for each rank, the caller's to close
   */
  public static List<Communicator> local(Context context, CommunicatorOptions options, int worldSize) {
    if (worldSize < 1) {
      throw new IllegalArgumentException("worldSize: is " + worldSize + ", expected 1 or more");
    }
    long[] addresses = new long[worldSize];
    present(context, "context").call(
        address -> core.create_local_communicators(address, CommunicatorOptions.struct(options), addresses));
    List<Communicator> comms = new ArrayList<>(worldSize);
    for (long address : addresses) {
      comms.add(new Communicator(address));
    }
    return comms;
  }

  /**
   * Processes, or devices, that meet somewhere.
   *
   * @param context whose interrupt ends a wait
   * @param options rank, world size, timeout, and for "nccl" the device
   * @param engine "self", "shm", "gloo", "auto" (shm on one machine, else gloo), "mpi" or "nccl"
   * @param where the ranks meet
   * @return this rank's communicator, the caller's to close
   */
  public static Communicator connect(Context context, CommunicatorOptions options, String engine, Rendezvous where) {
    return connect(context, options, engine, where, null);
  }

  /**
   * Processes that meet somewhere, over one network of several.
   *
   * @param context whose interrupt ends a wait
   * @param options rank, world size, timeout
   * @param engine "gloo" or "auto"
   * @param where the ranks meet
   * @param networkInterface its name or address; null = the one of the host's name, else that from which the store of
   *     an id is reached, else loopback
   * @return this rank's communicator, the caller's to close
   */
  public static Communicator connect(
      Context context, CommunicatorOptions options, String engine, Rendezvous where, String networkInterface) {
    return connect(context, CommunicatorOptions.struct(present(options, "options")), engine, where, networkInterface);
  }

  private static Communicator connect(
      Context context, CommunicatorOptionsStruct options, String engine, Rendezvous where, String networkInterface) {
    present(engine, "engine");
    present(where, "where");
    return new Communicator(present(context, "context").call(address -> core.create_communicator(
        address, options, engine, where.id, where.store, where.folder, networkInterface)));
  }

  /**
   * The processes that torchrun, mpirun, Slurm or Kubernetes has started, by what it says in the environment.
   *
   * @param context whose interrupt ends a wait
   * @return this rank's communicator, the caller's to close
   */
  public static Communicator fromEnvironment(Context context) {
    return fromEnvironment(context, CommunicatorOptions.builder().build(), "auto", Rendezvous.none(), null);
  }

  /**
   * As {@link #fromEnvironment(Context)}, with options.
   *
   * @param context whose interrupt ends a wait
   * @param options timeout, order of sums, and for "nccl" the device; the rank is the launcher's
   * @param engine "auto", "shm", "gloo" or "nccl"
   * @param where the ranks meet; {@link Rendezvous#none} = where the environment says
   * @param networkInterface as of {@link #connect(Context, CommunicatorOptions, String, Rendezvous, String)}
   * @return this rank's communicator, the caller's to close
   */
  public static Communicator fromEnvironment(
      Context context, CommunicatorOptions options, String engine, Rendezvous where, String networkInterface) {
    CommunicatorOptionsStruct launched = CommunicatorOptions.struct(present(options, "options"));
    launched.setRank(-1);
    return connect(context, launched, engine, where, networkInterface);
  }

  /**
   * Ranks that the host connects by itself.
   *
   * @param context whose interrupt ends a wait
   * @param collectives kept until the communicator, and what was made with it, is gone
   * @param options of which the timeout and the order of sums count; null = defaults
   * @return this rank's communicator, the caller's to close
   */
  public static Communicator host(Context context, HostCollectives collectives, CommunicatorOptions options) {
    return new Communicator(
        present(context, "context").call(address -> core.create_host_communicator(
            address, present(collectives, "collectives"), CommunicatorOptions.struct(options))));
  }

  /**
   * The ranks of an MPI communicator.
   *
   * @param context whose interrupt ends a wait
   * @param commAddress of an MPI_Comm; it is duplicated, and stays the host's
   * @param options of which the timeout and the order of sums count; null = defaults
   * @return this rank's communicator, the caller's to close
   */
  public static Communicator wrapMpi(Context context, long commAddress, CommunicatorOptions options) {
    return new Communicator(
        present(context, "context").call(
            address -> core.comm_wrap_mpi_ex(address, commAddress, CommunicatorOptions.struct(options))));
  }

  /**
   * A communicator of these ranks, with NCCL for memory of a CUDA device.
   *
   * @param device this rank's
   * @param ncclComm an ncclComm_t of the same ranks, which stays the host's; 0 = one of its own
   * @return this rank's communicator, the caller's to close
   */
  public Communicator attachNccl(int device, long ncclComm) {
    return new Communicator(call(address -> core.comm_attach_nccl(address, device, ncclComm)));
  }

  /**
   * A place for ranks to meet, which this process serves until all have connected.
   *
   * @param engine "shm", "gloo", "auto" or "nccl"
   * @param networkInterface its name or address; null = the one of the host's name, else that from which the store of
   *     an id is reached, else loopback
   * @return for {@link Rendezvous#id}, on every rank
   */
  public static byte[] uniqueId(String engine, String networkInterface) {
    return Text.bytes(bytes -> core.comm_unique_id_ex(engine, networkInterface, bytes));
  }

  /**
   * How many newcomers wait for a larger world, and may be joined by connecting with the same arguments; none of them is
   * waited for.
   *
   * @param comm the present world, over which the call is collective: rank 0 asks, and all get the same answer; null:
   *     this process asks by itself, for all ranks
   * @param options rank, world size and generation of the larger world
   * @param engine of the newcomers, "auto", "shm", "gloo" or "nccl"
   * @param where the ranks of that world meet
   * @return of its ranks from the present world size on, those that wait
   */
  public static int pending(Communicator comm, CommunicatorOptions options, String engine, Rendezvous where) {
    present(engine, "engine");
    present(where, "where");
    CommunicatorOptionsStruct larger = CommunicatorOptions.struct(present(options, "options"));
    LongUnaryOperator ask = address ->
        core.rendezvous_pending(address, larger, engine, where.id, where.store, where.folder, null);
    return (int) (comm == null ? ask.applyAsLong(0) : comm.call(ask));
  }

  /**
   * This rank. Not collective.
   *
   * @return from 0
   */
  public int rank() {
    return (int) call(core::comm_rank);
  }

  /**
   * The number of ranks. Not collective.
   *
   * @return 1 or more
   */
  public int worldSize() {
    return (int) call(core::comm_world_size);
  }

  /**
   * This rank's index among those of its host. Not collective.
   *
   * @return from 0
   */
  public int localRank() {
    return (int) call(core::comm_local_rank);
  }

  /**
   * What connects the ranks. Not collective.
   *
   * @return "self", "local", "shm", "host", "gloo", "mpi" or "nccl"
   */
  public String engine() {
    return ask(address -> Text.read(bytes -> core.comm_engine(address, bytes)));
  }

  /**
   * The sum over ranks, in place.
   *
   * @param tensor as large on every rank
   */
  public void allReduce(Tensor tensor) {
    allReduce(tensor, ReduceOp.SUM, 0);
  }

  /**
   * The reduction over ranks, in place.
   *
   * @param tensor as large on every rank
   * @param op what is made of the elements
   */
  public void allReduce(Tensor tensor, ReduceOp op) {
    allReduce(tensor, op, 0);
  }

  /**
   * The reduction over ranks, in place.
   *
   * @param tensor as large on every rank
   * @param op what is made of the elements
   * @param stream of a device; 0 on the CPU
   */
  public void allReduce(Tensor tensor, ReduceOp op, long stream) {
    Tensor.writable(tensor, "tensor");
    call(address -> core.comm_all_reduce(address, tensor, op.code, stream));
    Reference.reachabilityFence(tensor);
  }

  /**
   * The inputs of all ranks, one after another.
   *
   * @param input as large on every rank
   * @param output of as many elements as all inputs
   */
  public void allGather(Tensor input, Tensor output) {
    allGather(input, output, 0);
  }

  /**
   * The inputs of all ranks, one after another.
   *
   * @param input as large on every rank
   * @param output of as many elements as all inputs
   * @param stream of a device; 0 on the CPU
   */
  public void allGather(Tensor input, Tensor output, long stream) {
    Tensor.writable(output, "output");
    call(address -> core.comm_all_gather(address, input, output, stream));
    Reference.reachabilityFence(input);
    Reference.reachabilityFence(output);
  }

  /**
   * The inputs of all ranks, one after another, each of its own size.
   *
   * @param input of counts[rank] elements
   * @param output of as many elements as all inputs
   * @param counts the same on all ranks
   */
  public void allGather(Tensor input, Tensor output, long[] counts) {
    allGather(input, output, counts, 0);
  }

  /**
   * The inputs of all ranks, one after another, each of its own size.
   *
   * @param input of counts[rank] elements
   * @param output of as many elements as all inputs
   * @param counts the same on all ranks
   * @param stream of a device; 0 on the CPU
   */
  public void allGather(Tensor input, Tensor output, long[] counts, long stream) {
    Tensor.writable(output, "output");
    call(address -> {
      long worldSize = core.comm_world_size(address);
      if (counts.length != worldSize) {
        throw new IllegalArgumentException("counts: has " + counts.length + " numbers, expected " + worldSize);
      }
      return core.comm_all_gather_v(address, input, output, counts, stream);
    });
    Reference.reachabilityFence(input);
    Reference.reachabilityFence(output);
  }

  /**
   * The reduction over ranks of this rank's block.
   *
   * @param input a block for each rank
   * @param output one block
   * @param op what is made of the elements
   */
  public void reduceScatter(Tensor input, Tensor output, ReduceOp op) {
    reduceScatter(input, output, op, 0);
  }

  /**
   * The reduction over ranks of this rank's block.
   *
   * @param input a block for each rank
   * @param output one block
   * @param op what is made of the elements
   * @param stream of a device; 0 on the CPU
   */
  public void reduceScatter(Tensor input, Tensor output, ReduceOp op, long stream) {
    Tensor.writable(output, "output");
    call(address -> core.comm_reduce_scatter(address, input, output, op.code, stream));
    Reference.reachabilityFence(input);
    Reference.reachabilityFence(output);
  }

  /**
   * Gives all ranks the root's elements.
   *
   * @param tensor as large on every rank
   * @param root a rank
   */
  public void broadcast(Tensor tensor, int root) {
    broadcast(tensor, root, 0);
  }

  /**
   * Gives all ranks the root's elements.
   *
   * @param tensor as large on every rank
   * @param root a rank
   * @param stream of a device; 0 on the CPU
   */
  public void broadcast(Tensor tensor, int root, long stream) {
    Tensor.writable(tensor, "tensor");
    call(address -> core.comm_broadcast(address, tensor, root, stream));
    Reference.reachabilityFence(tensor);
  }

  /**
   * Sends to one rank, which calls {@link #recv}. Not collective.
   *
   * @param tensor what is sent
   * @param to a rank
   */
  public void send(Tensor tensor, int to) {
    send(tensor, to, 0);
  }

  /**
   * Sends to one rank, which calls {@link #recv}. Not collective.
   *
   * @param tensor what is sent
   * @param to a rank
   * @param stream of a device; 0 on the CPU
   */
  public void send(Tensor tensor, int to, long stream) {
    call(address -> core.comm_send(address, tensor, to, stream));
    Reference.reachabilityFence(tensor);
  }

  /**
   * Receives from one rank, which calls {@link #send}. Not collective.
   *
   * @param tensor of as many bytes as are sent
   * @param from a rank
   */
  public void recv(Tensor tensor, int from) {
    recv(tensor, from, 0);
  }

  /**
   * Receives from one rank, which calls {@link #send}. Not collective.
   *
   * @param tensor of as many bytes as are sent
   * @param from a rank
   * @param stream of a device; 0 on the CPU
   */
  public void recv(Tensor tensor, int from, long stream) {
    Tensor.writable(tensor, "tensor");
    call(address -> core.comm_recv(address, tensor, from, stream));
    Reference.reachabilityFence(tensor);
  }

  /** Returns when all ranks have entered. */
  public void barrier() {
    call(core::comm_barrier);
  }

  /**
   * Whether all ranks say yes.
   *
   * @param yes this rank's word
   * @return the same on all ranks
   */
  public boolean vote(boolean yes) {
    return call(address -> core.comm_vote(address, yes ? 1 : 0)) != 0;
  }

  /**
   * Ranks of one color become a communicator.
   *
   * @param color 0 or more; below 0 = of none
   * @param key orders the ranks of a color, and rank where it is equal
   * @return the caller's to close; none for a color below 0
   */
  public Optional<Communicator> split(int color, int key) {
    long part = call(address -> core.comm_split(address, color, key));
    return part == 0 ? Optional.empty() : Optional.of(new Communicator(part));
  }

  /**
   * A communicator of these ranks on a channel of its own.
   *
   * @return the caller's to close
   */
  public Communicator dup() {
    return new Communicator(call(core::comm_dup));
  }

  /** Ends waiting calls and breaks the communicator. Any thread, at any time. */
  public void abort() {
    call(core::comm_abort);
  }

  /**
   * What broke the communicator. Any thread, at any time.
   *
   * @return the error; none while it is whole
   */
  public Optional<GradstepException> error() {
    return ask(address -> {
      int status = (int) core.communicator_error(address);
      return status == core.OK
          ? Optional.empty()
          : Optional.of(new GradstepException(Status.of(status),
              Text.read(bytes -> core.communicator_error_text(address, bytes))));
    });
  }

  /**
   * What this communicator has done. Not collective.
   *
   * @return counts since creation
   */
  public CommunicatorStatistics statistics() {
    return ask(address -> CommunicatorStatistics.read(struct -> core.comm_stats(address, struct)));
  }

  /**
   * The statistics as text for Prometheus. Not collective.
   *
   * @param labels put into the braces of every line, job="7" say; null = none
   * @return lines
   */
  public String counters(String labels) {
    return ask(address -> Text.read(bytes -> core.comm_counters(address, labels, bytes)));
  }
}
