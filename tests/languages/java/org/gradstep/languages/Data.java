// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.languages;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.gradstep.DType;
import org.gradstep.Tensor;

/** The numbers that scripts generate or read, and the hashes of all numbers. */
final class Data {
  static final long HASH_START = 0xCBF29CE484222325L;

  private static final long HASH_PRIME = 0x100000001B3L;

  private Data() {}

  static DType dtype(String name) {
    return switch (name) {
      case "f32" -> DType.F32;
      case "f64" -> DType.F64;
      case "f16" -> DType.F16;
      case "bf16" -> DType.BF16;
      default -> throw new IllegalArgumentException("dtype: '" + name + "' is unknown");
    };
  }

  static int bytes(DType dtype) {
    return switch (dtype) {
      case F64, I64 -> 8;
      case F32, I32 -> 4;
      default -> 2;
    };
  }

  static long count(long... shape) {
    long count = 1;
    for (long extent : shape) {
      count *= extent;
    }
    return count;
  }

  static ByteBuffer allocate(DType dtype, long count) {
    return ByteBuffer.allocateDirect((int) count * bytes(dtype)).order(ByteOrder.nativeOrder());
  }

  /** The elements that a host would compute. */
  static Tensor generate(int kind, long call, int rank, long parameter, DType dtype, long... shape) {
    long count = count(shape);
    ByteBuffer data = allocate(dtype, count);
    long tensor = mix(mix(mix(mix(kind) ^ call) ^ rank) ^ parameter);
    for (long element = 0; element < count; element++) {
      long word = mix(tensor ^ element);
      int octaves = (int) (word & 7);
      if (bytes(dtype) == 2) {
        put16(data, dtype, (float) Math.scalb((word >>> 56) - 128.0, -7 - octaves));
      } else {
        double value = Math.scalb((word >>> 40) - (double) (1 << 23), -23 - octaves);
        if (dtype == DType.F64) {
          data.putDouble(value);
        } else {
          data.putFloat((float) value);
        }
      }
    }
    return Tensor.of(data.flip(), dtype, shape);
  }

  private static void put16(ByteBuffer data, DType dtype, float value) {
    int bits = Float.floatToRawIntBits(value);
    if (dtype == DType.BF16) {
      data.putShort((short) (bits >>> 16));
    } else {
      data.putShort((short) (value == 0 ? 0 : bits >>> 16 & 0x8000 | (bits >>> 13) - 0x1C000 & 0x7FFF));
    }
  }

  private static long mix(long x) {
    x += 0x9E3779B97F4A7C15L;
    x = (x ^ x >>> 30) * 0xBF58476D1CE4E5B9L;
    x = (x ^ x >>> 27) * 0x94D049BB133111EBL;
    return x ^ x >>> 31;
  }

  static void makeNan(Tensor tensor, int element) {
    ByteBuffer data = tensor.bytes();
    switch (tensor.dtype()) {
      case F64 -> data.putDouble(8 * element, Double.NaN);
      case F32 -> data.putFloat(4 * element, Float.NaN);
      case BF16 -> data.putShort(2 * element, (short) 0x7FC0);
      default -> data.putShort(2 * element, (short) 0x7E00);
    }
  }

  /** The elements of several tensors, one after the other. */
  static Tensor[] read(Path file, DType[] dtypes, long[][] shapes) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
    long expected = 0;
    for (int i = 0; i < dtypes.length; i++) {
      expected += count(shapes[i]) * bytes(dtypes[i]);
    }
    if (bytes.remaining() != expected) {
      throw new IllegalArgumentException(file + ": has " + bytes.remaining() + " bytes, expected " + expected);
    }
    Tensor[] tensors = new Tensor[dtypes.length];
    for (int i = 0; i < dtypes.length; i++) {
      ByteBuffer data = allocate(dtypes[i], count(shapes[i]));
      data.put(bytes.slice(bytes.position(), data.capacity()));
      bytes.position(bytes.position() + data.capacity());
      tensors[i] = Tensor.of(data.flip(), dtypes[i], shapes[i]);
    }
    return tensors;
  }

  static long hash(long start, ByteBuffer bytes) {
    long hash = start;
    for (ByteBuffer rest = bytes.duplicate(); rest.hasRemaining(); ) {
      hash = (hash ^ rest.get() & 0xFF) * HASH_PRIME;
    }
    return hash;
  }

  static long hash(long start, long number, int bytes) {
    long hash = start;
    for (int i = 0; i < bytes; i++) {
      hash = (hash ^ number >>> 8 * i & 0xFF) * HASH_PRIME;
    }
    return hash;
  }
}
