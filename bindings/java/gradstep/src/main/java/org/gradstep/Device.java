// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/**
 * Where memory is, in DLPack's numbers.
 *
 * @param type a constant of {@link Constants} whose name begins with DEVICE_
 * @param id the device's number; 0 on the CPU
 */
public record Device(int type, int id) {
  /** The machine's own memory. */
  public static final Device CPU = new Device(core.DEVICE_CPU, 0);

  /** The machine's own memory, pinned for CUDA: the same as {@link #CPU} everywhere. */
  public static final Device CUDA_HOST = new Device(core.DEVICE_CUDA_HOST, 0);

  /**
   * A CUDA device.
   *
   * @param id its number
   * @return the device
   */
  public static Device cuda(int id) {
    return new Device(core.DEVICE_CUDA, id);
  }

  boolean isHost() {
    return type == core.DEVICE_CPU || type == core.DEVICE_CUDA_HOST;
  }
}
