// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/**
 * The emulated CUDA device of tests/cuda/emulation, in the folder that GRADSTEP_EMULATED_CUDA names. Its memory is out of
 * the host's reach: copies and kernels alone get there.
 */
final class EmulatedDevice {
  static final Path PLUGIN = System.getenv("GRADSTEP_EMULATED_CUDA") == null
      ? null
      : Path.of(System.getenv("GRADSTEP_EMULATED_CUDA"), "libgradstep_cuda.so");

  // Places in gradstep::emulation::Control.
  private static final int MAKE_STREAM = 4;
  private static final int ALLOCATE = 9;
  private static final int DEALLOCATE = 10;
  private static final int COPY = 11;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final MemorySegment CONTROL = control();

  private EmulatedDevice() {}

  private static MemorySegment control() {
    Gradstep.loadBackend(PLUGIN);
    MemorySegment function =
        SymbolLookup.libraryLookup(PLUGIN, Arena.global()).find("gradstep_cuda_emulation").orElseThrow();
    try {
      MemorySegment found =
          (MemorySegment) LINKER.downcallHandle(function, FunctionDescriptor.of(ValueLayout.ADDRESS)).invokeExact();
      return found.reinterpret(16 * ValueLayout.ADDRESS.byteSize());
    } catch (Throwable error) {
      throw new IllegalStateException(error);
    }
  }

  private static Object call(int place, FunctionDescriptor form, Object... arguments) {
    MethodHandle function =
        LINKER.downcallHandle(CONTROL.getAtIndex(ValueLayout.ADDRESS, place), form);
    try {
      return function.invokeWithArguments(arguments);
    } catch (Throwable error) {
      throw new IllegalStateException(error);
    }
  }

  private static FunctionDescriptor takes(MemoryLayout... arguments) {
    return FunctionDescriptor.ofVoid(arguments);
  }

  /** The address of a new stream of device 0. */
  static long makeStream() {
    return (long) call(MAKE_STREAM, FunctionDescriptor.of(ValueLayout.JAVA_LONG));
  }

  /** The address of new memory of device 0 that has these numbers. */
  static long upload(float... values) {
    long bytes = 4L * values.length;
    long address = (long) call(ALLOCATE,
        FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG), 0, bytes);
    try (Arena arena = Arena.ofConfined()) {
      copy(address, arena.allocateFrom(ValueLayout.JAVA_FLOAT, values).address(), bytes);
    }
    return address;
  }

  /** What device memory has when all that was queued is done. */
  static float[] download(long address, int count) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(ValueLayout.JAVA_FLOAT, count);
      copy(memory.address(), address, memory.byteSize());
      return memory.toArray(ValueLayout.JAVA_FLOAT);
    }
  }

  static void free(long address) {
    call(DEALLOCATE, takes(ValueLayout.JAVA_LONG), address);
  }

  private static void copy(long to, long from, long bytes) {
    call(COPY, takes(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG), to, from, bytes);
  }
}
