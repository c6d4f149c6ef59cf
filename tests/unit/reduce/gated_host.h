// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host's collectives over a local world that a test can hold up and let go on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/callbacks.h"
#include "unit/comm/worlds.h"

namespace gradstep::test {

/// Where all calls of one rank's channels pass. Open at first.
class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
    calls_.clear();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// What comes through from now on fails.
  void fail_with(gradstep_status status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  /// Returns when `n` calls have come since it was closed.
  void await_calls(std::size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_.size() >= n; });
  }
  /// The threads of the calls since it was closed.
  std::vector<std::thread::id> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  /// By a channel's call: waits until the gate is open or `aborted`.
  gradstep_status pass(const bool& aborted) {
    std::unique_lock lock(mutex_);
    calls_.push_back(std::this_thread::get_id());
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ || aborted; });
    return aborted ? GRADSTEP_ERR_ABORTED : status_;
  }
  void abort(bool& aborted) {
    const std::lock_guard lock(mutex_);
    aborted = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  gradstep_status status_ = GRADSTEP_OK;
  std::vector<std::thread::id> calls_;
};

/// Which parts of the vtable a gated host gives beside all_gather.
struct GatedParts {
  bool any_thread = true;
  bool dup = true;
  bool abort = true;
};

struct GatedHost {
  std::shared_ptr<Communicator> inner;
  Gate* gate;
  GatedParts parts;
  bool aborted = false;

  gradstep_comm_vtable vtable() const {
    gradstep_comm_vtable table = empty_vtable(inner->rank(), inner->world_size(), parts.any_thread);
    table.all_gather = [](void* user, const void* send, void* receive, std::int64_t bytes, void*, std::int64_t ms) {
      auto& host = *static_cast<GatedHost*>(user);
      const gradstep_status status = host.gate->pass(host.aborted);
      if (status != GRADSTEP_OK) {
        set_last_error("the gate");
        return status;
      }
      return guarded([&] { host.inner->all_gather(send, receive, bytes, Deadline::after_ms(ms)); });
    };
    if (parts.dup) {
      table.dup = [](void* user, std::int64_t ms, gradstep_comm_vtable* out, void** out_user) {
        auto& host = *static_cast<GatedHost*>(user);
        return guarded([&] {
          auto copy = std::make_unique<GatedHost>(host.inner->dup(Deadline::after_ms(ms)), host.gate, host.parts);
          *out = copy->vtable();
          *out_user = copy.release();
        });
      };
    }
    if (parts.abort) {
      table.abort = [](void* user) {
        auto& host = *static_cast<GatedHost*>(user);
        host.inner->abort();
        host.gate->abort(host.aborted);
      };
    }
    table.release = [](void* user) { delete static_cast<GatedHost*>(user); };
    return table;
  }

  GatedHost(std::shared_ptr<Communicator> over, Gate* with, GatedParts given)
      : inner(std::move(over)), gate(with), parts(given) {}
};

/// Runs body(comm, gate) on one thread per rank, each with a gate of its own.
inline void run_gated(std::int32_t ranks, const std::function<void(Communicator&, Gate&)>& body,
                      const GatedParts& parts = {}, const std::shared_ptr<Context>& context = make_context(),
                      std::int64_t timeout_ms = 20000) {
  CommSettings settings;
  settings.timeout_ms = timeout_ms;
  const World inner = make_world("local", ranks, settings);
  std::vector<Gate> gates(inner.size());
  run(inner, [&](Communicator& rank) {
    const auto place = static_cast<std::size_t>(rank.rank());
    auto user = std::make_unique<GatedHost>(inner[place], &gates[place], parts);
    const gradstep_comm_vtable vtable = user->vtable();
    const auto comm = make_host_communicator(context, vtable, user.release(), settings);
    body(*comm, gates[place]);
  });
}

}  // namespace gradstep::test
