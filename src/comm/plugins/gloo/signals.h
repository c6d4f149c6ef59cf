// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What libgloo does with signals must not reach the host.
#pragma once

#include <signal.h>

#include <ctime>

namespace gradstep::gloo_plugin {

/// Blocks all signals: threads started meanwhile never run the host's handlers.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// libgloo writes to sockets without MSG_NOSIGNAL: a dead peer would kill a host that does not ignore SIGPIPE. Blocks
/// it on this thread and swallows one that came from inside.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
    was_blocked_ = sigismember(&before_, SIGPIPE) == 1;
  }
  ~SigpipeBlocked() {
    if (was_blocked_) return;
    const timespec now{0, 0};
    while (sigtimedwait(&sigpipe_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t sigpipe_;
  sigset_t before_;
  bool was_blocked_ = false;
};

}  // namespace gradstep::gloo_plugin
