// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** DLPack device types that gradstep knows. */
public enum DeviceType {
  /** Cpu. */
  CPU(core.DEVICE_CPU),
  /** Cuda. */
  CUDA(core.DEVICE_CUDA),
  /** Host memory that is pinned for CUDA: the same as CPU everywhere, deviceId ignored. */
  CUDA_HOST(core.DEVICE_CUDA_HOST);

  final int code;

  DeviceType(int code) {
    this.code = code;
  }

  static DeviceType of(long code) {
    for (DeviceType each : values()) {
      if (each.code == code) {
        return each;
      }
    }
    throw new IllegalArgumentException("DeviceType: " + code + " is unknown");
  }
}
