// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Levels of {@link Context.Log}. */
public enum LogLevel {
  /** Off. */
  OFF(core.LOG_OFF),
  /** Error. */
  ERROR(core.LOG_ERROR),
  /** Warning. */
  WARNING(core.LOG_WARNING),
  /** Info. */
  INFO(core.LOG_INFO),
  /** Debug. */
  DEBUG(core.LOG_DEBUG);

  final int code;

  LogLevel(int code) {
    this.code = code;
  }

  static LogLevel of(long code) {
    for (LogLevel each : values()) {
      if (each.code == code) {
        return each;
      }
    }
    throw new IllegalArgumentException("LogLevel: " + code + " is unknown");
  }
}
