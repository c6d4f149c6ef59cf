// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What handles share: pool, background lane, allocator, log, interrupt and the backends of devices.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/lapack.h"
#include "backend/log.h"
#include "backend/site.h"
#include "core/background_lane.h"
#include "core/host_callback.h"
#include "core/memory.h"
#include "core/schema.h"
#include "core/thread_pool.h"
#include "gradstep/context.h"

namespace gradstep {

class HostLoop;

class Context {
 public:
  /// `options` is a whole struct of this version; its callbacks are owned from here on, also when this throws.
  explicit Context(const gradstep_context_options& options);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Backends are made after the context because they use what it has. Each serves one device; the CPU's is the first.
  void add_backend(gradstep_device device, std::unique_ptr<Backend> backend);
  Backend& cpu() const { return *cpu_; }
  /// That of a plugin is made when it is first asked for. Throws BACKEND_UNAVAILABLE or UNSUPPORTED by `argument` and
  /// `index` where nothing serves the device.
  Backend& backend(gradstep_device device, const char* argument, std::size_t index) const;
  /// The device that `backend` serves; the CPU if the backend is not one of this context's.
  gradstep_device device_of(const Backend& backend) const;
  /// The one of all parameters. Throws as backend(), UNSUPPORTED where they are on several devices, and OUT_OF_MEMORY
  /// where no memory could hold them, before anything is made of them. Parameters before `first` have been checked.
  Site site(const Schema& schema, std::size_t first = 0) const;

  const std::shared_ptr<Allocator>& allocator() const { return allocator_; }
  /// The host's memory.
  Buffer allocate(std::size_t bytes, bool zeroed) const { return Site(cpu()).allocate(bytes, zeroed); }

  /// body(i) once for every i in [0, n), on the pool or the host's parallel_for, whichever the options chose. Throws
  /// CALLBACK if the host's fails or does not do that.
  void parallel_for(std::int64_t n, FunctionRef<void(std::int64_t)> body);
  /// How many bodies run at once; with a host's parallel_for, which does not say, as many as a pool would have.
  std::size_t width() const;
  /// How many loops have run any of their bodies so far: those of a call that failed may have changed something.
  std::int64_t loops_begun() const { return loops_begun_.load(std::memory_order_relaxed); }

  /// NULL = none was named.
  const std::shared_ptr<const Lapack>& lapack() const { return lapack_; }

  BackgroundLane& background() { return background_; }

  Log& log() const { return log_; }

  bool can_be_interrupted() const { return options_.interrupt != nullptr; }
  /// Asks the host. Only on a thread that is inside gradstep.
  bool interrupted() const;

 private:
  struct DeviceBackend {
    gradstep_device device{};
    std::unique_ptr<Backend> backend;
  };

  Backend& keep(gradstep_device device, std::unique_ptr<Backend> backend) const;
  void run_by_host(HostLoop& loop, std::int64_t n) const;

  gradstep_context_options options_;
  mutable Log log_;
  CallbackOwner parallel_for_owner_;
  CallbackOwner interrupt_owner_;
  std::shared_ptr<Allocator> allocator_;
  ThreadPool pool_;
  BackgroundLane background_;
  std::shared_ptr<const Lapack> lapack_;
  Backend* cpu_ = nullptr;
  mutable std::mutex backends_mutex_;
  mutable std::vector<DeviceBackend> backends_;
  std::atomic<std::int64_t> loops_begun_{0};
};

gradstep_context_options default_context_options();

}  // namespace gradstep
