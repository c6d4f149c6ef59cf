// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// CUDA's user objects tell when a graph is gone: the graph, those that were instantiated from it, and the last launch
// of them. What they call then must not call CUDA, so blocks are only listed there, and freed with the context.
#include "runtime/graph_memory.h"

#include <map>
#include <mutex>

#include "runtime/capture.h"

namespace gradstep::cuda {

struct GraphMemory::FreeBlocks {
  std::mutex mutex;
  std::multimap<std::size_t, void*> by_size;
};

/// A graph's hold of a block.
struct GraphMemory::Held {
  std::shared_ptr<FreeBlocks> free;
  std::size_t size;
  void* data;

  static void give_back(void* user) {
    const std::unique_ptr<Held> own(static_cast<Held*>(user));
    const std::lock_guard lock(own->free->mutex);
    own->free->by_size.emplace(own->size, own->data);
  }
};

GraphMemory::GraphMemory(std::shared_ptr<Memory> memory, int device, cudaStream_t stream)
    : memory_(std::move(memory)), device_(device), stream_(stream), free_(std::make_shared<FreeBlocks>()) {}

GraphMemory::~GraphMemory() {
  for (const auto& [data, size] : blocks_) memory_->deallocate(data, size);
}

// CUDA is not called with the mutex held that its thread needs in give_back().
void* GraphMemory::take(std::size_t size) {
  const std::lock_guard lock(free_->mutex);
  const auto found = free_->by_size.find(size);
  if (found == free_->by_size.end()) return nullptr;
  void* data = found->second;
  free_->by_size.erase(found);
  return data;
}

void* GraphMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const BesideCapture beside(device_);
  const std::size_t size = block_size(bytes);
  void* data = take(size);
  if (data == nullptr) {
    data = memory_->allocate(size);
    const std::lock_guard lock(mutex_);
    blocks_.emplace_back(data, size);
  }
  auto held = std::make_unique<Held>(Held{free_, size, data});
  cudaUserObject_t object = nullptr;
  check(cudaUserObjectCreate(&object, held.get(), Held::give_back, 1, cudaUserObjectNoDestructorSync),
        "cudaUserObjectCreate");
  static_cast<void>(held.release());
  check(cudaGraphRetainUserObject(capture_of(stream_).graph, object, 1, cudaGraphUserObjectMove),
        "cudaGraphRetainUserObject");
  return data;
}

}  // namespace gradstep::cuda
