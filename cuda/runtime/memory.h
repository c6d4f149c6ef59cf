// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the plugin's buffers come from.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/memory.h"
#include "runtime/device.h"

namespace gradstep::cuda {

/// A device's memory: CUDA's, or what the host's allocator gives there. Giving back waits for the device, whatever its
/// streams are; what cannot be waited for beside a capture goes back to the host's allocator with what is next.
class DeviceMemory final : public Memory {
 public:
  DeviceMemory(std::shared_ptr<Allocator> allocator, int device) : allocator_(std::move(allocator)), device_(device) {}
  ~DeviceMemory() override;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;

 private:
  gradstep_device device() const { return {GRADSTEP_DEVICE_CUDA, device_}; }
  /// What is not needed any more, to the host's allocator, if the device can be waited for now.
  void return_unneeded();

  std::shared_ptr<Allocator> allocator_;
  int device_;
  std::mutex mutex_;
  std::vector<std::pair<void*, std::size_t>> unneeded_;  // guarded by mutex_
};

/// Few sizes, so that one block serves many.
std::size_t block_size(std::size_t bytes);

/// Blocks that are given back for the next one to take. Users of one use it in the order of one queue, so that
/// none is waited for.
class QueueMemory final : public Memory {
 public:
  explicit QueueMemory(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~QueueMemory() override;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  std::size_t taken_by(std::size_t bytes) const override { return block_size(bytes); }

 private:
  std::shared_ptr<Memory> memory_;
  std::multimap<std::size_t, void*> free_;  // by size
  std::mutex mutex_;
};

/// Memory of the host that the device reads and writes by itself.
class PinnedBuffer {
 public:
  PinnedBuffer(int device, std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  int device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace gradstep::cuda
