// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A device that is none: the CPU's loops, behind what makes a device different. The host cannot touch its memory, which
// is readable only while an operation runs; a host read or write ends the program. Work waits in its queue until a
// thread waits for it, and then the queues take turns by chance, in an order of which only events say something. So a
// suite that passes here on many seeds sends nothing through the host and depends on nothing being done at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "detached/closed_memory.h"
#include "detached/deferring_backend.h"
#include "detached/work_queues.h"
#include "gradstep/tensor.h"

namespace gradstep::test {

/// A DLPack device type that no product has (kDLExtDev).
inline constexpr gradstep_device kDetached{12, 0};

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
  std::int64_t done() const { return device_->work.done(); }
  /// How often memory was taken.
  std::int64_t allocations() const { return device_->closed.allocations(); }
  /// How often the host has waited, be it to give memory back.
  std::int64_t waits() const { return device_->work.waits(); }

 protected:
  void put_into(Queue& queue, std::function<void()> work) override;

 private:
  class WorkQueue;
  class Point;

  /// Buffers may outlive the backend, and keep this.
  struct Device final : Memory {
    explicit Device(std::uint64_t seed) : work(closed, seed) {}
    void* allocate(std::size_t bytes) override { return closed.allocate(bytes); }
    /// Waits for all work, as devices do before they give memory back.
    void deallocate(void* data, std::size_t bytes) noexcept override;

    ClosedMemory closed;
    WorkQueues work;
  };

  std::shared_ptr<Device> device_;
  std::shared_ptr<Memory> memory_;
  std::map<void*, std::unique_ptr<WorkQueue>> queues_;  // by stream
  std::mutex mutex_;
};

}  // namespace gradstep::test
