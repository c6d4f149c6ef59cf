// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks that are processes, which meet in a folder. */
class ProcessesTest {
  /** The command of a rank of this engine. */
  private static List<String> java(String engine) throws URISyntaxException {
    List<String> words = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m", "-XX:TieredStopAtLevel=1"));
    String library = System.getProperty("org.gradstep.library");
    if (library != null) {
      words.add("-Dorg.gradstep.library=" + library);
    }
    words.addAll(List.of("-cp", placeOf(ProcessRank.class) + File.pathSeparator + placeOf(Context.class),
        ProcessRank.class.getName(), engine));
    return words;
  }

  private static List<String> run(Path folder, String engine, int worldSize, int dying) throws Exception {
    List<Process> processes = new ArrayList<>();
    for (int rank = 0; rank < worldSize; rank++) {
      List<String> words = java(engine);
      words.addAll(
          List.of(folder.resolve("store").toString(), Integer.toString(rank), Integer.toString(worldSize)));
      if (rank == dying) {
        words.add("die");
      }
      ProcessBuilder process = new ProcessBuilder(words);
      process.environment().putAll(Map.of("RANK", Integer.toString(rank), "WORLD_SIZE", Integer.toString(worldSize),
          "LOCAL_WORLD_SIZE", Integer.toString(worldSize)));
      processes.add(process
          .redirectOutput(folder.resolve("rank" + rank).toFile())
          .redirectError(ProcessBuilder.Redirect.INHERIT)
          .start());
    }
    List<String> outputs = new ArrayList<>();
    for (int rank = 0; rank < worldSize; rank++) {
      assertTrue(processes.get(rank).waitFor(120, TimeUnit.SECONDS));
      outputs.add(Files.readString(folder.resolve("rank" + rank)).trim());
    }
    return outputs;
  }

  /** The folder or jar that a class is in. */
  private static String placeOf(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
  }

  @ParameterizedTest
  @ValueSource(strings = {"auto", "gloo"})
  void theyStepByTheMeanOfTheirGradients(String engine, @TempDir Path folder) throws Exception {
    // two steps of 0.5 by the mean gradient (1, 2, 3) of ranks 0, 1 and 2
    assertEquals(List.of("[0.0, 0.0, 0.0]", "[0.0, 0.0, 0.0]", "[0.0, 0.0, 0.0]"), run(folder, engine, 3, -1));
  }

  @Test
  void thoseOfALauncherConnectByItsVariables(@TempDir Path folder) throws Exception {
    assertEquals(List.of("0 of 2 by shm", "1 of 2 by shm"), run(folder, "launched", 2, -1));
  }

  @Test
  void thoseOfMpirunTrainOneModel(@TempDir Path folder) throws Exception {
    assumeTrue(Gradstep.backendAvailable("mpi") && hasMpirun(), "no plugin of MPI, or no mpirun");
    List<String> words = new ArrayList<>(List.of("mpirun", "-n", "2", "--allow-run-as-root", "--oversubscribe"));
    words.addAll(java("mpi"));
    Path output = folder.resolve("output");
    Process process = new ProcessBuilder(words).redirectOutput(output.toFile())
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    assertTrue(process.waitFor(120, TimeUnit.SECONDS));
    List<String> lines = Files.readAllLines(output).stream().filter(line -> !line.isBlank()).toList();
    assertEquals(List.of("mpi [0.5, 1.0]", "mpi [0.5, 1.0]"), lines);
  }

  private static boolean hasMpirun() {
    return Stream.of(System.getenv("PATH").split(File.pathSeparator))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "mpirun")));
  }

  @Test
  void theyAreToldThatOneDied(@TempDir Path folder) throws Exception {
    assertEquals(List.of("GRADSTEP_ERR_PEER_LOST", "", "GRADSTEP_ERR_PEER_LOST"), run(folder, "shm", 3, 1));
  }
}
