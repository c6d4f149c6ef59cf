// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the plugin's buffers come from.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "core/memory.h"
#include "runtime/device.h"

namespace gradstep::cuda {

/// A device's memory: CUDA's, or what the host's allocator gives there. Giving back waits for the device.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(std::shared_ptr<Allocator> allocator, int device) : allocator_(std::move(allocator)), device_(device) {}

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;

 private:
  std::shared_ptr<Allocator> allocator_;
  int device_;
};

/// Few sizes, so that one block serves many.
std::size_t block_size(std::size_t bytes);

/// Blocks that are given back for the next one to take. Whoever uses one uses it in the order of one queue, so that
/// none is waited for.
class QueueMemory final : public Memory {
 public:
  explicit QueueMemory(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~QueueMemory() override;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;

 private:
  std::shared_ptr<Memory> memory_;
  std::multimap<std::size_t, void*> free_;  // by size
  std::mutex mutex_;
};

/// Memory of the host that a device reads and writes by itself.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gradstep::cuda
