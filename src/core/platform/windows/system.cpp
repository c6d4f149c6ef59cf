// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/platform/system.h"

#include <malloc.h>
#include <windows.h>

#include <bcrypt.h>

#include <array>
#include <cstdlib>

#include "core/platform/windows/wide.h"

namespace gradstep::platform {

const char* const kName = "Windows";

namespace {

/// The library's threads run in it whatever the host does with FreeLibrary.
[[maybe_unused]] const bool kept_loaded = [] {
  HMODULE library = nullptr;
  constexpr DWORD kForEver = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
  return GetModuleHandleExW(kForEver, reinterpret_cast<LPCWSTR>(&kName), &library) != 0;
}();

}  // namespace

std::int64_t process_number() { return GetCurrentProcessId(); }

std::int64_t thread_number() { return GetCurrentThreadId(); }

std::string environment(const char* name) {
  constexpr DWORD kLongest = 32768;
  std::wstring value(kLongest, L'\0');
  value.resize(GetEnvironmentVariableW(wide(name).c_str(), value.data(), kLongest));
  return narrow(value);
}

std::string host_name() {
  std::array<wchar_t, 256> name{};
  DWORD length = name.size();
  const bool is_known = GetComputerNameExW(ComputerNamePhysicalDnsHostname, name.data(), &length) != 0;
  return is_known ? narrow({name.data(), length}) : "?";
}

// The counter counts from the machine's start, which Windows tells by no name and no exact time.
std::string steady_clock_name() { return ""; }

std::string fill_random(void* bytes, std::size_t size) {
  const NTSTATUS status =
      BCryptGenRandom(nullptr, static_cast<PUCHAR>(bytes), static_cast<ULONG>(size), BCRYPT_USE_SYSTEM_PREFERRED_RNG);
  return status == 0 ? "" : "BCryptGenRandom returned " + std::to_string(status);
}

std::int64_t memory_of_machine() noexcept {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return GlobalMemoryStatusEx(&status) != 0 ? static_cast<std::int64_t>(status.ullTotalPhys) : 0;
}

void* allocate(std::size_t alignment, std::size_t bytes) noexcept { return _aligned_malloc(bytes, alignment); }

void deallocate(void* data) noexcept { _aligned_free(data); }

void ask_for_huge_pages(void*, std::size_t) noexcept {}

int start_thread(void* (*entry)(void*), void* argument, pthread_t& thread) noexcept {
  return pthread_create(&thread, nullptr, entry, argument);
}

void lower_priority() noexcept { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL); }

const bool kThreadsRunAtExit = false;

int call_in_forked_children(void (*)()) noexcept { return 0; }

}  // namespace gradstep::platform
