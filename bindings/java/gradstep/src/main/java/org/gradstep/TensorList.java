// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.Buffer;
import java.util.Arrays;

/** The tensors of a call, one for each parameter, kept from call to call: a call with it makes no objects. */
public final class TensorList extends Handle {
  private Object[] owners = new Object[0];
  private boolean[] readOnly = new boolean[0];
  private long data;
  private int size;

  private TensorList(long address) {
    super("tensor list", address, core::tensor_list_destroy);
  }

  /**
   * A list of tensors.
   *
   * @param tensors in the order of the parameters; null is a gradient that is absent
   * @return the list, the caller's to close
   */
  public static TensorList of(Tensor... tensors) {
    TensorList list = new TensorList(core.tensor_list_create());
    list.owners = new Object[tensors.length];
    list.readOnly = new boolean[tensors.length];
    for (int i = 0; i < tensors.length; i++) {
      Tensor tensor = tensors[i] == null ? Tensor.ofAddress(0, DType.F32) : tensors[i];
      core.tensor_list_push(list.resource.address, tensor.address, tensor.typeCode, tensor.bits, tensor.deviceType,
          tensor.deviceId, tensor.shape.length, tensor.shape, tensor.strides);
      list.owners[i] = tensor.owner;
      list.readOnly[i] = tensor.readOnly;
    }
    list.size = tensors.length;
    list.data = core.tensor_list_data(list.resource.address);
    return list;
  }

  /**
   * A list of vectors.
   *
   * @param buffers direct, one for each parameter
   * @return the list, the caller's to close
   */
  public static TensorList of(Buffer... buffers) {
    Tensor[] tensors = new Tensor[buffers.length];
    for (int i = 0; i < buffers.length; i++) {
      tensors[i] = Tensor.of(buffers[i], Tensor.dtypeOf(buffers[i]), "buffers[" + i + "]");
    }
    return of(tensors);
  }

  /**
   * Points an entry at another buffer, from its position on, of the same shape and dtype.
   *
   * @param index from 0
   * @param buffer direct, with enough left for the entry
   */
  public void set(int index, Buffer buffer) {
    resource.enterAlone();
    try {
      if (index < 0 || index >= size) {
        throw new IllegalArgumentException("index: is " + index + ", the list has " + size + " tensors");
      }
      Tensor.check(buffer, DType.F32, "buffer");
      core.tensor_list_set_data(resource.address, index, Tensor.addressOf(buffer),
          (long) buffer.remaining() * Tensor.elementBytes(buffer));
      owners[index] = buffer;
      readOnly[index] = buffer.isReadOnly();
    } finally {
      resource.leaveAlone();
    }
  }

  /**
   * Points all entries at foreign memory, which the caller keeps while the list is in use.
   *
   * @param addresses one for each entry; 0 is a gradient that is absent
   */
  public void setAddresses(long... addresses) {
    resource.enterAlone();
    try {
      core.tensor_list_set_addresses(resource.address, addresses);
      Arrays.fill(owners, null);
      Arrays.fill(readOnly, false);
    } finally {
      resource.leaveAlone();
    }
  }

  /**
   * How many tensors there are.
   *
   * @return the number
   */
  public int size() {
    return size;
  }

  static Resource resourceOf(TensorList list) {
    return list == null ? null : list.resource;
  }

  /** The C array of a list that is entered. */
  long read(String argument, int expected) {
    if (size != expected) {
      throw new IllegalArgumentException(argument + ": has " + size + " tensors, expected " + expected);
    }
    return data;
  }

  long write(String argument) {
    for (int i = 0; i < size; i++) {
      if (readOnly[i]) {
        throw new IllegalArgumentException(argument + "[" + i + "]: the buffer is read-only");
      }
    }
    return data;
  }
}
