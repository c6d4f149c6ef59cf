// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Selected elements on their way: a list of indices and a list of values, each filled up with zeros to whole words of 8
// bytes. They are written and read where the gradients lie.
#pragma once

#include <cstdint>

#include "backend/exchange.h"
#include "backend/queue.h"
#include "core/memory.h"

namespace gradstep {

/// Messages with values of `dtype`.
struct SparseMessages {
  DType dtype = DType::f32;

  std::int64_t values_bytes(std::int64_t count) const { return count * size_of(dtype); }
  std::int64_t bytes(std::int64_t count) const { return aligned(indices_bytes(count)) + aligned(values_bytes(count)); }
  SparseList read(const std::byte* message, std::int64_t count) const {
    return {reinterpret_cast<const std::int32_t*>(message), message + aligned(indices_bytes(count)), count, nullptr};
  }
  /// Room for `count` elements at `message`, which has bytes(count).
  Selection write(std::byte* message, std::int64_t count, Queue& queue) const {
    std::byte* values = message + aligned(indices_bytes(count));
    fill_up(message, indices_bytes(count), queue);
    fill_up(values, values_bytes(count), queue);
    return {reinterpret_cast<std::int32_t*>(message), values};
  }

  static std::int64_t indices_bytes(std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(std::int32_t));
  }

 private:
  static std::int64_t aligned(std::int64_t bytes) { return whole_units(bytes, 8); }
  static void fill_up(std::byte* list, std::int64_t bytes, Queue& queue) {
    if (aligned(bytes) > bytes) queue.zero(list + bytes, static_cast<std::size_t>(aligned(bytes) - bytes));
  }
};

}  // namespace gradstep
