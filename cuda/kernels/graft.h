// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From gradients and P(g) to the step: grafting, whose norms are over whole tensors, and the two momenta. Equal to the
// bit to what the CPU computes.
#pragma once

#include "kernels/blocks.h"
#include "rules/shampoo.h"

namespace gradstep::cuda {

/// Constants of a group, as kernels take them.
struct GroupItem {
  rules::RuleConstants direction;
  rules::ShampooFinish<float> f32;
  rules::ShampooFinish<double> f64;
  double clip_scaled_norm;

  template <class T>
  GRADSTEP_FORMULA const rules::ShampooFinish<T>& in() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return f64;
    } else {
      return f32;
    }
  }
};
template <>
inline constexpr bool kHasNoPadding<GroupItem> =
    sizeof(GroupItem) == sizeof(rules::RuleConstants) + 10 * sizeof(float) + 10 * sizeof(double) + sizeof(double);

/// Chunks of whole tensors.
struct TensorBatch {
  Chunks chunks;
  const TensorItem* tensors = nullptr;
  std::int64_t tensor_count = 0;
  const GroupItem* groups = nullptr;
  // Whether there are tensors of an arithmetic.
  bool has_f32 = false;
  bool has_f64 = false;
};

/// body(0 of the type) for each arithmetic that tensors have: a launch each, in which the others are left alone.
template <class Body>
void for_each_arithmetic(const TensorBatch& batch, Body body) {
  if (batch.has_f32) body(float{});
  if (batch.has_f64) body(double{});
}

void follow_masters(const TensorBatch& batch, const CudaQueue& queue);

struct GraftScratch {
  double* squares = nullptr;  ///< by chunk
  double* preconditioned_squares = nullptr;
  kernels::GraftScales* scales = nullptr;  ///< by tensor
};

/// The grafting directions, and the scales that follow.
void graft(const TensorBatch& batch, kernels::Graft graft, const GraftScratch& scratch, const CudaQueue& queue);
/// Momenta and outcomes.
void finish(const TensorBatch& batch, const kernels::GraftScales* scales, const CudaQueue& queue);

}  // namespace gradstep::cuda
