// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/platform/system.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace gradstep::platform {

std::int64_t process_number() { return ::getpid(); }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

void* allocate(std::size_t alignment, std::size_t bytes) noexcept { return std::aligned_alloc(alignment, bytes); }

void deallocate(void* data) noexcept { std::free(data); }

int start_thread(void* (*entry)(void*), void* argument, pthread_t& thread) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&thread, nullptr, entry, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failed;
}

const bool kThreadsRunAtExit = true;

int call_in_forked_children(void (*call)()) noexcept { return pthread_atfork(nullptr, nullptr, call); }

}  // namespace gradstep::platform
