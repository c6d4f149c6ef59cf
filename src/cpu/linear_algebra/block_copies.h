// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Blocks in and out of their tensors, by runs of neighbouring elements, and those that need no copy.
#pragma once

#include <cstdint>
#include <cstring>

#include "backend/preconditioning.h"
#include "core/array.h"
#include "cpu/linear_algebra/products.h"

namespace gradstep::cpu {

/// Calls run(offset in the tensor, offset in the block, elements).
template <class Run>
void for_each_run(const BlockPlan& block, Run run) {
  const std::size_t last = block.extents.size() - 1;
  const std::int64_t length = block.extents[last];
  std::int64_t index[kMaxDimensions] = {};
  std::int64_t position = block.first;
  for (std::int64_t offset = 0; offset < block.size; offset += length) {
    run(position, offset, length);
    for (std::size_t axis = last; axis-- > 0;) {
      position += block.strides[axis];
      if (++index[axis] < block.extents[axis]) break;
      position -= index[axis] * block.strides[axis];
      index[axis] = 0;
    }
  }
}

template <class T>
void read_block(const T* tensor, const BlockPlan& block, T* to) {
  for_each_run(block, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    std::memcpy(to + offset, tensor + position, static_cast<std::size_t>(length) * sizeof(T));
  });
}

template <class T>
void write_block(const T* from, const BlockPlan& block, T* tensor) {
  for_each_run(block, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    std::memcpy(tensor + position, from + offset, static_cast<std::size_t>(length) * sizeof(T));
  });
}

/// A block of a state that is no codes, in the arithmetic of T or in bf16.
template <class T>
void read_block(const StoredMatrix& state, const BlockPlan& block, T* to) {
  if (state.dtype != DType::bf16) return read_block(state.as<const T>(), block, to);
  const auto* stored = state.as<const kernels::BFloat16>();
  for_each_run(block, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) to[offset + i] = kernels::convert<T>(stored[position + i]);
  });
}

/// bf16 is rounded by random bits of this stream, or to nearest.
template <class T>
void write_block(const T* from, const BlockPlan& block, const StoredMatrix& state,
                 const kernels::TensorRounding& rounding, int stream) {
  if (state.dtype != DType::bf16) return write_block(from, block, state.as<T>());
  auto* stored = state.as<kernels::BFloat16>();
  for_each_run(block, [&](std::int64_t position, std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) {
      stored[position + i] =
          rounding.round<kernels::BFloat16>(static_cast<float>(from[offset + i]), stream, position + i);
    }
  });
}

/// Whether products can read and write a block in its tensor.
inline bool is_in_place(const BlockPlan& block) {
  return block.extents.size() == 1 || (block.extents.size() == 2 && block.extents[1] > 1);
}

/// The layout of an axis in the tensor, for a block that is_in_place().
inline AxisLayout layout_in_tensor(const BlockPlan& block, const FactorPlan& axis) {
  const std::int64_t row = block.extents.size() == 1 ? block.size : block.strides[0];
  return axis.inner == 1 ? AxisLayout{axis.outer, axis.n, 1, row, 1} : AxisLayout{1, axis.n, axis.inner, 0, row};
}

/// The layout of an axis in a compact copy of its block.
inline AxisLayout compact_layout(const FactorPlan& axis) {
  return {axis.outer, axis.n, axis.inner, axis.n * axis.inner, axis.inner};
}

}  // namespace gradstep::cpu
