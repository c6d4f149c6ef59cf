// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The context's allocator and the buffers taken from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/host_callback.h"
#include "gradstep/context.h"

namespace gradstep {

/// Cache line, and the width of the widest vector.
inline constexpr std::size_t kAlignment = 64;

class Allocator {
 public:
  /// The C library's, or the host's. `host` is copied; its release runs when the allocator is destroyed.
  explicit Allocator(const gradstep_allocator* host);
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// Never NULL for bytes > 0. Throws OUT_OF_MEMORY.
  void* allocate(std::size_t bytes);
  void deallocate(void* data, std::size_t bytes) noexcept;

 private:
  void* allocate_by_host(std::size_t bytes) const;

  gradstep_allocator host_{};
  CallbackOwner owner_;
};

/// Owned, aligned bytes. Zeroed on request only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Allocator> allocator, std::size_t bytes, bool zeroed);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  std::shared_ptr<Allocator> allocator_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gradstep
