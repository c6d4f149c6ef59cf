// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory and the buffers taken from it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/dtype.h"
#include "core/host_callback.h"
#include "gradstep/context.h"
#include "gradstep/tensor.h"

namespace gradstep {

/// Cache line, and the width of the widest vector.
inline constexpr std::size_t kAlignment = 64;

/// `bytes`, rounded up to a multiple of `unit`.
constexpr std::int64_t whole_units(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }
/// Bytes of `elements`, rounded up to whole cache lines.
constexpr std::int64_t line_bytes(std::int64_t elements, DType dtype) {
  return whole_units(elements * size_of(dtype), static_cast<std::int64_t>(kAlignment));
}

/// About what an allocation of `bytes` takes from the C library.
constexpr std::size_t allocated_bytes(std::size_t bytes) {
  constexpr std::size_t kGrain = 16;
  return bytes == 0 ? 0 : std::max(2 * kGrain, (bytes + sizeof(std::size_t) + kGrain - 1) / kGrain * kGrain);
}

/// Where buffers come from.
class Memory {
 public:
  virtual ~Memory() = default;

  /// Aligned to kAlignment, and never NULL for bytes > 0. Throws OUT_OF_MEMORY.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* data, std::size_t bytes) noexcept = 0;
  /// Bytes that an allocation of so many takes.
  virtual std::size_t taken_by(std::size_t bytes) const { return bytes; }
};

/// The host's memory: the C library's, or that of the host's allocator.
class Allocator final : public Memory {
 public:
  /// `host` is copied; its release runs when the allocator is destroyed.
  explicit Allocator(const gradstep_allocator* host);
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;

  // For other devices: what the host gives there, where it has an allocator.
  bool is_host() const { return host_.allocate != nullptr; }
  /// NULL when it has nothing left.
  void* allocate_on(gradstep_device device, std::size_t bytes, void* stream) const;
  void deallocate_on(gradstep_device device, void* data, std::size_t bytes, void* stream) const noexcept;

 private:
  gradstep_allocator host_{};
  CallbackOwner owner_;
};

/// Owned, aligned bytes, with nothing written to them.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Memory> memory, std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// What it takes of its memory: bytes(), or a block with room for them.
  std::size_t taken_bytes() const { return data_ != nullptr ? memory_->taken_by(bytes_) : 0; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  std::shared_ptr<Memory> memory_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gradstep
