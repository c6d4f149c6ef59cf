// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.Buffer;
import java.util.Arrays;
import java.util.function.LongConsumer;

/**
 * The tensors of a call, one for each parameter, kept from call to call: a call with it makes no objects. Lists that
 * handles give are views of what these own, which stays as long as the list is open, or a tensor of it can be reached.
 */
public final class TensorList extends Handle {
  private final int size;
  private final long data;
  private final Object[] owners;
  private final boolean[] readOnly;
  /** Whose memory this shows; null for a list of the host's own tensors. */
  private final Resource source;

  private TensorList(long address, int size, Resource source) {
    super("tensor list", address, source == null ? core::tensor_list_destroy : destroyView(source));
    this.size = size;
    this.data = core.tensor_list_data(address);
    this.owners = new Object[size];
    this.readOnly = new boolean[size];
    this.source = source;
    resource.borrowed = owners;
  }

  private static LongConsumer destroyView(Resource source) {
    return address -> {
      core.tensor_list_destroy(address);
      source.leave();
    };
  }

  /**
   * A list of tensors.
   *
   * @param tensors in the order of the parameters; null is a gradient that is absent
   * @return the list, the caller's to close
   */
  public static TensorList of(Tensor... tensors) {
    long address = core.tensor_list_create();
    try {
      for (Tensor tensor : present(tensors, "tensors")) {
        if (tensor == null) {
          pushAbsent(address);
        } else {
          core.tensor_list_push(address, tensor.address, tensor.typeCode, tensor.bits, tensor.deviceType,
              tensor.deviceId, tensor.shape.length, tensor.shape, tensor.strides);
        }
      }
    } catch (RuntimeException | Error error) {
      core.tensor_list_destroy(address);
      throw error;
    }
    TensorList list = new TensorList(address, tensors.length, null);
    for (int i = 0; i < tensors.length; i++) {
      if (tensors[i] != null) {
        list.owners[i] = tensors[i].owner;
        list.readOnly[i] = tensors[i].readOnly;
      }
    }
    return list;
  }

  /**
   * A list of vectors.
   *
   * @param buffers direct, one for each parameter
   * @return the list, the caller's to close
   */
  public static TensorList of(Buffer... buffers) {
    Tensor[] tensors = new Tensor[present(buffers, "buffers").length];
    for (int i = 0; i < buffers.length; i++) {
      String argument = "buffers[" + i + "]";
      tensors[i] = Tensor.vector(buffers[i], Tensor.dtypeOf(buffers[i], argument), argument);
    }
    return of(tensors);
  }

  private static void pushAbsent(long address) {
    core.tensor_list_push(address, 0, DType.F32.code, DType.F32.bits, core.DEVICE_CPU, 0, 0, new long[0], null);
  }

  interface Fill {
    void call(long handle, long tensors, long n);
  }

  /** What a call of the handle, which is entered, shows by views. */
  static TensorList views(Resource handle, int n, Fill fill) {
    long address = core.tensor_list_create();
    try {
      for (int i = 0; i < n; i++) {
        pushAbsent(address);
      }
      fill.call(handle.address, core.tensor_list_data(address), n);
    } catch (RuntimeException | Error error) {
      core.tensor_list_destroy(address);
      throw error;
    }
    handle.retain();
    return new TensorList(address, n, handle);
  }

  /**
   * Points an entry at another buffer, from its position on, of the same shape and dtype.
   *
   * @param index from 0
   * @param buffer direct, with enough left for the entry
   */
  public void set(int index, Buffer buffer) {
    long bytes = Tensor.bytesOf(buffer, "buffer");
    point(index, Tensor.addressOf(buffer), bytes, buffer, buffer.isReadOnly());
  }

  /**
   * Points an entry at another tensor, of the same shape and dtype.
   *
   * @param index from 0
   * @param tensor in the machine's own memory, compact
   */
  public void set(int index, Tensor tensor) {
    Tensor.alive(present(tensor, "tensor"), "tensor");
    if (!tensor.device().isHost() || !tensor.isCompact()) {
      throw new IllegalArgumentException("tensor: expected compact memory of this machine, found " + tensor);
    }
    Tensor shown = get(index);
    if (shown != null && !shown.looksAs(tensor)) {
      throw new IllegalArgumentException("tensor: is " + tensor + ", expected " + shown);
    }
    point(index, tensor.address, tensor.count() * tensor.bits / 8, tensor.owner, tensor.readOnly);
  }

  private void point(int index, long address, long bytes, Object owner, boolean isReadOnly) {
    resource.enterAlone();
    try {
      requireOwn();
      check(index);
      core.tensor_list_set_data(resource.address, index, address, bytes);
      owners[index] = owner;
      readOnly[index] = isReadOnly;
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
      requireOwn();
      core.tensor_list_set_addresses(resource.address, addresses);
      Arrays.fill(owners, null);
      Arrays.fill(readOnly, false);
    } finally {
      resource.leaveAlone();
    }
  }

  /**
   * One tensor.
   *
   * @param index from 0
   * @return what the list shows there; null where nothing is
   */
  public Tensor get(int index) {
    long list = resource.enter();
    try {
      check(index);
      long[] facts = new long[6 + 2 * 32];
      core.describe_tensor(list, index, facts);
      if (facts[0] == 0) {
        return null;
      }
      int ndim = (int) facts[5];
      return new Tensor(facts[0], DType.of(facts[1], facts[2]), Device.of(facts[3], facts[4]),
          Arrays.copyOfRange(facts, 6, 6 + ndim), Arrays.copyOfRange(facts, 6 + ndim, 6 + 2 * ndim), readOnly[index],
          source == null ? owners[index] : new Lease(source));
    } finally {
      resource.leave();
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

  private void check(int index) {
    if (index < 0 || index >= size) {
      throw new IllegalArgumentException("index: is " + index + ", the list has " + size + " tensors");
    }
  }

  private void requireOwn() {
    if (source != null) {
      throw new IllegalStateException("tensor list: shows views, which cannot be pointed elsewhere");
    }
  }

  /** The C array of a list that is entered. */
  long read(String argument, int expected) {
    requireSize(argument, expected);
    return read(argument);
  }

  private void requireSize(String argument, int expected) {
    if (size != expected) {
      throw new IllegalArgumentException(argument + ": has " + size + " tensors, expected " + expected);
    }
  }

  long read(String argument) {
    for (int i = 0; i < size; i++) {
      Tensor.requireAlive(owners[i], argument, i);
    }
    return data;
  }

  /** As above, of tensors that the call writes to. */
  long write(String argument, int expected) {
    requireSize(argument, expected);
    return write(argument);
  }

  long write(String argument) {
    read(argument);
    for (int i = 0; i < size; i++) {
      if (readOnly[i]) {
        throw new IllegalArgumentException(argument + "[" + i + "]: the memory is read-only");
      }
    }
    return data;
  }

  /** Keeps what a C object owns for as long as this can be reached. */
  private static final class Lease {
    Lease(Resource source) {
      source.retain();
      CLEANER.register(this, source::leave);
    }
  }
}
