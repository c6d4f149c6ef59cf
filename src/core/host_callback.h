// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's functions, called so that nothing they throw gets further than their own call.
#pragma once

#include <exception>
#include <utility>

#include "core/error.h"

namespace gradstep {

/// What `function` returns. An exception out of the host is a CALLBACK error that names the callback, `name`.
template <class Function>
auto call_host(const char* name, Function&& function) {
  try {
    return function();
  } catch (const std::exception& thrown) {
    fail(GRADSTEP_ERR_CALLBACK, "{}: the host's function threw: {}", name, thrown.what());
  } catch (...) {
    fail(GRADSTEP_ERR_CALLBACK, "{}: the host's function threw an exception of an unknown type", name);
  }
}

/// Calls a function that cleans up. What it throws is dropped: no caller could get it.
template <class Function>
void call_host_quietly(Function&& function) noexcept {
  try {
    function();
  } catch (...) {
  }
}

/// Runs `release(user)` once, when the last owner is gone.
class CallbackOwner {
 public:
  CallbackOwner() = default;
  CallbackOwner(void (*release)(void*), void* user) : release_(release), user_(user) {}
  CallbackOwner(CallbackOwner&& other) noexcept
      : release_(std::exchange(other.release_, nullptr)), user_(other.user_) {}
  CallbackOwner& operator=(CallbackOwner&& other) noexcept {
    std::swap(release_, other.release_);
    std::swap(user_, other.user_);
    return *this;
  }
  ~CallbackOwner() {
    if (release_ != nullptr) call_host_quietly([this] { release_(user_); });
  }

  /// It has another owner from here on.
  void hand_over() noexcept { release_ = nullptr; }

 private:
  void (*release_)(void*) = nullptr;
  void* user_ = nullptr;
};

}  // namespace gradstep
