// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <bit>
#include <utility>

namespace gradstep::cuda {

void* DeviceMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const OnDevice current(device_);
  void* data = nullptr;
  if (allocator_->is_host()) {
    data = allocator_->allocate_on({GRADSTEP_DEVICE_CUDA, device_}, bytes, nullptr);
    if (data == nullptr) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "the allocator has no {} bytes on cuda:{}", bytes, device_);
    return data;
  }
  const cudaError_t error = cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(GRADSTEP_ERR_OUT_OF_MEMORY, "cuda:{} has no {} bytes", device_, bytes);
  }
  check(error, "cudaMalloc");
  return data;
}

void DeviceMemory::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  try {
    const OnDevice current(device_);
    if (allocator_->is_host()) {
      cudaDeviceSynchronize();
      allocator_->deallocate_on({GRADSTEP_DEVICE_CUDA, device_}, data, bytes, nullptr);
    } else {
      cudaFree(data);
    }
  } catch (...) {  // of a device that is gone there is nothing to give back
  }
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

PinnedBuffer::PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
  check(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault), "cudaHostAlloc");
}

PinnedBuffer::~PinnedBuffer() { cudaFreeHost(data_); }

}  // namespace gradstep::cuda
