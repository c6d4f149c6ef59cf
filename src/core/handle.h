// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What every public handle starts with, and the scope in which a call uses one.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/error.h"
#include "core/fork_generation.h"

namespace gradstep {

/// Base of the opaque structs. `Derived` has `static constexpr std::uint64_t kMagic` and `static constexpr const char*
/// kName`. A destroyed or foreign handle is recognised by its magic as long as its memory is readable.
struct HandleHeader {
  std::uint64_t magic;
  std::uint32_t fork_generation = gradstep::fork_generation();
  std::atomic<bool> busy{false};

  explicit HandleHeader(std::uint64_t m) : magic(m) {}
  ~HandleHeader() { magic = 0; }
  HandleHeader(const HandleHeader&) = delete;
  HandleHeader& operator=(const HandleHeader&) = delete;

  bool in_forked_child() const noexcept { return fork_generation != gradstep::fork_generation(); }
};

/// Throws unless `handle` is a live `Handle` of this process.
template <class Handle>
void check_handle(const Handle* handle) {
  if (handle == nullptr) fail_argument("{}: is NULL", Handle::kName);
  if (handle->header.magic != Handle::kMagic) {
    fail_argument("{}: not a gradstep_{}: a destroyed handle or one of another kind", Handle::kName, Handle::kName);
  }
  if (handle->header.in_forked_child()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "{}: was made by the parent of this forked process", Handle::kName);
  }
}

/// A call's exclusive use of a handle. A second thread gets INVALID_STATE, never a race.
template <class Handle>
class InUse {
 public:
  explicit InUse(Handle* handle) : handle_(handle) {
    check_handle(handle);
    if (handle->header.busy.exchange(true, std::memory_order_acquire)) {
      fail(GRADSTEP_ERR_INVALID_STATE, "{}: another thread is using this handle", Handle::kName);
    }
  }
  ~InUse() { handle_->header.busy.store(false, std::memory_order_release); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

  Handle& operator*() const { return *handle_; }
  Handle* operator->() const { return handle_; }

 private:
  Handle* handle_;
};

}  // namespace gradstep
