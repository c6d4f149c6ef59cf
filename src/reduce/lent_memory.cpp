// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/lent_memory.h"

#include <algorithm>
#include <utility>

namespace gradstep {

Buffer MemoryPool::take(const Site& site, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    auto best = free_.end();
    for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
      const bool fits = piece->buffer.bytes() >= bytes;
      if (fits && (best == free_.end() || piece->buffer.bytes() < best->buffer.bytes())) best = piece;
    }
    if (best != free_.end()) {
      site.queue().wait(best->last_use);
      Buffer buffer = std::move(best->buffer);
      free_.erase(best);
      return buffer;
    }
    free_.reserve(free_.capacity() + 1);  // give() takes no memory
  }
  return site.allocate(bytes, /*zeroed=*/false);
}

void MemoryPool::give(Buffer buffer, Event last_use) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back({std::move(buffer), std::move(last_use)});
}

LentMemory::LentMemory(const Site& site, std::size_t bytes, bool zeroed)
    : bytes_(bytes), buffer_(site.allocate(bytes, zeroed)) {}

void LentMemory::take(const Site& site) {
  if (pool_ == nullptr || is_lent_) return;
  buffer_ = {};
  buffer_ = pool_->take(site, bytes_);
  is_lent_ = true;
}

void LentMemory::do_without() noexcept {
  if (pool_ != nullptr && !is_lent_) buffer_ = {};
}

void LentMemory::give(const Event& last_use) noexcept {
  if (!std::exchange(is_lent_, false)) return;
  pool_->give(std::exchange(buffer_, {}), last_use);
}

}  // namespace gradstep
