// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a system says of itself and of this process, and how its threads are started.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gradstep::platform {

/// "Linux", "macOS" or "Windows".
extern const char* const kName;

std::int64_t process_number();
/// That of the calling thread; no other thread of the process has it.
std::int64_t thread_number();

/// The value of a variable of the process's environment, in UTF-8; empty = it is not set.
std::string environment(const char* name);

/// As gethostname says it; "?" if it does not.
std::string host_name();

/// Processes that get the same text have one clock of steady time; empty = the system does not say.
std::string steady_clock_name();

/// Bytes that cannot be guessed, at most 256. Empty = they are there; else why not.
std::string fill_random(void* bytes, std::size_t size);

/// Bytes of the machine's memory; 0 = the system does not say.
std::int64_t memory_of_machine() noexcept;

/// `alignment` is a power of two, `bytes` a multiple of it. NULL = there is none left.
void* allocate(std::size_t alignment, std::size_t bytes) noexcept;
void deallocate(void* data) noexcept;
/// A hint: memory that is walked through gains by pages of 2 MiB.
void ask_for_huge_pages(void* data, std::size_t bytes) noexcept;

/// Starts a thread with all signals blocked. 0, or the error of pthread_create.
int start_thread(void* (*entry)(void*), void* argument, pthread_t& thread) noexcept;
/// The calling thread gives way to others. Without permission to do so it does not.
void lower_priority() noexcept;

/// Whether other threads still run when the functions of atexit() do. If not, one may have been ended while it held a
/// lock.
extern const bool kThreadsRunAtExit;

/// `call` runs in every child of fork(), where the system has it. 0, or the error of pthread_atfork.
int call_in_forked_children(void (*call)()) noexcept;

}  // namespace gradstep::platform
