// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One object, one thread at a time: a second thread gets INVALID_STATE, never a race.
#pragma once

#include <atomic>

#include "core/error.h"

namespace gradstep {

class BusyFlag {
 public:
  bool try_take() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void give_back() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// The scope of a call that uses an object which several handles may share.
class Exclusive {
 public:
  Exclusive(BusyFlag& flag, const char* name) : flag_(flag) {
    if (!flag.try_take()) fail(GRADSTEP_ERR_INVALID_STATE, "{}: another thread is using it", name);
  }
  ~Exclusive() { flag_.give_back(); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  BusyFlag& flag_;
};

}  // namespace gradstep
