// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** One process of ProcessesTest: a rank that pushes, and prints its parameters. */
final class ProcessRank {
  private ProcessRank() {}

  /** Arguments: engine, folder, rank, world size, and "die" for a rank that leaves in the middle. */
  public static void main(String[] arguments) {
    if (arguments[0].equals("launched")) {
      // docs:begin launched
      try (Context context = new Context(1); Communicator comm = Communicator.fromEnvironment(context)) {
        comm.barrier();
        System.out.println(comm.rank() + " of " + comm.worldSize() + " by " + comm.engine());
      }
      // docs:end launched
      return;
    }
    if (arguments[0].equals("mpi")) {
      CommunicatorOptions ofMpirun = CommunicatorOptions.builder()
          .rank(Integer.parseInt(System.getenv("OMPI_COMM_WORLD_RANK")))
          .worldSize(Integer.parseInt(System.getenv("OMPI_COMM_WORLD_SIZE")))
          .build();
      try (Context context = new Context(1);
          Communicator comm = Communicator.connect(context, ofMpirun, "mpi", Rendezvous.none())) {
        System.out.println(train(context, comm));
      }
      return;
    }
    int rank = Integer.parseInt(arguments[2]);
    List<Parameter> model = List.of(Parameter.of("line", DType.F32, 3));
    var memory = floats(1, 2, 3);
    // docs:begin processes
    CommunicatorOptions options = CommunicatorOptions.builder()
        .rank(rank)
        .worldSize(Integer.parseInt(arguments[3]))
        .timeout(Duration.ofSeconds(20))
        .build();
    try (Context context = new Context(1);
        Communicator comm = Communicator.connect(
            context, options, arguments[0], Rendezvous.folder(Path.of(arguments[1])));
        Reducer reducer = new Reducer(context, comm, model);
        Optimizer optimizer = sgd(context, model);
        Updater updater = Updater.builder(context, optimizer).reducer(reducer).build();
        TensorList params = TensorList.of(memory);
        TensorList grads = TensorList.of(floats(rank, 2 * rank, 3))) {
      updater.push(params, grads);
      // docs:end processes
      if (arguments.length > 4) {
        Runtime.getRuntime().halt(3);
      }
      updater.push(params, grads);
      System.out.println(Arrays.toString(values(memory)));
    } catch (GradstepException error) {
      System.out.println(error.statusName());
    }
  }

  /** Steps by the mean of the gradients (0, 0) and (1, 2), twice. */
  private static String train(Context context, Communicator comm) {
    List<Parameter> model = List.of(Parameter.of("line", DType.F32, 2));
    var memory = floats(1, 2);
    try (Reducer reducer = new Reducer(context, comm, model);
        Optimizer optimizer = sgd(context, model);
        Updater updater = Updater.builder(context, optimizer).reducer(reducer).build();
        TensorList params = TensorList.of(memory);
        TensorList grads = TensorList.of(floats(comm.rank(), 2 * comm.rank()))) {
      updater.push(params, grads);
      updater.push(params, grads);
    }
    return comm.engine() + " " + Arrays.toString(values(memory));
  }

  private static Optimizer sgd(Context context, List<Parameter> model) {
    return Optimizer.create(context, SgdOptions.builder(0.5).build(), model);
  }
}
