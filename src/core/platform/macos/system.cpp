// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <pthread/qos.h>
#include <sys/random.h>
#include <sys/sysctl.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/platform/dynamic_library.h"
#include "core/platform/system.h"

namespace gradstep::platform {

const char* const kName = "macOS";

namespace {

/// The library's threads run in it whatever the host does with dlclose.
[[maybe_unused]] const void* const kept_loaded =
    dlopen(path_of_library(&kName).c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);

}  // namespace

std::int64_t thread_number() {
  std::uint64_t number = 0;
  pthread_threadid_np(nullptr, &number);
  return static_cast<std::int64_t>(number);
}

std::string steady_clock_name() {
  std::array<char, 64> id{};
  std::size_t size = id.size() - 1;
  return sysctlbyname("kern.bootsessionuuid", id.data(), &size, nullptr, 0) == 0 ? id.data() : "";
}

std::string fill_random(void* bytes, std::size_t size) {
  return ::getentropy(bytes, size) == 0 ? "" : std::strerror(errno);
}

std::int64_t memory_of_machine() noexcept {
  std::int64_t bytes = 0;
  std::size_t size = sizeof bytes;
  return sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
}

void ask_for_huge_pages(void*, std::size_t) noexcept {}

void lower_priority() noexcept { pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0); }

}  // namespace gradstep::platform
