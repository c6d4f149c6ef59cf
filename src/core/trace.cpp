// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Each thread keeps its open phases and what has ended since it wrote last, under a lock that no other thread wants
// until stop(). The file is a JSON array of one event a line, whose "]" the format lets be absent: what a process has
// written before it died can be read. Times are those of the system's monotonic clock, in microseconds.
#include "core/trace.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/fork_generation.h"
#include "core/json_text.h"

namespace gradstep::trace {

namespace {

constexpr std::size_t kMostNumbers = 6;
constexpr std::size_t kEventsKept = 4096;  // of one thread, between writes

struct Event {
  const char* category;
  const char* name;
  std::int64_t begin;  // nanoseconds
  std::int64_t end;
  std::array<Number, kMostNumbers> numbers;
  std::size_t count;
  bool is_nvtx;  // a range of NVTX was pushed
};

struct Thread {
  const std::int64_t id = ::syscall(SYS_gettid);
  std::vector<Event> open;  // the thread's own
  std::mutex mutex;         // guards ended
  std::vector<Event> ended;
};

using Push = int (*)(const char* name);
using Pop = int (*)();

/// nvtxRangePushA and nvtxRangePop of a library that the process has loaded; once found they stay.
struct Nvtx {
  std::atomic<Push> push{nullptr};
  std::atomic<Pop> pop{nullptr};

  bool is_found() const { return push.load() != nullptr && pop.load() != nullptr; }
};

/// What start() has begun, until stop().
struct Recording {
  std::mutex mutex;  // guards what is not atomic, and the list of threads; taken before a thread's
  std::FILE* file = nullptr;
  std::string path;
  int error = 0;
  std::atomic<std::uint32_t> fork_generation = 0;
  std::vector<std::shared_ptr<Thread>> threads;
  std::int32_t rank = 0;
  std::int32_t world_size = 0;  // 0 = unknown
};

Nvtx& nvtx() {
  static Nvtx found;
  return found;
}

Recording& recording() {
  static Recording now;
  return now;
}

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void find_nvtx() {
  constexpr const char* kLibraries[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so"};
  const auto look_in = [](void* library) {
    nvtx().push = reinterpret_cast<Push>(::dlsym(library, "nvtxRangePushA"));
    nvtx().pop = reinterpret_cast<Pop>(::dlsym(library, "nvtxRangePop"));
  };
  if (!nvtx().is_found()) look_in(RTLD_DEFAULT);
  for (const char* name : kLibraries) {
    if (nvtx().is_found()) return;
    if (void* loaded = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD); loaded != nullptr) look_in(loaded);
  }
}

Thread& this_thread() {
  thread_local const std::shared_ptr<Thread> own = [] {
    auto made = std::make_shared<Thread>();
    Recording& to = recording();
    const std::lock_guard lock(to.mutex);
    std::erase_if(to.threads, [](const auto& old) { return old.use_count() == 1 && old->ended.empty(); });
    to.threads.push_back(made);
    return made;
  }();
  return *own;
}

/// The recording is locked.
void write(const std::string& line) {
  Recording& to = recording();
  if (to.file == nullptr) return;
  if (std::fputs(line.c_str(), to.file) < 0 && to.error == 0) to.error = errno;
}

std::string line_of(const Event& event, std::int64_t thread) {
  std::string numbers;
  for (const Number& number : std::span(event.numbers).first(event.count)) {
    numbers += fmt::format("{}\"{}\":{}", numbers.empty() ? "" : ",", number.name, number.value);
  }
  return fmt::format(
      ",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{}.{:03},\"dur\":{}.{:03},"
      "\"args\":"
      "{{{}}}}}",
      event.category, event.name, ::getpid(), thread, event.begin / 1000, event.begin % 1000,
      (event.end - event.begin) / 1000, (event.end - event.begin) % 1000, numbers);
}

/// `before`: of the file's first line "[", else ",\n".
std::string metadata(const char* name, const std::string& arguments, const char* before = ",\n") {
  return fmt::format("{}{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":0,\"args\":{{{}}}}}", before, name,
                     ::getpid(), arguments);
}

/// The recording and the thread are locked.
void write_ended(Thread& thread) {
  std::string lines;
  for (const Event& event : thread.ended) lines += line_of(event, thread.id);
  thread.ended.clear();
  write(lines);
}

/// Ranks with the same text read the same clock.
std::string clock_name() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(boot, id);
  return id;
}

void stop_at_exit() noexcept {
  try {
    stop();
  } catch (...) {  // no caller is left to tell
  }
}

[[noreturn]] void fail_io(const std::string& path, int error) {
  fail(GRADSTEP_ERR_IO, "path: '{}': {}", path, std::strerror(error));
}

/// The recording is locked.
void write_rank() {
  const Recording& to = recording();
  if (to.world_size == 0) return;
  write(metadata("rank", fmt::format("\"rank\":{},\"ranks\":{}", to.rank, to.world_size)));
  write(metadata("process_name", fmt::format("\"name\":\"rank {} of {}\"", to.rank, to.world_size)));
  write(metadata("process_sort_index", fmt::format("\"sort_index\":{}", to.rank)));
}

bool is_of_parent() { return recording().fork_generation != fork_generation(); }

}  // namespace

