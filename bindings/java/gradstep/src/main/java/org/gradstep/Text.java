// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.charset.StandardCharsets;
import java.util.function.ToLongFunction;

/** Text on its way between Java and C: UTF-8 that a NUL ends. */
final class Text {
  private Text() {}

  static byte[] utf8(String text, String argument) {
    if (text == null) {
      return null;
    }
    if (text.indexOf('\0') >= 0) {
      throw new IllegalArgumentException(argument + ": contains a NUL at index " + text.indexOf('\0'));
    }
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String of(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
  }

  /** What a function writes that is called twice: for the length with the NUL, and for the text. */
  static String read(ToLongFunction<byte[]> function) {
    byte[] bytes = bytes(function);
    return new String(bytes, 0, bytes.length - 1, StandardCharsets.UTF_8);
  }

  static byte[] bytes(ToLongFunction<byte[]> function) {
    byte[] bytes = new byte[Math.toIntExact(function.applyAsLong(null))];
    function.applyAsLong(bytes);
    return bytes;
  }
}
