// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.file.Path;

/** The library that is loaded, and its plugins. Any thread. */
public final class Gradstep {
  private Gradstep() {}

  /**
   * The library's version.
   *
   * @return "major.minor.patch"
   */
  public static String version() {
    return core.version_string();
  }

  /**
   * The version of the C interface.
   *
   * @return major &lt;&lt; 16 | minor
   */
  public static int abiVersion() {
    return (int) core.abi_version();
  }

  /**
   * How the library was built: compiler, instruction sets, backends, engines.
   *
   * @return a JSON object
   */
  public static String buildInfo() {
    return Text.read(core::build_info);
  }

  /**
   * Opens a plugin, for good.
   *
   * @param path of libgradstep_cuda.so, say
   */
  public static void loadBackend(Path path) {
    core.backend_load(path.toString());
  }

  /**
   * From here on this process writes what it does into a new file, as Trace Event JSON.
   *
   * @param path of the file; null = as ranges of NVTX alone
   */
  public static void traceStart(Path path) {
    core.trace_start(path == null ? null : path.toString());
  }

  /** Completes the file of {@link #traceStart}. Nothing where no trace is on. */
  public static void traceStop() {
    core.trace_stop();
  }

  /**
   * Whether a backend or engine works here.
   *
   * @param name "cpu", "cuda", "self", "local", "shm", "host", "gloo", "mpi" or "nccl"
   * @return false also for unknown names
   */
  public static boolean backendAvailable(String name) {
    return core.backend_available(name) != 0;
  }

  /**
   * The old name of {@link #backendAvailable}.
   *
   * @param name as of {@link #backendAvailable}
   * @return whether it can be used
   * @deprecated use backendAvailable
   */
  @Deprecated
  public static boolean isAvailable(String name) {
    return backendAvailable(name);
  }

  /**
   * Why a backend or engine is or is not available.
   *
   * @param name as of {@link #backendAvailable}
   * @return "ok", or the loader's words
   */
  public static String backendStatus(String name) {
    return Text.read(bytes -> core.backend_status(name, bytes));
  }

  /**
   * The old name of {@link #backendStatus}.
   *
   * @param name as of {@link #backendAvailable}
   * @return "ok", or the reason
   * @deprecated use backendStatus
   */
  @Deprecated
  public static String availability(String name) {
    return backendStatus(name);
  }
}
