// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/** Direct buffers for tests. */
final class Memory {
  private Memory() {}

  static ByteBuffer bytes(int n) {
    return ByteBuffer.allocateDirect(n).order(ByteOrder.nativeOrder());
  }

  static FloatBuffer floats(int n) {
    return bytes(4 * n).asFloatBuffer();
  }

  static FloatBuffer floats(float... values) {
    return floats(values.length).put(values).flip();
  }

  static Tensor doubles(double... values) {
    return Tensor.of(bytes(8 * values.length).asDoubleBuffer().put(values).flip());
  }

  static Tensor longs(long... values) {
    return Tensor.of(bytes(8 * values.length).asLongBuffer().put(values).flip());
  }

  static float[] values(FloatBuffer buffer) {
    float[] values = new float[buffer.remaining()];
    buffer.duplicate().get(values);
    return values;
  }

  static float[] values(TensorList list, int index) {
    return values(list.get(index).floats());
  }
}
