// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <bit>

#include "runtime/capture.h"

namespace gradstep::cuda {

void* DeviceMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const BesideCapture beside(device_);
  void* data = nullptr;
  if (allocator_->is_host()) {
    data = allocator_->allocate_on(device(), bytes, nullptr);
    if (data == nullptr) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "the allocator has no {} bytes on cuda:{}", bytes, device_);
    return data;
  }
  const cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    fail(GRADSTEP_ERR_OUT_OF_MEMORY, "cuda:{} has no {} bytes", device_, bytes);
  }
  check(error, "cudaMalloc");
  return data;
}

void DeviceMemory::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  give_back(device_, [&] {
    if (!allocator_->is_host()) {
      cudaFree(data);
      return;
    }
    const std::lock_guard lock(mutex_);
    unneeded_.emplace_back(data, bytes);
    return_unneeded();
  });
}

void DeviceMemory::return_unneeded() {
  if (is_about_capture(cudaDeviceSynchronize())) return;
  for (const auto& [data, bytes] : unneeded_) allocator_->deallocate_on(device(), data, bytes, nullptr);
  unneeded_.clear();
}

DeviceMemory::~DeviceMemory() {
  if (unneeded_.empty()) return;
  give_back(device_, [&] { return_unneeded(); });
}

std::size_t block_size(std::size_t bytes) { return std::bit_ceil(bytes < 512 ? std::size_t{512} : bytes); }

QueueMemory::~QueueMemory() {
  for (const auto& [size, data] : free_) memory_->deallocate(data, size);
}

void* QueueMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t size = block_size(bytes);
  const std::lock_guard lock(mutex_);
  if (const auto found = free_.find(size); found != free_.end()) {
    void* data = found->second;
    free_.erase(found);
    return data;
  }
  return memory_->allocate(size);
}

void QueueMemory::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  const std::lock_guard lock(mutex_);
  free_.emplace(block_size(bytes), data);
}

PinnedBuffer::PinnedBuffer(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
  const BesideCapture beside(device_);
  check(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault), "cudaHostAlloc");
}

PinnedBuffer::~PinnedBuffer() {
  give_back(device_, [&] { cudaFreeHost(data_); });
}

}  // namespace gradstep::cuda
