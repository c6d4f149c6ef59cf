// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/platform/system.h"

namespace gradstep::platform {

const char* const kName = "Linux";

std::int64_t thread_number() { return ::syscall(SYS_gettid); }

std::string steady_clock_name() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(boot, id);
  return id;
}

// Up to 256 bytes come at once: not even a signal cuts them short.
std::string fill_random(void* bytes, std::size_t size) {
  return ::getrandom(bytes, size, 0) == static_cast<ssize_t>(size) ? "" : std::strerror(errno);
}

std::int64_t memory_of_machine() noexcept {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
  const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? pages * bytes : 0;
}

void ask_for_huge_pages(void* data, std::size_t bytes) noexcept { madvise(data, bytes, MADV_HUGEPAGE); }

// On Linux a thread has a priority of its own.
void lower_priority() noexcept {
  constexpr int kNiceness = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(thread_number()), kNiceness);
}

}  // namespace gradstep::platform
