// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Reasons of {@link GradstepException}. */
public enum Status {
  /** Ok. */
  OK(core.OK),
  /** An argument breaks a stated rule; the text names it. */
  INVALID_ARGUMENT(core.ERR_INVALID_ARGUMENT),
  /** The call is out of turn, on a handle in use, or in a forked child. */
  INVALID_STATE(core.ERR_INVALID_STATE),
  /** A legal request that this build, engine or device cannot serve. */
  UNSUPPORTED(core.ERR_UNSUPPORTED),
  /** The context's allocator returned NULL. */
  OUT_OF_MEMORY(core.ERR_OUT_OF_MEMORY),
  /** A plugin is missing or does not fit; the text has the loader's own words. */
  BACKEND_UNAVAILABLE(core.ERR_BACKEND_UNAVAILABLE),
  /** A device call failed. */
  DEVICE(core.ERR_DEVICE),
  /** A number is outside what the algorithm can use. */
  NUMERIC(core.ERR_NUMERIC),
  /** A deadline passed while waiting for peers. */
  TIMEOUT(core.ERR_TIMEOUT),
  /** A peer closed its connection or died. */
  PEER_LOST(core.ERR_PEER_LOST),
  /** {@code gradstep_comm_abort} or the context's interrupt ended the call. */
  ABORTED(core.ERR_ABORTED),
  /** Ranks, or a file and a handle, disagree. */
  MISMATCH(core.ERR_MISMATCH),
  /** Reading or writing outside memory failed. */
  IO(core.ERR_IO),
  /** Stored bytes are not what was written. */
  CORRUPT(core.ERR_CORRUPT),
  /** A host callback failed, threw, or did not do its work. */
  CALLBACK(core.ERR_CALLBACK),
  /** A defect of gradstep: please report it. */
  INTERNAL(core.ERR_INTERNAL);

  final int code;

  Status(int code) {
    this.code = code;
  }

  static Status of(long code) {
    for (Status each : values()) {
      if (each.code == code) {
        return each;
      }
    }
    throw new IllegalArgumentException("Status: " + code + " is unknown");
  }
}
