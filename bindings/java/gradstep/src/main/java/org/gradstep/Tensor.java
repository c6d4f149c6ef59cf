// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.lang.ref.Reference;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;

/**
 * A view of memory that is not copied: of a direct buffer from its position to its limit, of an address or, from JDK 22
 * on, of a segment ({@code Tensor.of(segment, DType.F32, 4)}). Memory of a java.lang.foreign.Arena is looked at when a
 * call begins: where the arena is closed, or confined to another
 * thread, the call is an {@link IllegalStateException} or a WrongThreadException. The caller keeps the arena open until
 * calls have returned; of the tensor of {@link Optimizer#setTensor}, as long as the optimizer reads it.
 */
public final class Tensor extends Segments {
  // The JNI library reads these by their names.
  final long address;
  final int typeCode;
  final int bits;
  final int deviceType;
  final int deviceId;
  final long[] shape;
  final long[] strides;
  final boolean readOnly;
  /** Keeps the memory. */
  final Object owner;

  Tensor(long address, DType dtype, Device device, long[] shape, long[] strides, boolean readOnly, Object owner) {
    this.address = address;
    this.typeCode = dtype.code;
    this.bits = dtype.bits;
    this.deviceType = device.type().code;
    this.deviceId = device.id();
    this.shape = shape;
    this.strides = strides;
    this.readOnly = readOnly;
    this.owner = owner;
  }

  /**
   * A vector of all that remains in a direct buffer in the machine's byte order.
   *
   * @param buffer of float, double, int or long
   * @return the view, which keeps the buffer
   */
  public static Tensor of(Buffer buffer) {
    return vector(buffer, dtypeOf(buffer, "buffer"), "buffer");
  }

  /**
   * A view of a direct buffer in the machine's byte order.
   *
   * @param buffer of float, double, int or long, whose rest has as many elements as the shape
   * @param shape extents; an empty array is a scalar
   * @return the view, which keeps the buffer
   */
  public static Tensor of(Buffer buffer, long... shape) {
    return of(buffer, dtypeOf(buffer, "buffer"), "buffer", shape);
  }

  /**
   * A vector of bytes.
   *
   * @param buffer direct
   * @param dtype of its elements
   * @return the view, which keeps the buffer
   */
  public static Tensor of(ByteBuffer buffer, DType dtype) {
    return vector(buffer, dtype, "buffer");
  }

  /**
   * A view of bytes.
   *
   * @param buffer direct
   * @param dtype of its elements
   * @param shape extents; an empty array is a scalar
   * @return the view, which keeps the buffer
   */
  public static Tensor of(ByteBuffer buffer, DType dtype, long... shape) {
    return of(buffer, dtype, "buffer", shape);
  }

  static Tensor vector(Buffer buffer, DType dtype, String argument) {
    return of(buffer, dtype, argument, check(buffer, dtype, argument));
  }

  /**
   * A view of foreign memory of this machine, which the caller keeps while the tensor is in use.
   *
   * @param address of the first element
   * @param dtype of the elements
   * @param shape extents
   * @return the view
   */
  public static Tensor ofAddress(long address, DType dtype, long... shape) {
    return ofAddress(address, dtype, Device.CPU, shape, null);
  }

  /**
   * A view of foreign memory, which the caller keeps while the tensor is in use.
   *
   * @param address of the first element; a device pointer on a device
   * @param dtype of the elements
   * @param device where the memory is
   * @param shape extents
   * @param strides in elements, one for each extent; null = compact and row-major
   * @return the view
   */
  public static Tensor ofAddress(long address, DType dtype, Device device, long[] shape, long[] strides) {
    if (strides != null && strides.length != shape.length) {
      throw new IllegalArgumentException(
          "strides: has " + strides.length + " numbers, the shape has " + shape.length);
    }
    elements(shape);
    return new Tensor(address, dtype, device, shape.clone(), strides == null ? null : strides.clone(), false, null);
  }

  private static Tensor of(Buffer buffer, DType dtype, String argument, long... shape) {
    long count = check(buffer, dtype, argument);
    long needed = elements(shape);
    if (needed != count) {
      throw new IllegalArgumentException(
          argument + ": has " + count + " elements from position to limit, the shape needs " + needed);
    }
    return new Tensor(addressOf(buffer), dtype, Device.CPU, shape.clone(), null, buffer.isReadOnly(), buffer);
  }

  /**
   * Where the first element is.
   *
   * @return the address; a device pointer on a device
   */
  public long address() {
    return address;
  }

  /**
   * What the elements are.
   *
   * @return the type
   */
  public DType dtype() {
    return DType.of(typeCode, bits);
  }

  /**
   * Where the memory is.
   *
   * @return the device
   */
  public Device device() {
    return Device.of(deviceType, deviceId);
  }

  /**
   * The extents.
   *
   * @return a copy
   */
  public long[] shape() {
    return shape.clone();
  }

  /**
   * How many elements there are.
   *
   * @return the product of the extents
   */
  public long count() {
    return elements(shape);
  }

  /** How many elements a shape has. */
  static long elements(long[] shape) {
    boolean isEmpty = false;
    for (int axis = 0; axis < shape.length; axis++) {
      if (shape[axis] < 0) {
        throw new IllegalArgumentException("shape[" + axis + "]: is " + shape[axis] + ", expected at least 0");
      }
      isEmpty |= shape[axis] == 0;
    }
    long count = isEmpty ? 0 : 1;
    for (long extent : shape) {
      if (count > 0 && extent > Long.MAX_VALUE / count) {
        throw new IllegalArgumentException(
            "shape: " + Arrays.toString(shape) + " has more elements than a long can count");
      }
      count *= extent;
    }
    return count;
  }

