// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ExamplesTest {
  @Test
  void ranksFindOneLine() throws Exception {
    List<float[]> lines = DataParallel.run();
    for (float[] line : lines) {
      assertArrayEquals(lines.get(0), line); // the same bits on all ranks
    }
    assertEquals(3, lines.get(0)[0], 0.05); // the noise of 0.1 is averaged over 512 points a window
    assertEquals(-1, lines.get(0)[1], 0.05);
  }

  @Test
  void aNetworkOfDjlLearnsItsRing() {
    double[] accuracy = DjlTraining.run();
    assertTrue(accuracy[0] < 0.7, "before: " + accuracy[0]); // 0.62 of the points lie outside the ring
    assertTrue(accuracy[1] > 0.9, "after: " + accuracy[1]);
  }

  @Test
  void theTrainerOfDjlLearnsTheRing() throws Exception {
    assertTrue(DjlTrainer.run() > 0.9);
  }
}
