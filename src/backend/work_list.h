// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How a list of tensors is cut into pieces of work. Cuts depend on sizes only, so that results do not depend on
// threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/chunk.h"
#include "core/buffer_list.h"
#include "core/held_bytes.h"

namespace gradstep {

class WorkList {
 public:
  WorkList() = default;
  explicit WorkList(std::span<const std::int64_t> sizes) {
    for (const std::int64_t size : sizes) append(size);
  }

  void append(std::int64_t size) { append_part(0, size); }

  /// An item of which only elements [begin, begin + size) are worked on. `begin` is a multiple of kChunk.
  void append_part(std::int64_t begin, std::int64_t size) {
    reserve(chunks_of(size));
    for (std::int64_t offset = 0; offset < size; offset += kChunk) {
      const std::int64_t left = size - offset;
      chunks_.push_back({items_, static_cast<std::int32_t>(left < kChunk ? left : kChunk), begin + offset});
    }
    ++items_;
    version_ = 0;
  }

  /// An item of `count` runs of `length` elements, each cut for itself.
  void append_runs(std::int64_t count, std::int64_t length) {
    reserve(count * chunks_of(length));
    for (std::int64_t run = 0; run < count; ++run) {
      for (std::int64_t offset = 0; offset < length; offset += kChunk) {
        const std::int64_t left = length - offset;
        chunks_.push_back({items_, static_cast<std::int32_t>(left < kChunk ? left : kChunk), run * length + offset});
      }
    }
    ++items_;
    version_ = 0;
  }

  /// `count` items of one size, whose chunks take turns: all their first ones, then all their second ones, ...
  void append_in_turns(std::int64_t size, std::int32_t count) {
    for (std::int64_t offset = 0; offset < size; offset += kChunk) {
      const std::int64_t left = size - offset;
      const auto length = static_cast<std::int32_t>(left < kChunk ? left : kChunk);
      for (std::int32_t i = 0; i < count; ++i) chunks_.push_back({items_ + i, length, offset});
    }
    items_ += count;
    version_ = 0;
  }

  /// Room for items of these sizes, whose append() then cannot fail.
  template <class Sizes>
  void reserve_for(const Sizes& sizes) {
    std::int64_t more = 0;
    for (const std::int64_t size : sizes) more += chunks_of(size);
    reserve(more);
  }

  /// Keeps its memory.
  void clear() {
    chunks_.clear();
    items_ = 0;
    version_ = 0;
  }

  /// Lists of one version have the same chunks: what was made of them still holds.
  std::uint64_t version() const {
    if (version_ == 0) version_ = new_version();
    return version_;
  }

  std::span<const Chunk> chunks() const { return chunks_; }
  std::int32_t items() const { return items_; }
  std::size_t bytes() const { return held_bytes(chunks_); }

 private:
  /// At once and as vectors grow: what is too large is found before it has been filled.
  void reserve(std::int64_t more) {
    const std::size_t needed = chunks_.size() + static_cast<std::size_t>(more);
    if (needed > chunks_.capacity()) chunks_.reserve(std::max({std::size_t{16}, needed, 2 * chunks_.capacity()}));
  }

  std::vector<Chunk> chunks_;
  std::int32_t items_ = 0;
  mutable std::uint64_t version_ = 0;  // 0 = not asked for since the last change
};

}  // namespace gradstep
