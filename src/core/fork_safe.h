// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ownership of things that must not be destroyed in a forked child.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/fork_generation.h"

namespace gradstep {

/// Owns a T with locks, condition variables or threads. In a forked child it is leaked: another thread of the parent
/// may have held a lock or waited at the time of the fork, and destroying a condition variable that has waiters blocks.
template <class T>
class ForkSafe {
 public:
  template <class... Args>
  explicit ForkSafe(std::in_place_t, Args&&... args) : object_(std::make_unique<T>(std::forward<Args>(args)...)) {}
  ~ForkSafe() {
    if (in_forked_child()) static_cast<void>(object_.release());
  }
  ForkSafe(const ForkSafe&) = delete;
  ForkSafe& operator=(const ForkSafe&) = delete;

  bool in_forked_child() const noexcept { return generation_ != fork_generation(); }

  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }

 private:
  std::unique_ptr<T> object_;
  std::uint32_t generation_ = fork_generation();
};

}  // namespace gradstep
