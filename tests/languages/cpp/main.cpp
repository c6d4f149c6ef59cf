// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// usage: languages_cpp --vectors DIR [--trace]. Makes the calls of all scripts in DIR through the C++ layer, and prints
// a hash for each (README.md one folder up). Scripts are read by the C runner's script.c.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "rank.hpp"

namespace {

void run_script(const std::string& directory, const std::string& file_name, bool trace) {
  script own;
  read_script(directory.c_str(), file_name.c_str(), &own);
  const bool several = own.n_lines > 0 && std::strcmp(own.lines[0].call, "ranks") == 0;
  const auto n_ranks = static_cast<std::int32_t>(several ? integer_of(&own.lines[0], "n", 1) : 1);
  const gradstep::Context context;
  auto comms = gradstep::Communicator::local(context, n_ranks);
  std::deque<languages::Rank> ranks;
  std::vector<std::thread> threads;
  for (std::int32_t i = 0; i < n_ranks; ++i) {
    languages::Rank& rank = ranks.emplace_back(own, directory, i, context, comms[static_cast<std::size_t>(i)], trace);
    threads.emplace_back([&rank] { rank.run(); });
  }
  std::uint64_t hash = HASH_START;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads[i].join();
    const std::uint64_t of_rank = ranks[i].hash();
    hash = hash_bytes(hash, &of_rank, sizeof of_rank);
  }
  std::printf("%s %016" PRIx64 "\n", own.name, hash);
  free_script(&own);
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  bool trace = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--trace") == 0) {
      trace = true;
    } else if (std::strcmp(argv[i], "--vectors") == 0 && i + 1 < argc) {
      directory = argv[++i];
    } else {
      die(nullptr, "usage: %s --vectors DIR [--trace]", argv[0]);
    }
  }
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".script") names.push_back(entry.path().filename());
  }
  if (names.empty()) die(nullptr, "%s: there are no scripts", directory.c_str());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) run_script(directory, name, trace);
  return 0;
}
