// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory as a device has it: closed to the host, whose reads and writes end the program, but while an operation of the
// device runs. Under the address sanitizer what lies between buffers, and what has been given back, is closed to
// operations as well.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "core/memory.h"

namespace gradstep::test {

class ClosedMemory final : public Memory {
 public:
  ClosedMemory();
  ~ClosedMemory() override;
  ClosedMemory(const ClosedMemory&) = delete;
  ClosedMemory& operator=(const ClosedMemory&) = delete;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  std::int64_t allocations() const { return allocations_; }

  /// Does [data, data + bytes) lie in it?
  bool contains(const void* data, std::size_t bytes) const;
  /// Under the address sanitizer: is all of it in buffers that have not been given back? Elsewhere true.
  static bool has_buffers_at(const void* data, std::size_t bytes);

  /// Scopes may be nested.
  void open();
  void close();

 private:
  std::byte* begin_ = nullptr;
  std::size_t used_ = 0;
  std::multimap<std::size_t, std::byte*> free_;  // by size
  std::int64_t live_ = 0;                        // buffers
  int open_ = 0;
  std::atomic<std::int64_t> allocations_{0};
  std::mutex mutex_;
};

}  // namespace gradstep::test
