// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a captured graph reads and writes whenever it is replayed, in whatever stream: the graph's alone.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/memory.h"

namespace gradstep::cuda {

/// Memory of the graphs that one stream is captured in. A block is its graph's until CUDA has destroyed that and what
/// was made of it, and then serves the next graph.
class GraphMemory final : public Memory {
 public:
  GraphMemory(std::shared_ptr<Memory> memory, int device, cudaStream_t stream);
  ~GraphMemory() override;

  /// Inside a capture of the stream.
  void* allocate(std::size_t bytes) override;
  /// The caller needs it no more, but the graph does.
  void deallocate(void* /*data*/, std::size_t /*bytes*/) noexcept override {}
  std::size_t taken_by(std::size_t bytes) const override { return block_size(bytes); }

 private:
  struct FreeBlocks;
  struct Held;

  /// A block of such a size that no graph holds, or NULL.
  void* take(std::size_t size);

  std::shared_ptr<Memory> memory_;
  int device_;
  cudaStream_t stream_;
  std::shared_ptr<FreeBlocks> free_;
  std::mutex mutex_;
  std::vector<std::pair<void*, std::size_t>> blocks_;  // all; guarded by mutex_
};

}  // namespace gradstep::cuda
