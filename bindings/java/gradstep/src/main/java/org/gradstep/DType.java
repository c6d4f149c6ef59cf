// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

/** Types of elements. */
public enum DType {
  /** 32-bit floating point. */
  F32(core.TYPE_FLOAT, 32),
  /** 64-bit floating point. */
  F64(core.TYPE_FLOAT, 64),
  /** IEEE half precision. */
  F16(core.TYPE_FLOAT, 16),
  /** The upper half of an F32. */
  BF16(core.TYPE_BFLOAT, 16),
  /** 32-bit integers: indices, and what communicators carry. */
  I32(core.TYPE_INT, 32),
  /** 64-bit integers: indices, and what communicators carry. */
  I64(core.TYPE_INT, 64),
  /** 8-bit integers, for collectives that move elements and do not reduce them. */
  I8(core.TYPE_INT, 8),
  /** Bytes, for collectives that move elements and do not reduce them: with these, elements of any other type. */
  U8(core.TYPE_UINT, 8);

  final int code;
  final int bits;

  DType(int code, int bits) {
    this.code = code;
    this.bits = bits;
  }

  static DType of(long code, long bits) {
    for (DType type : values()) {
      if (type.code == code && type.bits == bits) {
        return type;
      }
    }
    throw new IllegalArgumentException("no dtype of code " + code + " and " + bits + " bits");
  }
}
