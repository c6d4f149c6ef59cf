// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The element-wise part of the eigenvalue-corrected mode: Adam over what has been rotated into the bases, whose moments
// lie in their tensors where the rotated elements would. Equal to the bit to what the CPU computes from the same
// rotated numbers.
#pragma once

#include "kernels/blocks.h"
#include "kernels/graft.h"

namespace gradstep::cuda {

/// A step of Adam: gradients in the bases, turned, become its directions. Tensors that take no part are left alone.
template <class T>
void step_in_bases(const BlockBatch& batch, std::int64_t moved, const GroupItem* groups, T* rotated,
                   const CudaQueue& queue);
/// A step of Adam for tensors without bases, into the place of P(g).
void step_without_bases(const TensorBatch& batch, const CudaQueue& queue);
/// From Adam's directions to the outcomes; a tensor's first gradient moves nothing.
void finish_corrected(const TensorBatch& batch, const CudaQueue& queue);

/// Which vector of the old basis is the new one's j-th, along an axis of a block. NULL = the basis stays.
template <class T>
struct AxisOrder {
  const T* order;
  std::int64_t n;
  std::int64_t inner;  ///< elements of the block from one index of the axis to the next
};

/// Adam's, of which the second is kept as the diagonal statistics.
enum class Moment : std::uint8_t { first, second };

/// First moments, turned.
template <class T>
void gather_first_moments(const BlockBatch& batch, std::int64_t moved, T* to, const CudaQueue& queue);
/// Second moments, as they lie, which follow the new order of the vectors. `orders`: `axes` for each block.
template <class T>
void gather_ordered_second_moments(const BlockBatch& batch, const AxisOrder<T>* orders, std::int64_t axes, T* to,
                                   const CudaQueue& queue);
/// Back into their tensors, from where they are turned.
template <class T>
void scatter_moments(const BlockBatch& batch, Moment moment, std::int64_t moved, const T* from, const CudaQueue& queue);

}  // namespace gradstep::cuda
