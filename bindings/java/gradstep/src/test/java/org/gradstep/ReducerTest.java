// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ReducerTest {
  private static final List<Parameter> MODEL =
      List.of(Parameter.of("a", DType.F32, 8, 8), Parameter.of("b", DType.F32, 2));

  /** Equal gradients on all ranks: small whole numbers, of rank 1 as a matrix. */
  private static TensorList gradients() {
    FloatBuffer matrix = floats(64);
    for (int i = 0; i < 64; i++) {
      matrix.put(i, (1 + i / 8) * (1 + i % 8));
    }
    return TensorList.of(Tensor.of(matrix, 8, 8), Tensor.of(floats(4, -8)));
  }

  /** Every mode that loses nothing makes equal gradients of equal ones. */
  @ParameterizedTest
  @EnumSource(names = {"DENSE", "HALF", "BFLOAT16", "SPARSE_TOPK", "ADASUM_TREE", "ADASUM_NWAY", "POWERSGD", "AUTO",
    "SPARSE_THRESHOLD"})
  void everyModeKeepsEqualGradients(ReducerMode mode) throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        ReducerOptions.Builder options = ReducerOptions.builder().mode(mode);
        switch (mode) {
          case SPARSE_TOPK -> options.sparsity(1); // everything is sent
          case SPARSE_THRESHOLD -> options.sparsity(0);
          case AUTO -> options.candidates(Set.of(ReducerMode.DENSE, ReducerMode.HALF), false);
          default -> { }
        }
        try (Reducer reducer = new Reducer(context, comm, options.build(), MODEL);
            TensorList grads = gradients();
            TensorList expected = gradients()) {
          reducer.reduce(grads);
          for (int i = 0; i < 2; i++) {
            // PowerSGD orthogonalises in f32; the others are exact for these numbers
            assertArrayEquals(values(expected, i), values(grads, i), mode == ReducerMode.POWERSGD ? 1e-4f : 0);
          }
          double squares = 64 + 16 + 204.0 * 204.0; // 204 = 1 + 4 + ... + 64
          assertEquals(Math.sqrt(squares), reducer.norm(), 1e-4);
          BucketStatistics bucket = reducer.bucketStatistics().get(0);
          assertEquals(66, reducer.bucketStatistics().stream().mapToLong(BucketStatistics::elements).sum());
          assertEquals(1, bucket.exchanges());
          assertTrue(mode == ReducerMode.AUTO || bucket.mode() == mode);
          assertTrue(reducer.commStatistics().bytesSent() > 0);
        }
      });
    }
  }

  @Test
  void pushesOfAWindowAreReducedAtItsEnd() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        ReducerOptions options = ReducerOptions.builder().average(Average.WEIGHTED).build();
        try (Reducer reducer = new Reducer(context, comm, options, MODEL);
            TensorList results = TensorList.of(Tensor.of(floats(64), 8, 8), Tensor.of(floats(2)))) {
          comm.close(); // the reducer has a channel of its own
          reducer.begin(rank == 0 ? 1 : 3);
          reducer.push(1, Tensor.of(floats(rank == 0 ? 4 : 8, 0)));
          assertThrows(IllegalStateException.class, () -> reducer.push(1, Tensor.of(floats(2))));
          reducer.await(results);
          assertTrue(reducer.poll());
          assertArrayEquals(new float[] {7, 0}, values(results, 1)); // (1 * 4 + 3 * 8) / 4
          assertArrayEquals(new float[64], values(results, 0));
          reducer.push(1, Tensor.of(floats(2, rank)));
          reducer.await();
          try (TensorList reduced = reducer.gradients()) {
            assertArrayEquals(new float[] {2, 0.5f}, values(reduced, 1));
          }
          reducer.cancel();
        }
      });
    }
  }

  @Test
  void badInputNamesTheArgument() throws Exception {
    try (Context context = new Context(1)) {
      ReducerOptions options = ReducerOptions.builder().bucketElements(1).build();
      Communicator alone = Communicator.local(context, 1).get(0);
      assertThrows(IllegalArgumentException.class, () -> new Reducer(context, alone, options, MODEL));
      try (Reducer reducer = new Reducer(context, alone, MODEL);
          TensorList grads = gradients();
          TensorList fixed = TensorList.of(
              Tensor.of(floats(64).asReadOnlyBuffer(), 8, 8), Tensor.of(floats(2).asReadOnlyBuffer()))) {
        assertEquals("results[0]: the memory is read-only",
            assertThrows(IllegalArgumentException.class, () -> reducer.reduce(grads, fixed, 1)).getMessage());
        assertTrue(assertThrows(IllegalArgumentException.class, () -> reducer.push(2, Tensor.of(floats(2))))
            .getMessage().contains("2"));
        assertThrows(IllegalArgumentException.class, () -> reducer.reduce(grads, grads, Double.NaN));
        assertThrows(IllegalStateException.class, reducer::gradients);
        assertThrows(IllegalStateException.class, () -> reducer.residual(0));
      }
      alone.close();
    }
  }

  @Test
  void ranksThatDisagreeAreTold() throws Exception {
    try (Context context = new Context(1)) {
      Ranks.run(context, 2, (rank, comm) -> {
        List<Parameter> own = List.of(Parameter.of("a", DType.F32, 4 + rank));
        GradstepException error =
            assertThrows(GradstepException.class, () -> new Reducer(context, comm, own));
        assertEquals("GRADSTEP_ERR_MISMATCH", error.statusName());
      });
    }
  }
}
