// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// context.hpp: threads, memory and log that handles share; what this library is; plugins.
#pragma once

#include <gradstep/backend.h>

#include <gradstep/options.hpp>
#include <string_view>

namespace gradstep::inline cpp_v0 {

/// "major.minor.patch" of the loaded library.
inline std::string version() { return gradstep_version_string(); }
/// A JSON object about the loaded library (gradstep_build_info).
inline std::string build_info() { return detail::text_of(gradstep_build_info); }

/// Opens a plugin, which stays open.
inline void load_backend(const std::string& path) { check(gradstep_backend_load(path.c_str())); }
/// Whether the backend or engine ("cuda", "gloo", ...) works here.
inline bool backend_available(const std::string& name) { return gradstep_backend_available(name.c_str()) != 0; }
/// "ok", or why not.
inline std::string backend_status(const std::string& name) {
  return detail::text_of([&](char* buf, std::size_t cap, std::size_t* len) {
    return gradstep_backend_status(name.c_str(), buf, cap, len);
  });
}

/// Memory for the library's own buffers (gradstep_allocator). Called by several threads at once.
class Allocator {
 public:
  Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  virtual ~Allocator() = default;
  /// nullptr where there is none left.
  virtual void* allocate(std::size_t bytes, std::size_t alignment, gradstep_device device) = 0;
  virtual void deallocate(void* data, std::size_t bytes, std::size_t alignment, gradstep_device device) noexcept = 0;
};

/// Callbacks are kept until the last handle of the context is gone, and then destroyed.
struct ContextOptions {
  std::int32_t num_threads = 0;         ///< 0 = min(8, cores); 1 = the caller alone
  std::int32_t background_threads = 1;  ///< of the low-priority lane
  LogLevel log_level = LogLevel::kOff;
  /// Called by threads that are inside the library, several at once maybe; must not call it.
  std::function<void(LogLevel, std::string_view)> log = {};
  /// Runs the body once for every i in [0, n), on any threads, and returns when all are done.
  std::function<void(std::int64_t n, const std::function<void(std::int64_t i)>& body)> parallel_for = {};
  /// Polled while a call waits; true ends it as Aborted.
  std::function<bool()> interrupt = {};
  std::shared_ptr<Allocator> allocator = {};
  std::string lapack_library = {};
};

class Context {
 public:
  /// Throws Mismatch where the loaded library has another binary interface than these headers.
  explicit Context(const ContextOptions& options = {}) {
    if (gradstep_abi_version() != GRADSTEP_ABI_VERSION) {
      throw Mismatch("the loaded gradstep has version " + std::to_string(gradstep_abi_version()) +
                     " of the binary interface, this program was compiled for " + std::to_string(GRADSTEP_ABI_VERSION));
    }
    gradstep_context_options c = detail::defaults<gradstep_context_options, gradstep_context_options_init>();
    c.num_threads = options.num_threads;
    c.background_threads = options.background_threads;
    c.log_level = static_cast<std::int32_t>(options.log_level);
    c.lapack_library = options.lapack_library.empty() ? nullptr : options.lapack_library.c_str();
    set_callbacks(options, c);
    auto allocator = detail::sized<gradstep_allocator>();
    if (options.allocator) {
      allocator = allocator_of(options.allocator);
      c.allocator = &allocator;
    }
    gradstep_context* made = nullptr;
    check(gradstep_context_create(&c, &made));
    handle_.reset(made);
  }

  [[nodiscard]] gradstep_context* c() const noexcept { return handle_.get(); }

 private:
  using Log = decltype(ContextOptions::log);
  using ParallelFor = decltype(ContextOptions::parallel_for);
  using Interrupt = decltype(ContextOptions::interrupt);

  /// From here on the library releases them, whatever becomes of the context.
  static void set_callbacks(const ContextOptions& options, gradstep_context_options& c) {
    auto log = options.log ? std::make_unique<Log>(options.log) : nullptr;
    auto parallel_for = options.parallel_for ? std::make_unique<ParallelFor>(options.parallel_for) : nullptr;
    auto interrupt = options.interrupt ? std::make_unique<Interrupt>(options.interrupt) : nullptr;
    if (log) {
      c.log = call_log;
      c.log_user = log.release();
      c.log_release = detail::release<Log>;
    }
    if (parallel_for) {
      c.parallel_for = call_parallel_for;
      c.parallel_for_user = parallel_for.release();
      c.parallel_for_release = detail::release<ParallelFor>;
    }
    if (interrupt) {
      c.interrupt = call_interrupt;
      c.interrupt_user = interrupt.release();
      c.interrupt_release = detail::release<Interrupt>;
    }
  }

  static void call_log(void* user, std::int32_t level, const char* text) {
    static_cast<void>(detail::guarded([&] { (*static_cast<const Log*>(user))(static_cast<LogLevel>(level), text); }));
  }

  static gradstep_status call_parallel_for(void* user, std::int64_t n, void (*body)(void*, std::int64_t),
                                           void* body_user) {
    return detail::guarded(
        [&] { (*static_cast<const ParallelFor*>(user))(n, [=](std::int64_t i) { body(body_user, i); }); });
  }

  static std::int32_t call_interrupt(void* user) {
    bool ends = false;
    const gradstep_status status = detail::guarded([&] { ends = (*static_cast<const Interrupt*>(user))(); });
    return ends || status != GRADSTEP_OK ? 1 : 0;
  }

  static gradstep_allocator allocator_of(const std::shared_ptr<Allocator>& own) {
    using Kept = std::shared_ptr<Allocator>;
    auto c = detail::sized<gradstep_allocator>();
    c.user = new Kept(own);
    c.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t type, std::int32_t id, void*) {
      void* data = nullptr;
      static_cast<void>(detail::guarded(
          [&] { data = (*static_cast<const Kept*>(user))->allocate(bytes, alignment, gradstep_device{type, id}); }));
      return data;
    };
    c.deallocate = [](void* user, void* data, std::size_t bytes, std::size_t alignment, std::int32_t type,
                      std::int32_t id, void*) {
      (*static_cast<const Kept*>(user))->deallocate(data, bytes, alignment, gradstep_device{type, id});
    };
    c.release = detail::release<Kept>;
    return c;
  }

  detail::Handle<gradstep_context, gradstep_context_destroy> handle_;
};

}  // namespace gradstep::inline cpp_v0
