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
  /// Returns at least `bytes`: the smallest free piece that is large enough, or a new one. Work that is put into the
  /// site's queue from now on may use it.
  Buffer take(const Site& site, std::size_t bytes);
  /// Takes it back. `last_use`: a point behind all work that uses it.
  void give(Buffer buffer, Event last_use) noexcept;

 private:
  struct Free {
    Buffer buffer;
    Event last_use;
  };

  std::mutex mutex_;
  std::vector<Free> free_;
};

/// The memory of one bucket: its own, or lent by a pool.
class LentMemory {
 public:
  /// Allocates memory of its own.
  LentMemory(const Site& site, std::size_t bytes, bool zeroed);

  /// The pool lends from the next take() on, which frees its own memory. NULL undoes this before that take().
  void lend_from(MemoryPool* pool) { pool_ = pool; }
  /// Borrows, where a pool lends and nothing is borrowed yet. Call before the first use in a window.
  void take(const Site& site);
  /// Frees its own memory, where a pool lends. Call instead of take() where the memory is not used.
  void do_without() noexcept;
  /// Gives back what is borrowed. `last_use`: a point behind the last use.
  void give(const Event& last_use) noexcept;

  void* data() const { return buffer_.data(); }

 private:
  MemoryPool* pool_ = nullptr;
  std::size_t bytes_;
  Buffer buffer_;
  bool is_lent_ = false;
};

}  // namespace gradstep
