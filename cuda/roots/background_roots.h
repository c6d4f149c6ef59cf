// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Roots beside the steps to come, on a stream of their own with handles and memory of its own. What is put there asks
// nothing of the host; what the first attempt has not settled is left to finish().
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "roots/roots.h"
#include "runtime/own_stream.h"

namespace gradstep::cuda {

/// What all rounds of an optimizer share: they come one after the other.
struct RootStream {
  RootStream(int device, const std::shared_ptr<Memory>& memory)
      : stream(device), queue(device, stream.get(), memory), libraries(device) {}
  std::size_t bytes() const { return held_bytes(libraries, roots); }

  OwnStream stream;
  CudaQueue queue;
  RootLibraries libraries;
  Roots roots{libraries};
};

/// Makes it when the first round needs it.
class RootStreamOwner {
 public:
  RootStreamOwner(int device, std::shared_ptr<Memory> memory) : device_(device), memory_(std::move(memory)) {}

  RootStream& get() {
    if (stream_ == nullptr) stream_ = std::make_unique<RootStream>(device_, memory_);
    return *stream_;
  }
  std::size_t bytes() const { return held_bytes(stream_); }

 private:
  int device_;
  std::shared_ptr<Memory> memory_;
  std::unique_ptr<RootStream> stream_;
};

/// The roots of a round.
class BackgroundRoots {
 public:
  explicit BackgroundRoots(RootStream& stream) : stream_(stream) {}

  /// Begins the roots of the statistics as they are now in the order of `queue`. The jobs' results keep the statistics
  /// until their roots are there.
  void begin(std::span<const RootJob> jobs, std::span<RootRecord> records, CudaQueue& queue);
  /// Waits for what was begun, and does what is left; `queue` sees the results from here on.
  void finish(CudaQueue& queue);
  /// Returns when nothing is under way.
  void stop() noexcept;

 private:
  RootStream& stream_;
  std::vector<RootJob> jobs_;  // of roots, with the kept statistics
  std::span<RootRecord> records_;
  std::vector<std::size_t> places_;  // of the jobs' records
  MatrixCopies kept_;
  QueuedRoots queued_;
  bool pending_ = false;
};

}  // namespace gradstep::cuda
