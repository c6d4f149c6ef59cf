// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Public handles: what they are, and the scope in which a call uses one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/busy_flag.h"
#include "core/error.h"
#include "core/fork_generation.h"

namespace gradstep {

/// Base of the opaque structs. `Derived` has `static constexpr std::uint64_t kMagic`, `static constexpr const char*
/// kName` and `busy()`, the flag of the object behind it. A destroyed or foreign handle is recognised by its magic as
/// long as its memory is readable.
///
/// A handle may be destroyed while calls are inside: by another thread, or by a host's callback in the very call. It is
/// doomed then (no call gets in any more), and the last call to leave frees it.
class HandleHeader {
 public:
  explicit HandleHeader(std::uint64_t m) : magic_(m) {}
  ~HandleHeader() { magic_.store(0, std::memory_order_relaxed); }
  HandleHeader(const HandleHeader&) = delete;
  HandleHeader& operator=(const HandleHeader&) = delete;

  bool is(std::uint64_t magic) const noexcept { return magic_.load(std::memory_order_relaxed) == magic; }
  bool in_forked_child() const noexcept { return fork_generation_ != gradstep::fork_generation(); }

  /// False if the handle was destroyed in the meantime; leave() follows all the same.
  bool enter() const noexcept { return (calls_.fetch_add(1, std::memory_order_acquire) & kDoomed) == 0; }
  /// True for the last call out of a doomed handle, which must free it.
  bool leave() const noexcept { return calls_.fetch_sub(1, std::memory_order_acq_rel) == (kDoomed | 1); }
  /// True if no call is inside, and the handle is to be freed at once. Threads of the parent are not in a forked child.
  bool doom() noexcept {
    const bool alone = in_forked_child();  // once doomed, the handle may be gone
    magic_.store(0, std::memory_order_relaxed);
    return calls_.fetch_or(kDoomed, std::memory_order_acq_rel) == 0 || alone;
  }

 private:
  static constexpr std::uint32_t kDoomed = 1U << 31;

  std::atomic<std::uint64_t> magic_;
  std::uint32_t fork_generation_ = gradstep::fork_generation();
  mutable std::atomic<std::uint32_t> calls_{0};  // how many are inside, and kDoomed
};

/// The name of a kind of handle, as texts say it.
struct HandleName {
  char text[16] = {};

  template <std::size_t n>
  consteval HandleName(const char (&name)[n]) {  // NOLINT(google-explicit-constructor): a template's argument
    std::copy_n(name, n, text);
  }
  /// FNV-1a.
  constexpr std::uint64_t magic() const {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
    return hash;
  }
};

/// Base of the opaque structs, over the object that does the work, which updaters and other handles may share. What a
/// struct adds is the border's own, such as the tensors of the last call.
template <class Object, HandleName name>
struct Handle {
  static constexpr std::uint64_t kMagic = name.magic();
  static constexpr const char* kName = name.text;

  HandleHeader header{kMagic};
  std::shared_ptr<Object> impl;

  BusyFlag& busy() const { return impl->busy(); }
};

/// *out = a handle of `impl`.
template <class Handle, class Object>
void hand_out(Handle** out, std::shared_ptr<Object> impl) {
  auto handle = std::make_unique<Handle>();
  handle->impl = std::move(impl);
  *out = handle.release();
}

/// Throws unless `handle` is a live `Handle` of this process.
template <class Handle>
void check_handle(const Handle* handle) {
  if (handle == nullptr) fail_argument("{}: is NULL", Handle::kName);
  if (!handle->header.is(Handle::kMagic)) {
    fail_argument("{}: not a gradstep_{}: a destroyed handle or one of another kind", Handle::kName, Handle::kName);
  }
  if (handle->header.in_forked_child()) {
    fail(GRADSTEP_ERR_INVALID_STATE, "{}: was made by the parent of this forked process", Handle::kName);
  }
}

/// A scope in which a handle is not freed. Other threads may use it, too.
template <class Handle>
class Kept {
 public:
  explicit Kept(Handle* handle) : handle_(handle) {
    check_handle(handle);
    if (handle->header.enter()) return;
    leave();
    fail_argument("{}: was destroyed by another thread", Handle::kName);
  }
  ~Kept() { leave(); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  Handle& operator*() const { return *handle_; }
  Handle* operator->() const { return handle_; }

 private:
  void leave() noexcept {
    if (handle_->header.leave()) delete handle_;
  }

  Handle* handle_;
};

/// A call's use of a handle: it is kept, and its object is this call's alone. A second thread gets INVALID_STATE, never
/// a race.
template <class Handle>
class InUse {
 public:
  explicit InUse(Handle* handle, const char* name = Handle::kName)
      : handle_(handle), exclusive_(handle->busy(), name) {}

  Handle& operator*() const { return *handle_; }
  Handle* operator->() const { return handle_.operator->(); }

 private:
  Kept<Handle> handle_;
  Exclusive exclusive_;  // given back before the handle is left
};

/// The body of every gradstep_*_destroy.
template <class Handle>
void destroy(Handle* handle) noexcept {
  if (handle != nullptr && handle->header.is(Handle::kMagic) && handle->header.doom()) delete handle;
}

}  // namespace gradstep
