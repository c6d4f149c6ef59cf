// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Each thread keeps its open phases and what has ended since it wrote last, under a lock that no other thread wants
// until stop(). The file is a JSON array of one event a line, whose "]" the format lets be absent: what a process has
// written before it died can be read. Times are those of the system's monotonic clock, in microseconds.
#include "core/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/fork_generation.h"
#include "core/json_text.h"
#include "core/platform/dynamic_library.h"
#include "core/platform/file_system.h"
#include "core/platform/system.h"

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
  const std::int64_t id = platform::thread_number();
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
  const std::uint32_t fork_generation = gradstep::fork_generation();
  Recording* parents = nullptr;
  std::atomic<bool> is_on = false;
  std::mutex mutex;  // guards all below; taken before a thread's
  std::unique_ptr<NewFile> file;
  std::string path;
  std::optional<Error> failure;  // the first one of the file
  std::vector<std::shared_ptr<Thread>> threads;
  std::int32_t rank = 0;
  std::int32_t world_size = 0;  // 0 = unknown
};

Nvtx& nvtx() {
  static Nvtx found;
  return found;
}

/// A forked child has its own: a thread that it does not have may have locked its parent's.
Recording& recording() {
  static std::atomic<Recording*> latest{new Recording};  // never freed: threads may end after the process's statics
  Recording* now = latest.load();
  if (now->fork_generation != fork_generation()) [[unlikely]] {
    auto own = std::make_unique<Recording>();
    own->parents = now;
    if (latest.compare_exchange_strong(now, own.get())) now = own.release();
  }
  return *now;
}

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void find_nvtx() {
  constexpr const char* kLibraries[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so"};
  const auto look_in = [](void* library) {
    nvtx().push = reinterpret_cast<Push>(platform::find_symbol(library, "nvtxRangePushA"));
    nvtx().pop = reinterpret_cast<Pop>(platform::find_symbol(library, "nvtxRangePop"));
  };
  if (!nvtx().is_found()) look_in(platform::library_of_process());
  for (const char* name : kLibraries) {
    if (nvtx().is_found()) return;
    if (void* loaded = platform::loaded_library(name); loaded != nullptr) look_in(loaded);
  }
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
      event.category, event.name, platform::process_number(), thread, event.begin / 1000, event.begin % 1000,
      (event.end - event.begin) / 1000, (event.end - event.begin) % 1000, numbers);
}

/// `before`: of the file's first line "[", else ",\n".
std::string metadata(const char* name, const std::string& arguments, const char* before = ",\n") {
  return fmt::format("{}{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":0,\"args\":{{{}}}}}", before, name,
                     platform::process_number(), arguments);
}

/// The recording is locked.
void write(const std::string& text) {
  Recording& to = recording();
  if (to.file == nullptr || to.failure) return;
  try {
    to.file->write(text.data(), text.size());
  } catch (const Error& failure) {
    to.failure = failure;
  }
}

/// The recording and the thread are locked.
void write_ended(Thread& thread) {
  std::string lines;
  for (const Event& event : thread.ended) lines += line_of(event, thread.id);
  thread.ended.clear();
  write(lines);
}

Thread& this_thread() {
  thread_local std::shared_ptr<Thread> own;
  thread_local Recording* known = nullptr;
  Recording& to = recording();
  if (known == &to) return *own;
  auto made = std::make_shared<Thread>();
  const std::lock_guard lock(to.mutex);
  std::erase_if(to.threads, [](const auto& old) {
    if (old.use_count() > 1) return false;
    const std::lock_guard ended(old->mutex);
    write_ended(*old);
    return true;
  });
  to.threads.push_back(made);
  own = std::move(made);
  known = &to;
  return *own;
}

using Lock = std::unique_lock<std::mutex>;

/// What `lock` does not get is left as it is.
void stop_with(Lock (*lock)(std::mutex&)) {
  Recording& to = recording();
  const Lock own = lock(to.mutex);
  if (!own || !to.is_on.exchange(false)) return;
  is_on = false;
  for (const auto& thread : to.threads) {
    if (const Lock ended = lock(thread->mutex)) write_ended(*thread);
  }
  write("\n]\n");
  to.file.reset();
  if (to.failure) throw *to.failure;
}

Lock lock_at_exit(std::mutex& mutex) {
  return platform::kThreadsRunAtExit ? Lock(mutex) : Lock(mutex, std::try_to_lock);
}

void stop_at_exit() noexcept {
  try {
    stop_with(lock_at_exit);
  } catch (...) {  // no caller is left to tell
  }
}

/// The recording is locked.
void write_rank() {
  const Recording& to = recording();
  if (to.world_size == 0) return;
  write(metadata("rank", fmt::format("\"rank\":{},\"ranks\":{}", to.rank, to.world_size)));
  write(metadata("process_name", fmt::format("\"name\":\"rank {} of {}\"", to.rank, to.world_size)));
  write(metadata("process_sort_index", fmt::format("\"sort_index\":{}", to.rank)));
}

}  // namespace

void start(const std::string& path) {
  watch_forks();
  Recording& to = recording();
  const std::lock_guard lock(to.mutex);
  if (to.is_on) fail(GRADSTEP_ERR_INVALID_STATE, "trace: it is on already, into '{}'", to.path);
  find_nvtx();
  if (!path.empty()) {
    const auto old = platform::find(path, /*follow_link=*/false);
    if (old && old->irregular != nullptr && !old->is_link) {
      fail(GRADSTEP_ERR_IO, "path: '{}' is no regular file", path);
    }
    to.file = std::make_unique<NewFile>("path", path, 0666);
    to.file->appear();
  } else if (!nvtx().is_found()) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "path: is NULL, and no library with NVTX's ranges is loaded");
  }
  to.path = path;
  to.failure.reset();
  for (const auto& thread : to.threads) {
    const std::lock_guard own(thread->mutex);
    thread->ended.clear();
  }
  std::string clock;
  append_json(clock, std::string_view(platform::steady_clock_name()));
  write(metadata("clock", fmt::format("\"name\":{}", clock), "["));
  write_rank();
  static const int registered = std::atexit(stop_at_exit);
  static_cast<void>(registered);
  to.is_on = true;
  is_on = true;
}

void stop() {
  stop_with([](std::mutex& mutex) { return Lock(mutex); });
}

void set_rank(std::int32_t rank, std::int32_t world_size) {
  Recording& to = recording();
  const std::lock_guard lock(to.mutex);
  if (world_size < to.world_size) return;
  to.rank = rank;
  to.world_size = world_size;
  write_rank();
}

bool begin(const char* category, const char* name, std::span<const Number> numbers) noexcept {
  Event event{category, name, 0, 0, {}, std::min(numbers.size(), kMostNumbers), false};
  std::copy_n(numbers.begin(), event.count, event.numbers.begin());
  try {
    if (!recording().is_on) return false;
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
    const std::int64_t ended_at = now();
    Thread& thread = this_thread();
    if (thread.open.empty()) return;
    Event event = thread.open.back();
    thread.open.pop_back();
    event.end = ended_at;
    if (event.is_nvtx) nvtx().pop.load()();
    if (!recording().is_on) return;
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
