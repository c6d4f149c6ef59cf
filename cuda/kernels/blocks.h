// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Blocks of one size, side by side in scratch. A block is kept turned: its first axes, of `moved` elements together,
// have become its last ones, so that the axis a product is taken over comes first.
#pragma once

#include <vector>

#include "backend/preconditioning.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// A parameter's numbers in a step, in its arithmetic, and where its state lies. Absent: NULL.
struct TensorItem {
  const void* gradient;
  const void* input;  ///< the grafting direction, or the gradient
  const void* value;
  void* outcome;
  void* momentum;  ///< decoded where it is codes
  void* diagonal_momentum;
  void* statistics;
  void* exp_avg;
  float* master;
  void* direction;
  void* preconditioned_gradient;
  std::int64_t size;
  std::int64_t group;
  std::int64_t first_chunk;
  std::int64_t chunks;
  std::int64_t takes_part;
  std::int64_t used;  ///< had a gradient in an earlier step
  std::int64_t preconditioned;
  std::int64_t is_half;
  std::int64_t is_wide;         ///< its arithmetic is f64
  std::int64_t narrow_momenta;  ///< are bf16
  std::int64_t narrow_state;    ///< statistics and exp_avg are bf16
  kernels::TensorRounding rounding;
};

inline constexpr int kMaxBlockDimensions = 32;

/// A BlockPlan on the device.
struct BlockItem {
  std::int64_t tensor;
  std::int64_t first;
  std::int64_t ndim;
  void* exchange;
  std::uint32_t extents[kMaxBlockDimensions];
  std::int64_t strides[kMaxBlockDimensions];
};

BlockItem block_item(const BlockPlan& block);

/// Blocks of one size, of tensors of one arithmetic but where they are spread; a chunk's item is the block's number
/// among them.
struct BlockBatch {
  Chunks chunks;
  const BlockItem* blocks = nullptr;
  const TensorItem* tensors = nullptr;
  std::int64_t size = 0;
};

// T is the arithmetic, f32 or f64.
/// The gradients into `to`, turned. Empty for a tensor that takes no part.
template <class T>
void gather_gradients(const BlockBatch& batch, std::int64_t moved, T* to, const CudaQueue& queue);
/// P(g), turned, to where blocks are exchanged, or into their tensors.
template <class T>
void scatter_preconditioned(const BlockBatch& batch, std::int64_t moved, const T* from, const CudaQueue& queue);
/// From where blocks were exchanged into their tensors; blocks of any size.
void spread_exchanged(const BlockBatch& batch, const CudaQueue& queue);
/// `count` matrices (rows, columns), side by side, are transposed.
template <class T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t count, T* to,
               const CudaQueue& queue);

/// s = keep s + add weight p, symmetric to the bit and finite but for NaN, for statistics of one extent of blocks whose
/// tensors take part.
template <class T>
struct StatisticItem {
  T* numbers;
  std::int64_t tensor;
};
/// The numbers of a group that statistics need.
struct Averaging {
  double keep;
  double add;
};
template <>
inline constexpr bool kHasNoPadding<Averaging> = sizeof(Averaging) == 2 * sizeof(double);
template <class T>
void add_to_statistics(const StatisticItem<T>* items, std::int64_t count, std::int64_t n, const T* products,
                       double weight, const TensorItem* tensors, const Averaging* groups, const CudaQueue& queue);

}  // namespace gradstep::cuda
