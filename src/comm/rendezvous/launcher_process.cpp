// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "comm/rendezvous/launch.h"

namespace gradstep {

std::int64_t launcher_process(const Launch& launch) {
  const std::string own = fmt::format("{}=", launch.launcher->rank);
  std::int64_t process = ::getppid();
  while (process > 1) {
    std::ifstream environment(fmt::format("/proc/{}/environ", process), std::ios::binary);
    std::ifstream status(fmt::format("/proc/{}/stat", process));
    const std::string started_with = '\0' + std::string(std::istreambuf_iterator<char>(environment), {});
    const std::string line(std::istreambuf_iterator<char>(status), {});
    // Another user's, as Slurm's daemon is, cannot be read.
    if (!environment.good() && started_with.size() == 1) break;
    if (started_with.find('\0' + own) == std::string::npos) break;
    const std::size_t name_ends = line.rfind(')');  // "pid (name) state parent ..."
    if (name_ends == std::string::npos || name_ends + 4 >= line.size()) break;
    process = std::strtoll(line.c_str() + name_ends + 4, nullptr, 10);
  }
  return process;
}

}  // namespace gradstep
