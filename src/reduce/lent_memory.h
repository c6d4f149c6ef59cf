// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory that buckets use in turn: lent while a window's gradients are packed and exchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend/site.h"

namespace gradstep {

/// Any thread may take and give.
class MemoryPool {
 public:
  /// At least so many bytes: the smallest piece that is free, or a new one. Work that is put into the site's queue from
  /// now on may use it.
  Buffer take(const Site& site, std::size_t bytes);
  /// `last_use`: a point behind all work that uses it.
  void give(Buffer buffer, Event last_use) noexcept;

 private:
  struct Free {
    Buffer buffer;
    Event last_use;
  };

  std::mutex mutex_;
  std::vector<Free> free_;
};

/// One bucket's: its own, or lent by a pool.
class LentMemory {
 public:
  /// Its own.
  LentMemory(const Site& site, std::size_t bytes, bool zeroed);

  /// From now on there is memory only between take() and give(). NULL, before the first take(): its own memory stays.
  void lend_from(MemoryPool* pool) { pool_ = pool; }
  /// Before the first use of a window; again, it does nothing.
  void take(const Site& site);
  /// In take()'s stead where nothing is packed here: its own memory goes.
  void do_without() noexcept;
  /// After the last one, which `last_use` is behind.
  void give(const Event& last_use) noexcept;

  void* data() const { return buffer_.data(); }

 private:
  MemoryPool* pool_ = nullptr;
  std::size_t bytes_;
  Buffer buffer_;
  bool is_lent_ = false;
};

}  // namespace gradstep
