// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/** A view of memory that is not copied: of a direct buffer from its position to its limit, or of an address. */
public final class Tensor {
  final long address;
  final int typeCode;
  final int bits;
  final int deviceType = core.DEVICE_CPU;
  final int deviceId = 0;
  final long[] shape;
  final long[] strides = null;
  final boolean readOnly;
  /** Keeps the memory. */
  final Object owner;

  private Tensor(long address, DType dtype, long[] shape, boolean readOnly, Object owner) {
    this.address = address;
    this.typeCode = dtype.code;
    this.bits = dtype.bits;
    this.shape = shape;
    this.readOnly = readOnly;
    this.owner = owner;
  }

  /**
   * A view of a direct buffer in the machine's byte order.
   *
   * @param buffer of float, double, int or long, whose rest has as many elements as the shape
   * @param shape extents; none = one axis of all that remains
   * @return the view, which keeps the buffer
   */
  public static Tensor of(Buffer buffer, long... shape) {
    return of(buffer, dtypeOf(buffer), "buffer", shape);
  }

  /**
   * A view of bytes.
   *
   * @param buffer direct
   * @param dtype of its elements
   * @param shape extents; none = one axis of all that remains
   * @return the view, which keeps the buffer
   */
  public static Tensor of(ByteBuffer buffer, DType dtype, long... shape) {
    return of(buffer, dtype, "buffer", shape);
  }

  /**
   * A view of foreign memory, which the caller keeps while the tensor is in use.
   *
   * @param address of the first element
   * @param dtype of the elements
   * @param shape extents
   * @return the view
   */
  public static Tensor ofAddress(long address, DType dtype, long... shape) {
    return new Tensor(address, dtype, shape.clone(), false, null);
  }

  static Tensor of(Buffer buffer, DType dtype, String argument, long... shape) {
    long count = check(buffer, dtype, argument);
    long[] extents = shape.length == 0 ? new long[] {count} : shape.clone();
    long needed = 1;
    for (long extent : extents) {
      needed = Math.multiplyExact(needed, extent);
    }
    if (needed != count) {
      throw new IllegalArgumentException(
          argument + ": has " + count + " elements from position to limit, the shape needs " + needed);
    }
    return new Tensor(addressOf(buffer), dtype, extents, buffer.isReadOnly(), buffer);
  }

  /** How many elements of the dtype a buffer has, if it can be taken at all. */
  static long check(Buffer buffer, DType dtype, String argument) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(argument + ": expected a direct buffer, found one on the heap");
    }
    if (orderOf(buffer) != ByteOrder.nativeOrder() && !(buffer instanceof ByteBuffer)) {
      throw new IllegalArgumentException(
          argument + ": expected byte order " + ByteOrder.nativeOrder() + ", found " + orderOf(buffer));
    }
    return (long) buffer.remaining() * elementBytes(buffer) * 8 / dtype.bits;
  }

  static long addressOf(Buffer buffer) {
    return coreJNI.buffer_address(buffer) + (long) buffer.position() * elementBytes(buffer);
  }

  static DType dtypeOf(Buffer buffer) {
    if (buffer instanceof FloatBuffer) {
      return DType.F32;
    }
    if (buffer instanceof DoubleBuffer) {
      return DType.F64;
    }
    if (buffer instanceof IntBuffer) {
      return DType.I32;
    }
    if (buffer instanceof LongBuffer) {
      return DType.I64;
    }
    throw new IllegalArgumentException("buffer: " + buffer.getClass().getSimpleName() + " needs a dtype");
  }

  private static ByteOrder orderOf(Buffer buffer) {
    if (buffer instanceof FloatBuffer floats) {
      return floats.order();
    }
    if (buffer instanceof DoubleBuffer doubles) {
      return doubles.order();
    }
    if (buffer instanceof IntBuffer ints) {
      return ints.order();
    }
    return buffer instanceof LongBuffer longs ? longs.order() : ByteOrder.nativeOrder();
  }

  static int elementBytes(Buffer buffer) {
    if (buffer instanceof DoubleBuffer || buffer instanceof LongBuffer) {
      return 8;
    }
    return buffer instanceof FloatBuffer || buffer instanceof IntBuffer ? 4 : 1;
  }
}
