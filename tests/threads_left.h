// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How many threads a process has. One that has been joined is listed until the kernel has taken it away.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace gradstep::test {

inline std::ptrdiff_t directory_entries(const char* path) {
  return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
}

/// As soon as they are no more than `most`, and after a second at the latest.
inline std::ptrdiff_t threads_left(std::ptrdiff_t most) {
  std::ptrdiff_t threads = directory_entries("/proc/self/task");
  for (int looks = 0; threads > most && looks < 1000; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    threads = directory_entries("/proc/self/task");
  }
  return threads;
}

}  // namespace gradstep::test
