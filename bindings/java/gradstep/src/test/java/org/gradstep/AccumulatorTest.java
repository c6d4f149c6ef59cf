// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class AccumulatorTest {
  private static final List<Parameter> MODEL =
      List.of(Parameter.of("table", DType.F32, 3, 2), Parameter.of("bias", DType.F32, 2));

  private static Tensor table(float... values) {
    return Tensor.of(floats(values), 3, 2);
  }

  @Test
  void aWindowIsTheMeanOfItsMicroBatches() {
    try (Context context = new Context(1)) {
      // docs:begin accumulate
      AccumulatorOptions options = AccumulatorOptions.builder().mode(AccumulationMode.MEAN).steps(2).build();
      try (Accumulator accumulator = new Accumulator(context, options, MODEL);
          TensorList first = TensorList.of(table(1, 2, 3, 4, 5, 6), Tensor.of(floats(1, 1)));
          TensorList second = TensorList.of(table(3, 2, 1, 0, 1, 2), null)) { // no gradient for the bias this time
        assertFalse(accumulator.add(first));
        assertTrue(accumulator.add(second)); // the window is full
        try (TensorList gradients = accumulator.gradients()) {
          assertArrayEquals(new float[] {2, 2, 2, 2, 3, 4}, values(gradients, 0));
          assertArrayEquals(new float[] {0.5f, 0.5f}, values(gradients, 1));
        }
        // docs:end accumulate
        assertEquals(Math.sqrt(4 * 4 + 9 + 16 + 2 * 0.25), accumulator.norm(), 1e-12);
        assertEquals(2, accumulator.count());
        assertEquals(2.0, accumulator.weight());
        assertTrue(accumulator.poll());
      }
    }
  }

  @Test
  void rowsAddUpWhereTheirIndicesSay() {
    try (Context context = new Context(1)) {
      AccumulatorOptions options = AccumulatorOptions.builder()
          .mode(AccumulationMode.SUM)
          .trigger(AccumulationTrigger.MANUAL)
          .build();
      try (Accumulator accumulator = new Accumulator(context, options, MODEL)) {
        Rows rows = new Rows(0, Memory.longs(2, 0, 2), Tensor.of(floats(1, 2, 3, 4, 5, 6), 3, 2));
        assertFalse(accumulator.add(null, List.of(rows), 1));
        try (TensorList sums = accumulator.sums()) {
          assertArrayEquals(new float[] {3, 4, 0, 0, 6, 8}, values(sums, 0));
          assertNull(sums.get(1)); // no rank had a gradient
        }
        Rows outside = new Rows(0, Memory.longs(3), Tensor.of(floats(1, 2), 1, 2));
        String text = assertThrows(IllegalArgumentException.class,
            () -> accumulator.add(null, List.of(outside), 1)).getMessage();
        assertTrue(text.contains("rows[0]") && text.contains("3"), text);
        assertTrue(accumulator.flush());
        accumulator.reset();
        assertFalse(accumulator.flush());
        assertEquals("rows[0]: is null, or has no indices or no values",
            assertThrows(IllegalArgumentException.class,
                () -> accumulator.add(null, List.of(new Rows(0, null, null)), 1)).getMessage());
      }
    }
  }

  @Test
  void aScheduleGivesTheLengthsOfWindows() {
    try (Context context = new Context(1)) {
      AccumulatorOptions options = AccumulatorOptions.builder()
          .trigger(AccumulationTrigger.SCHEDULE)
          .schedule(Schedule.of(window -> window + 1))
          .build();
      try (Accumulator accumulator = new Accumulator(context, options, MODEL);
          TensorList grads = TensorList.of(table(1, 1, 1, 1, 1, 1), Tensor.of(floats(1, 1)))) {
        boolean[] ready = new boolean[6];
        for (int i = 0; i < ready.length; i++) {
          ready[i] = accumulator.add(grads);
        }
        assertArrayEquals(new boolean[] {true, false, true, false, false, true}, ready);
      }
    }
  }

  @Test
  void sumsCanBeOfF64AndWindowsWeighted() {
    try (Context context = new Context(1)) {
      AccumulatorOptions options = AccumulatorOptions.builder()
          .mode(AccumulationMode.WEIGHTED)
          .trigger(AccumulationTrigger.MIN_WEIGHT)
          .minWeight(4)
          .dtype(DType.F64)
          .nonfinite(NonfinitePolicy.SKIP)
          .build();
      try (Accumulator accumulator = new Accumulator(context, options, List.of(Parameter.of("x", DType.F32, 1)));
          TensorList one = TensorList.of(floats(1f));
          TensorList two = TensorList.of(floats(2f));
          TensorList bad = TensorList.of(floats(Float.NaN))) {
        accumulator.add(one, 1);
        accumulator.add(bad, 1);
        assertTrue(accumulator.add(two, 3));
        assertEquals(1, accumulator.skipped());
        try (TensorList gradients = accumulator.gradients()) {
          assertEquals(DType.F64, gradients.get(0).dtype());
          assertEquals(7.0 / 4, gradients.get(0).doubles().get(0));
        }
      }
    }
  }

  @Test
  void optionsStayAsTheyWereBuilt() {
    AccumulatorOptions.Builder builder = AccumulatorOptions.builder().mode(AccumulationMode.SUM).steps(2);
    AccumulatorOptions options = builder.build();
    builder.steps(3);
    assertEquals("AccumulatorOptions{mode=SUM, steps=2}", options.toString());
    assertThrows(UnsupportedOperationException.class, () -> options.options().clear());
  }

  @Test
  void viewsOutliveTheHandle() {
    TensorList gradients;
    Tensor first;
    try (Context context = new Context(1);
        Accumulator accumulator = new Accumulator(context, null, MODEL);
        TensorList grads = TensorList.of(table(1, 2, 3, 4, 5, 6), Tensor.of(floats(1, 1)))) {
      accumulator.add(grads);
      gradients = accumulator.gradients();
      first = gradients.get(0);
    }
    var elements = first.floats();
    gradients.close();
    first = null;
    System.gc();
    assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, values(elements));
    assertThrows(IllegalStateException.class, () -> gradients.get(0));
  }

  @Test
  void badInputChangesNothing() {
    try (Context context = new Context(1);
        Accumulator accumulator = new Accumulator(context, null, MODEL);
        TensorList wrong = TensorList.of(Tensor.of(floats(5)), Tensor.of(floats(2)));
        TensorList right = TensorList.of(table(1, 1, 1, 1, 1, 1), null)) {
      String text = assertThrows(IllegalArgumentException.class, () -> accumulator.add(wrong)).getMessage();
      assertTrue(text.contains("grads[0]") && text.contains("5"), text);
      assertThrows(IllegalArgumentException.class, () -> accumulator.add(right, -1));
      assertThrows(IllegalStateException.class, accumulator::gradients);
      assertEquals(0, accumulator.count());
      assertEquals("mode: is null",
          assertThrows(IllegalArgumentException.class, () -> AccumulatorOptions.builder().mode(null)).getMessage());
      String schema = assertThrows(IllegalArgumentException.class, () -> new Accumulator(context, null,
          List.of(Parameter.of("a", DType.F32, 1), Parameter.of("a", DType.F32, 1)))).getMessage();
      assertTrue(schema.contains("parameters[1]") && schema.contains("a"), schema);
    }
  }
}