void start(const std::string& path) {
  watch_forks();
  Recording& to = recording();
  const std::lock_guard lock(to.mutex);
  if (is_on.load() && !is_of_parent()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "trace: it is on already, into '{}'", to.path);
  }
  find_nvtx();
  std::FILE* file = nullptr;
  if (!path.empty()) {
    file = std::fopen(path.c_str(), "we");
    if (file == nullptr) fail_io(path, errno);
    std::setvbuf(file, nullptr, _IONBF, 0);  // a forked child has nothing to flush
  } else if (!nvtx().is_found()) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "path: is NULL, and no library with NVTX's ranges is loaded");
  }
  to.file = file;
  to.path = path;
  to.error = 0;
  to.fork_generation = fork_generation();
  for (const auto& thread : to.threads) {
    const std::lock_guard own(thread->mutex);
    thread->ended.clear();
  }
  std::string clock;
  append_json(clock, std::string_view(clock_name()));
  write(metadata("clock", fmt::format("\"name\":{}", clock), "["));
  write_rank();
  static const int registered = std::atexit(stop_at_exit);
  static_cast<void>(registered);
  is_on = true;
}

void stop() {
  Recording& to = recording();
  if (!is_on.exchange(false) || is_of_parent()) return;
  const std::lock_guard lock(to.mutex);
  if (to.file == nullptr) return;
  for (const auto& thread : to.threads) {
    const std::lock_guard own(thread->mutex);
    write_ended(*thread);
  }
  write("\n]\n");
  std::FILE* file = std::exchange(to.file, nullptr);
  if (std::fclose(file) != 0 && to.error == 0) to.error = errno;
  if (to.error != 0) fail_io(to.path, to.error);
}

void set_rank(std::int32_t rank, std::int32_t world_size) {
  Recording& to = recording();
  const std::lock_guard lock(to.mutex);
  to.rank = rank;
  to.world_size = world_size;
  if (is_on.load() && !is_of_parent()) write_rank();
}

bool begin(const char* category, const char* name, std::span<const Number> numbers) noexcept {
  Event event{category, name, 0, 0, {}, std::min(numbers.size(), kMostNumbers), false};
  std::copy_n(numbers.begin(), event.count, event.numbers.begin());
  try {
    if (is_of_parent()) return false;
    this_thread().open.push_back(event);
  } catch (...) {
    return false;
  }
  Event& opened = this_thread().open.back();
  if (const Push push = nvtx().push.load(); push != nullptr) {
    push(name);
    opened.is_nvtx = true;
  }
  opened.begin = now();
  return true;
}

void end() noexcept {
  try {
    if (is_of_parent()) return;
    const std::int64_t ended_at = now();
    Thread& thread = this_thread();
    if (thread.open.empty()) return;
    Event event = thread.open.back();
    thread.open.pop_back();
    event.end = ended_at;
    if (event.is_nvtx) nvtx().pop.load()();
    std::size_t kept = 0;
    {
      const std::lock_guard lock(thread.mutex);
      thread.ended.push_back(event);
      kept = thread.ended.size();
    }
    if (kept < kEventsKept) return;
    const std::lock_guard lock(recording().mutex);
    const std::lock_guard own(thread.mutex);
    write_ended(thread);
  } catch (...) {
  }
}

}  // namespace gradstep::trace
