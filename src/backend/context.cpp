// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"

#include <algorithm>
#include <thread>

#include "backend/host_loop.h"
#include "backend/plugin_loader.h"
#include "core/error.h"
#include "core/own_thread.h"
#include "core/platform/system.h"
#include "core/shape.h"

namespace gradstep {

namespace {

constexpr std::int32_t kMaxThreads = 1024;

int default_threads() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 8U)); }

int thread_count(const gradstep_context_options& options) {
  if (options.num_threads < 0 || options.num_threads > kMaxThreads) {
    fail_argument("options.num_threads: is {}, expected 0 to {}", options.num_threads, kMaxThreads);
  }
  if (options.parallel_for != nullptr) return 1;
  if (options.num_threads > 0) return options.num_threads;
  return default_threads();
}

/// Lists of the work on a model that no machine of this kind could hold would take minutes and gigabytes. Hosts may map
/// files that are larger than the memory.
void check_fits(const Schema& schema) {
  constexpr double kMemories = 16;
  const auto memory = static_cast<double>(platform::memory_of_machine());
  if (memory == 0 || schema.bytes() <= kMemories * memory) return;
  double bytes = 0;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    bytes += static_cast<double>(schema[i].size) * static_cast<double>(size_of(schema[i].dtype));
    if (bytes <= kMemories * memory) continue;
    fail(GRADSTEP_ERR_OUT_OF_MEMORY,
         "parameters[{}] ('{}'): with shape {} the model has {:.0f} bytes or more, expected at most {} times this "
         "machine's memory of {:.0f}",
         i, schema[i].name, shape_text(schema[i].shape), bytes, kMemories, memory);
  }
}

}  // namespace

gradstep_context_options default_context_options() {
  gradstep_context_options options{};
  options.struct_size = sizeof options;
  options.background_threads = 1;
  return options;
}

Context::Context(const gradstep_context_options& options)
    : options_(options),
      log_(options),
      parallel_for_owner_(options.parallel_for_release, options.parallel_for_user),
      interrupt_owner_(options.interrupt_release, options.interrupt_user),
      allocator_(std::make_shared<Allocator>(options.allocator)),
      pool_(thread_count(options)),
      background_(options.background_threads) {
  options_.allocator = nullptr;  // the caller's struct and text are not ours to keep
  options_.lapack_library = nullptr;
  if (options.lapack_library != nullptr) lapack_ = Lapack::open(options.lapack_library);
  if (options.background_threads < 0 || options.background_threads > kMaxThreads) {
    fail_argument("options.background_threads: is {}, expected 0 to {}", options.background_threads, kMaxThreads);
  }
  if (options.log_level < GRADSTEP_LOG_OFF || options.log_level > GRADSTEP_LOG_DEBUG) {
    fail_argument("options.log_level: is {}, expected {} to {}", options.log_level, static_cast<int>(GRADSTEP_LOG_OFF),
                  static_cast<int>(GRADSTEP_LOG_DEBUG));
  }
}

Backend& Context::keep(gradstep_device device, std::unique_ptr<Backend> backend) const {
  backends_.push_back({device, std::move(backend)});
  Backend& kept = *backends_.back().backend;
  log_.write(GRADSTEP_LOG_INFO, "context: gradstep {} serves {} by backend {} ({})", gradstep_version_string(),
             device_text(device), kept.name(), kept.instruction_set());
  return kept;
}

void Context::add_backend(gradstep_device device, std::unique_ptr<Backend> backend) {
  const std::lock_guard lock(backends_mutex_);
  Backend& kept = keep(device, std::move(backend));
  if (cpu_ == nullptr) cpu_ = &kept;
}

Backend& Context::backend(gradstep_device device, const char* argument, std::size_t index) const {
  const std::lock_guard lock(backends_mutex_);
  for (const DeviceBackend& known : backends_) {
    if (same_device(known.device, device)) return *known.backend;
  }
  if (device.device_type != GRADSTEP_DEVICE_CUDA) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "{}[{}]: is on {}, which no backend of gradstep serves", argument, index,
         device_text(device));
  }
  try {
    return keep(device, make_plugin_backend("cuda", device, allocator_));
  } catch (const Error& error) {
    fail(error.status(), "{}[{}]: is on {}: {}", argument, index, device_text(device), error.what());
  }
}

gradstep_device Context::device_of(const Backend& backend) const {
  const std::lock_guard lock(backends_mutex_);
  for (const DeviceBackend& known : backends_) {
    if (known.backend.get() == &backend) return known.device;
  }
  return {GRADSTEP_DEVICE_CPU, 0};
}

Site Context::site(const Schema& schema, std::size_t first) const {
  Backend& common = backend(schema.device(), "parameters", 0);
  for (std::size_t i = first; i < schema.size(); ++i) {
    if (same_device(schema[i].device, schema.device())) continue;
    backend(schema[i].device, "parameters", i);
    fail(GRADSTEP_ERR_UNSUPPORTED, "parameters[{}]: is on {}, parameters[0] is on {}; a handle serves one device", i,
         device_text(schema[i].device), device_text(schema.device()));
  }
  check_fits(schema);
  return Site(common);
}

std::size_t Context::width() const {
  return static_cast<std::size_t>(options_.parallel_for != nullptr ? default_threads() : pool_.threads());
}

void Context::parallel_for(std::int64_t n, FunctionRef<void(std::int64_t)> body) {
  // On a thread of gradstep's own the pool of such a context, which is the caller alone, serves instead.
  if (options_.parallel_for == nullptr || n <= 1 || on_own_thread) {
    if (n > 0) loops_begun_.fetch_add(1, std::memory_order_relaxed);
    pool_.run(n, body);
    return;
  }
  HostLoop loop(n, body);
  if (!loop.has_account()) {
    loops_begun_.fetch_add(1, std::memory_order_relaxed);
    return pool_.run(n, body);  // on the caller alone: a loop takes no memory that it cannot do without
  }
  const auto note = [&] {
    if (loop.count() > 0) loops_begun_.fetch_add(1, std::memory_order_relaxed);
  };
  try {
    run_by_host(loop, n);
  } catch (...) {
    note();
    throw;
  }
  note();
}

void Context::run_by_host(HostLoop& loop, std::int64_t n) const {
  const gradstep_status status = call_host(
      "parallel_for", [&] { return options_.parallel_for(options_.parallel_for_user, n, HostLoop::run, &loop); });
  loop.rethrow();
  if (status != GRADSTEP_OK) {
    fail(GRADSTEP_ERR_CALLBACK, "the host's parallel_for returned {}: {}", status_name(status), last_error());
  }
  loop.check_complete();
}

bool Context::interrupted() const {
  return options_.interrupt != nullptr &&
         call_host("interrupt", [this] { return options_.interrupt(options_.interrupt_user); }) != 0;
}

}  // namespace gradstep
