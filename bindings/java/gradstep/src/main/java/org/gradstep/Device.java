// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * Where memory is.
 *
 * @param type of memory
 * @param id the device's number; 0 on the CPU
 */
public record Device(DeviceType type, int id) {
  /** The machine's own memory. */
  public static final Device CPU = new Device(DeviceType.CPU, 0);

  /** The machine's own memory, pinned for CUDA: the same as {@link #CPU} everywhere. */
  public static final Device CUDA_HOST = new Device(DeviceType.CUDA_HOST, 0);

  /**
   * A CUDA device.
   *
   * @param id its number
   * @return the device
   */
  public static Device cuda(int id) {
    return new Device(DeviceType.CUDA, id);
  }

  static Device of(long type, long id) {
    return new Device(DeviceType.of(type), (int) id);
  }

  boolean isHost() {
    return type != DeviceType.CUDA;
  }
}
