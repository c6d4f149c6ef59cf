// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep.languages;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.gradstep.Communicator;
import org.gradstep.Context;

/** Makes the calls of all scripts in a folder from Java, and prints a hash for each (tests/languages/README.md). */
public final class Main {
  private final Path script;
  private final boolean trace;
  private final List<Line> lines = new ArrayList<>();
  private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());

  private Main(Path script, boolean trace) throws IOException {
    this.script = script;
    this.trace = trace;
    List<String> texts = Files.readAllLines(script, StandardCharsets.US_ASCII);
    for (int i = 0; i < texts.size(); i++) {
      if (!texts.get(i).isBlank() && !texts.get(i).startsWith("#")) {
        lines.add(Line.parse(i + 1, texts.get(i)));
      }
    }
  }

  /**
   * The runner.
   *
   * @param arguments --vectors DIR [--trace]
   */
  public static void main(String[] arguments) throws Exception {
    List<String> words = List.of(arguments);
    int folder = words.indexOf("--vectors") + 1;
    if (folder == 0 || folder >= words.size()) {
      System.err.println("usage: --vectors DIR [--trace]");
      System.exit(1);
    }
    List<Path> scripts;
    try (Stream<Path> files = Files.list(Path.of(words.get(folder)))) {
      scripts = files.filter(file -> file.toString().endsWith(".script"))
          .sorted(Comparator.comparing(file -> file.getFileName().toString()))
          .toList();
    }
    for (Path script : scripts) {
      Main run = new Main(script, words.contains("--trace"));
      System.out.printf("%s %016x%n", run.name(), run.run());
    }
    if (scripts.isEmpty()) {
      System.err.println(words.get(folder) + ": there are no scripts");
      System.exit(1);
    }
  }

  private String name() {
    return script.getFileName().toString().replaceAll("\\.script$", "");
  }

  private long run() throws InterruptedException {
    int worldSize = lines.get(0).call().equals("ranks") ? lines.remove(0).integer("n", 1) : 1;
    try (Context context = new Context()) {
      List<Communicator> comms = Communicator.local(context, worldSize);
      List<Rank> ranks = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < worldSize; i++) {
        int index = i;
        Rank rank = new Rank(script.toAbsolutePath().getParent(), index, comms.get(index), context);
        ranks.add(rank);
        threads.add(new Thread(() -> run(rank, index, comms)));
      }
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }
      comms.forEach(Communicator::close);
      if (!failures.isEmpty()) {
        failures.get(0).printStackTrace();
        System.exit(1);
      }
      long hash = Data.HASH_START;
      for (Rank rank : ranks) {
        hash = Data.hash(hash, rank.hash(), 8);
      }
      return hash;
    }
  }

  private void run(Rank rank, int index, List<Communicator> comms) {
    for (Line line : lines) {
      try {
        if (line.call().equals("parameter")) {
          rank.addParameter(line);
          continue;
        }
        for (int i = 0; line.integer("only", index) == index && i < line.integer("times", 1); i++) {
          rank.run(line);
          if (trace) {
            System.err.printf("%s %d %d %s %016x%n", name(), index, line.number(), line.call(), rank.hash());
          }
        }
      } catch (Exception error) {
        failures.add(new IllegalStateException(script + ":" + line.number() + ": " + line.call(), error));
        comms.forEach(Communicator::abort);
        return;
      }
    }
  }
}