  /**
   * What is shown, not its elements.
   *
   * @return dtype, shape and, where they are not the usual ones, strides and device
   */
  @Override
  public String toString() {
    return "Tensor(" + dtype() + ", " + Arrays.toString(shape)
        + (isCompact() ? "" : ", strides " + Arrays.toString(strides))
        + (device().isHost() ? "" : ", on " + device()) + ")";
  }

  /**
   * The elements themselves, as bytes in the machine's order. What the tensor views stays as long as this buffer can be
   * reached, unless it is foreign memory.
   *
   * @return a direct buffer of all elements
   * @throws UnsupportedOperationException if they are on a device, not compact, or more than a buffer can hold
   */
  public ByteBuffer bytes() {
    alive(this, "tensor");
    long size = count() * bits / 8;
    if (!device().isHost() || !isCompact() || size > Integer.MAX_VALUE) {
      throw new UnsupportedOperationException("tensor: no buffer can show " + size + " bytes on " + device()
          + (isCompact() ? "" : " that are not compact"));
    }
    ByteBuffer all = size == 0 ? ByteBuffer.allocateDirect(0) : (ByteBuffer) coreJNI.buffer_at(address, size);
    Object kept = owner;
    if (kept != null) {
      Handle.CLEANER.register(all, () -> Reference.reachabilityFence(kept));
    }
    return (readOnly ? all.asReadOnlyBuffer() : all).order(ByteOrder.nativeOrder());
  }

  /**
   * The elements of a tensor of F32.
   *
   * @return a direct buffer, see {@link #bytes}
   */
  public FloatBuffer floats() {
    require(DType.F32);
    return bytes().asFloatBuffer();
  }

  /**
   * The elements of a tensor of F64.
   *
   * @return a direct buffer, see {@link #bytes}
   */
  public DoubleBuffer doubles() {
    require(DType.F64);
    return bytes().asDoubleBuffer();
  }

  private void require(DType expected) {
    if (dtype() != expected) {
      throw new IllegalArgumentException("tensor: expected dtype " + expected + ", found " + dtype());
    }
  }

  boolean looksAs(Tensor other) {
    return typeCode == other.typeCode && bits == other.bits && Arrays.equals(shape, other.shape);
  }

  boolean isCompact() {
    long step = 1;
    for (int axis = shape.length - 1; strides != null && axis >= 0; axis--) {
      if (shape[axis] != 1 && strides[axis] != step) {
        return false;
      }
      step *= shape[axis];
    }
    return true;
  }

  /** A tensor whose memory is still there. */
  static Tensor alive(Tensor tensor, String argument) {
    if (tensor != null) {
      requireAlive(tensor.owner, argument, -1);
    }
    return tensor;
  }

  /** Looks at one element, as Java itself looks at buffers of an arena: C would not see that the arena is closed. */
  static void requireAlive(Object owner, String argument, int index) {
    if (!(owner instanceof Buffer buffer)) {
      if (owner != null) {
        requireAccess(owner, index < 0 ? argument : argument + "[" + index + "]");
      }
      return;
    }
    if (buffer.limit() == 0) {
      return;
    }
    try {
      if (buffer instanceof FloatBuffer floats) {
        floats.get(0);
      } else if (buffer instanceof ByteBuffer bytes) {
        bytes.get(0);
      } else if (buffer instanceof DoubleBuffer doubles) {
        doubles.get(0);
      } else if (buffer instanceof LongBuffer longs) {
        longs.get(0);
      } else if (buffer instanceof IntBuffer ints) {
        ints.get(0);
      }
    } catch (IllegalStateException closed) {
      throw new IllegalStateException(argument + (index < 0 ? "" : "[" + index + "]")
          + ": the arena of its buffer is closed: " + closed.getMessage(), closed);
    }
  }

  /** A tensor that a call writes to. */
  static Tensor writable(Tensor tensor, String argument) {
    if (tensor != null && tensor.readOnly) {
      throw new IllegalArgumentException(argument + ": the memory is read-only");
    }
    return tensor;
  }

  /** How many elements of the dtype a buffer has, if it can be taken at all. */
  private static long check(Buffer buffer, DType dtype, String argument) {
    long bytes = bytesOf(buffer, argument);
    if (bytes % (dtype.bits / 8) != 0) {
      throw new IllegalArgumentException(argument + ": has " + bytes
          + " bytes from position to limit, expected a multiple of " + dtype.bits / 8 + ", the size of " + dtype);
    }
    return bytes / (dtype.bits / 8);
  }

  /** How many bytes a buffer has from position to limit, if it can be taken at all. */
  static long bytesOf(Buffer buffer, String argument) {
    if (buffer == null) {
      throw new IllegalArgumentException(argument + ": is null");
    }
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(argument + ": expected a direct buffer, found one on the heap");
    }
    if (orderOf(buffer) != ByteOrder.nativeOrder() && !(buffer instanceof ByteBuffer)) {
      throw new IllegalArgumentException(
          argument + ": expected byte order " + ByteOrder.nativeOrder() + ", found " + orderOf(buffer)
          + "; new ByteBuffers, also those of MemorySegment.asByteBuffer(), are in BIG_ENDIAN: view them by"
          + " order(ByteOrder.nativeOrder()).asFloatBuffer() and so on");
    }
    return (long) buffer.remaining() * elementBytes(buffer);
  }

  static long addressOf(Buffer buffer) {
    return coreJNI.buffer_address(buffer) + (long) buffer.position() * elementBytes(buffer);
  }

  static DType dtypeOf(Buffer buffer, String argument) {
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
    throw new IllegalArgumentException(
        argument + (buffer == null ? ": is null" : ": " + buffer.getClass().getSimpleName() + " needs a dtype"));
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
