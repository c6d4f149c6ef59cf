// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One object, one call at a time: a second one, of another thread or out of a callback, gets INVALID_STATE, never a
// race.
#pragma once

#include <atomic>
#include <thread>

#include "core/error.h"

namespace gradstep {

class BusyFlag {
 public:
  bool try_take() noexcept {
    std::thread::id nobody;
    return owner_.compare_exchange_strong(nobody, std::this_thread::get_id(), std::memory_order_acquire);
  }
  void give_back() noexcept { owner_.store({}, std::memory_order_release); }
  /// Whether this thread has taken it.
  bool is_own() const noexcept { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

 private:
  std::atomic<std::thread::id> owner_;
};

/// The scope of a call that uses an object which several handles may share.
class Exclusive {
 public:
  Exclusive(BusyFlag& flag, const char* name) : flag_(flag) {
    if (flag.try_take()) return;
    fail(GRADSTEP_ERR_INVALID_STATE, "{}: {} is using it", name,
         flag.is_own() ? "a call of this thread, which has called back," : "another thread");
  }
  ~Exclusive() { flag_.give_back(); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  BusyFlag& flag_;
};

}  // namespace gradstep
