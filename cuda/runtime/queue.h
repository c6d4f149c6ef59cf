// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A stream of the host's, as a queue.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/queue.h"
#include "runtime/capture.h"
#include "runtime/graph_memory.h"
#include "runtime/memory.h"
#include "runtime/own_stream.h"

namespace gradstep::cuda {

/// An event of CUDA's, without times. Calls may be on threads that have no device, and beside captures.
class Mark {
 public:
  explicit Mark(int device);
  ~Mark();
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  void record(cudaStream_t stream);
  bool is_reached() const;
  void reach() const;
  cudaEvent_t event() const { return event_; }

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

/// Pinned blocks on their way. One is free again when the stream has passed it.
class Staging {
 public:
  /// What one copy may take at most.
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

  explicit Staging(int device) : device_(device) {}

  struct Block {
    Block(int device, std::size_t size) : bytes(device, size), passed(device) {}
    /// Waits until what was sent off from it has arrived.
    ~Block();
    PinnedBuffer bytes;
    Mark passed;
  };

  /// The oldest block that is free and large enough, or a new one; waits where many are on their way. To be sent off
  /// before the next one is taken.
  Block& take(std::size_t bytes);
  void send_off(cudaStream_t stream);
  /// As take(), for a caller that reads what arrives there: its own until it is given back.
  std::unique_ptr<Block> borrow(std::size_t bytes);
  void give_back(std::unique_ptr<Block> block) { blocks_.push_back(std::move(block)); }

 private:
  int device_;
  std::deque<std::unique_ptr<Block>> blocks_;  // the one sent off last is the last
};

class CudaQueue final : public Queue {
 public:
  CudaQueue(int device, cudaStream_t stream, const std::shared_ptr<Memory>& memory)
      : Queue(/*is_host=*/false),
        device_(device),
        stream_(stream),
        scratch_(std::make_shared<QueueMemory>(memory)),
        graph_memory_(std::make_shared<GraphMemory>(memory, device, stream)),
        staging_(device) {}

  Event record() override;
  void wait(const Event& event) override;
  /// Throws INVALID_STATE inside a capture where `earlier` is not part of it, and not idle.
  void follow(Queue& earlier) override;
  /// Throws INVALID_STATE inside a capture.
  bool is_idle() override;
  void finish() override;
  void upload(void* to, const void* host, std::size_t bytes) override;
  void download(void* host, const void* from, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* to, std::size_t bytes) override;

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }
  Capture capture() const;
  /// Memory for what is used in this queue's order alone; inside a capture, by its graph alone.
  std::shared_ptr<Memory> scratch() const;
  /// The first bytes of what has just been taken there; host NULL = zeros. A graph finds them at every replay: inside a
  /// capture they are written at once, beside it.
  void initialize(void* to, const void* host, std::size_t bytes);
  /// Throws INVALID_STATE inside a capture, where `what` would be taken up once and played back stale.
  void check_not_capturing(const char* what) const override;

 private:
  int device_;
  cudaStream_t stream_;
  std::shared_ptr<Memory> scratch_;
  std::shared_ptr<Memory> graph_memory_;
  std::mutex staging_mutex_;  // handles on several threads may share a stream
  Staging staging_;
  std::unique_ptr<OwnStream> beside_;  // captures; made by the first
};

}  // namespace gradstep::cuda
