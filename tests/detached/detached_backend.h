// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A device that is none: the CPU's loops, behind what makes a device different. The host cannot touch its memory, which
// is readable only while an operation runs; a host read or write ends the program. Work waits in its queue until
// somebody waits for it, and then the queues take turns by chance, in an order of which only events say something. So a
// suite that passes here on many seeds sends nothing through the host and depends on nothing being done at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "detached/deferring_backend.h"
#include "gradstep/tensor.h"

namespace gradstep::test {

/// A DLPack device type that no product has (kDLExtDev).
inline constexpr gradstep_device kDetached{12, 0};

/// Address space that is closed to the host but for a scope.
class ClosedMemory final : public Memory {
 public:
  ClosedMemory();
  ~ClosedMemory() override;
  ClosedMemory(const ClosedMemory&) = delete;
  ClosedMemory& operator=(const ClosedMemory&) = delete;

  void* allocate(std::size_t bytes) override;
  /// Waits for all work, as devices do before they give memory back.
  void deallocate(void* data, std::size_t bytes) noexcept override;
  std::int64_t allocations() const { return allocations_; }

  /// Scopes may be nested.
  void open();
  void close();

  /// What runs before memory is given back.
  std::function<void()> before_deallocation;

 private:
  std::byte* begin_ = nullptr;
  std::size_t used_ = 0;
  std::multimap<std::size_t, std::byte*> free_;  // by size
  int open_ = 0;
  std::atomic<std::int64_t> allocations_{0};
  std::mutex mutex_;
};

class DetachedBackend final : public DeferringBackend {
 public:
  /// `inner` is a CPU's backend of the same context, which outlives this.
  DetachedBackend(Backend& inner, std::uint64_t seed);
  ~DetachedBackend() override;

  const char* name() const override { return "detached"; }
  const std::shared_ptr<Memory>& memory() const override { return memory_; }
  /// Any pointer is a stream.
  Queue& queue(void* stream) override;

  /// How many pieces of work have been done.
  std::int64_t done() const { return done_; }
  /// How often memory was taken.
  std::int64_t allocations() const { return closed_->allocations(); }
  /// How often the host has waited, be it to give memory back.
  std::int64_t waits() const { return waits_; }

 protected:
  void put_into(Queue& queue, std::function<void()> work) override;

 private:
  class WorkQueue;
  class Point;

  /// Does pieces of work until `reached`.
  void work_until(const std::function<bool()>& reached);
  void wait_for(WorkQueue& queue);
  WorkQueue* any_ready();

  std::shared_ptr<ClosedMemory> closed_;
  std::shared_ptr<Memory> memory_;
  std::mt19937_64 random_;
  std::map<void*, std::unique_ptr<WorkQueue>> queues_;  // by stream
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> waits_{0};
  std::recursive_mutex mutex_;  // ranks of one process share a device; work never waits for a rank
};

}  // namespace gradstep::test
