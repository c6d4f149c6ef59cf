// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Waits for peers while the host can interrupt.
#pragma once

#include <functional>

#include "comm/connection.h"
#include "comm/progress_thread.h"
#include "core/function_ref.h"
#include "core/own_thread.h"

namespace gradstep {

class PeerWait {
 public:
  /// `connection` outlives it.
  explicit PeerWait(Connection& connection) : connection_(connection) {}

  /// Runs `work`, which waits for peers. Polls the host's interrupt meanwhile, where the engine allows that.
  void run(FunctionRef<void()> work) {
    const Engine& engine = connection_.engine();
    // On a thread of gradstep's own there is nothing to poll: the one that waits for it does that.
    const bool polls =
        engine.world_size() > 1 && engine.any_thread() && connection_.context()->can_be_interrupted() && !on_own_thread;
    if (!polls) return work();
    progress_.run(work, [&] { connection_.poll_interrupt(); });
  }

  /// Hands `job` to the progress thread.
  void start(std::function<void()> job) { progress_.start(std::move(job)); }
  /// Returns when the job has ended; rethrows its exception as an Error.
  void finish() {
    progress_.finish([&] { connection_.poll_interrupt(); });
    connection_.context()->log().deliver();  // what the progress thread had to say
  }

 private:
  Connection& connection_;
  ProgressThread progress_;
};

}  // namespace gradstep
