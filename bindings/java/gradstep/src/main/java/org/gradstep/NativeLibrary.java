// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads the JNI library: from the path in the system property org.gradstep.library, else from the jar. What the jar has
 * is copied into a new folder that only this user can enter, with the plugins beside it, where gradstep looks for them.
 */
final class NativeLibrary {
  private static final String LIBRARY = "libgradstep_java.so";
  private static final String[] PLUGINS = {"libgradstep_gloo.so", "libgradstep_mpi.so"};

  private NativeLibrary() {}

  static void load() {
    String path = System.getProperty("org.gradstep.library");
    System.load(path != null ? Path.of(path).toAbsolutePath().toString() : extract().toString());
  }

  private static Path extract() {
    try {
      Path folder = Files.createTempDirectory("gradstep-"); // rwx------ where the system has such permissions
      folder.toFile().deleteOnExit();
      for (String plugin : PLUGINS) {
        copy(plugin, folder);
      }
      Path library = copy(LIBRARY, folder);
      if (library == null) {
        throw new UnsatisfiedLinkError(
            "gradstep: no " + resource(LIBRARY) + " in the jar; set the system property org.gradstep.library");
      }
      return library;
    } catch (IOException error) {
      throw new UncheckedIOException("gradstep: the native library could not be copied out of the jar", error);
    }
  }

  private static String resource(String name) {
    return "/org/gradstep/native/linux-" + System.getProperty("os.arch") + "/" + name;
  }

  private static Path copy(String name, Path folder) throws IOException {
    try (InputStream stored = NativeLibrary.class.getResourceAsStream(resource(name))) {
      if (stored == null) {
        return null;
      }
      Path file = folder.resolve(name);
      Files.copy(stored, file);
      file.toFile().deleteOnExit();
      return file;
    }
  }
}
