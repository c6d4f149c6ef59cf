// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/** What tensors have of java.lang.foreign. */
abstract class Segments {
  Segments() {}

  /**
   * A view of a native segment, of any size, in the machine's byte order.
   *
   * @param segment has as many elements as the shape
   * @param dtype of its elements
   * @param shape extents; an empty array is a scalar
   * @return the view, which keeps the segment
   */
  public static Tensor of(MemorySegment segment, DType dtype, long... shape) {
    if (!Handle.present(segment, "segment").isNative()) {
      throw new IllegalArgumentException("segment: expected native memory, found memory of the heap");
    }
    long needed = Math.multiplyExact(Tensor.elements(shape), Handle.present(dtype, "dtype").bits / 8);
    if (segment.byteSize() != needed) {
      throw new IllegalArgumentException(
          "segment: has " + segment.byteSize() + " bytes, the shape needs " + needed);
    }
    return new Tensor(
        segment.address(), dtype, Device.CPU, shape.clone(), null, segment.isReadOnly(), segment);
  }

  /**
   * The elements themselves. What the tensor views stays as long as the segment can be reached, unless it is foreign
   * memory.
   *
   * @return a segment of all elements, of any size
   * @throws UnsupportedOperationException if they are on a device, or not compact
   */
  public MemorySegment segment() {
    Tensor tensor = Tensor.alive((Tensor) this, "tensor");
    long size = tensor.count() * tensor.bits / 8;
    if (!tensor.device().isHost() || !tensor.isCompact()) {
      throw new UnsupportedOperationException("tensor: no segment can show " + tensor);
    }
    if (tensor.owner instanceof MemorySegment segment) {
      return segment;
    }
    MemorySegment all = MemorySegment.ofAddress(tensor.address)
        .reinterpret(size, Arena.ofAuto(), closed -> Reference.reachabilityFence(tensor.owner));
    return tensor.readOnly ? all.asReadOnly() : all;
  }

  /** Throws if the memory of an owner that is no buffer may not be used now. */
  static void requireAccess(Object owner, String where) {
    if (!(owner instanceof MemorySegment segment)) {
      return;
    }
    if (!segment.scope().isAlive()) {
      throw new IllegalStateException(where + ": the arena of its segment is closed");
    }
    if (!segment.isAccessibleBy(Thread.currentThread())) {
      throw new WrongThreadException(where + ": the arena of its segment is confined to another thread");
    }
  }
}
