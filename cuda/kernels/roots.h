// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What roots need beside products and decompositions: kernels over batches of n x n matrices, side
// by side, in the arithmetic of T: f64 or f32.
#pragma once

#include "backend/newton_ladder.h"
#include "backend/preconditioning.h"
#include "kernels/inverse_root.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// What of coupled Newton is the root.
enum class RootToKeep : std::int32_t { none, h, previous, next_h };

/// A matrix's root under way, as device and host see it.
struct RootState {
  double max_eigenvalue = 0;
  double min_eigenvalue = 0;  ///< about, and not below it; for coupled Newton by other steps than the source's
  double ridge = 0;
  double error = 0;
  std::int32_t finite = 0;
  std::int32_t strange = 0;  ///< a number of the statistic is not finite
  std::int32_t raised = 0;   ///< the least eigenvalues have to be raised
  std::int32_t active = 0;   ///< coupled Newton goes on
  RootToKeep keeps = RootToKeep::none;
  kernels::NewtonStart begin;
  kernels::NewtonState newton;
};

/// Whether a first attempt is the last one: the root is accepted without another look at it.
GRADSTEP_FORMULA bool is_settled(const RootState& state, double threshold, double doubtful) {
  return state.finite != 0 && state.active == 0 && state.error < threshold && !(state.error > doubtful);
}

struct RootBatch {
  std::int64_t n = 0;
  std::int64_t count = 0;
  std::int64_t padded = 0;
  double pad_value = 1;
  std::int32_t exponent = 4;
  bool source_steps = false;
  double epsilon = 0;           ///< for root_ridge()
  bool absolute_ridge = false;  ///< likewise
  RootState* states = nullptr;
};

/// Statistics in T, of those that are kept in Kept. One that is not finite is marked, and becomes the identity. States
/// are zero before.
template <class Kept, class T>
void load_statistics(const RootBatch& batch, const Kept* from, T* statistics, const CudaQueue& queue);

// By eigendecomposition. Vectors are rows; values ascend.
/// The ridges; without an extension the largest eigenvalue is that of `values`.
template <class T>
void set_ridges(const RootBatch& batch, const T* values, const int* info, const CudaQueue& queue);
/// Vectors times the square roots of the eigenvalues of the root, or of what raises those of the statistic.
template <class T>
void scale_vectors(const RootBatch& batch, const T* vectors, const T* values, bool raised, T* to,
                   const CudaQueue& queue);
/// The upper half becomes that of the lower.
template <class T>
void mirror_lower(const RootBatch& batch, T* matrices, const CudaQueue& queue);
/// Adds to statistics what raises their least eigenvalues.
template <class T>
void take_raised(const RootBatch& batch, const T* raised, T* statistics, const CudaQueue& queue);

// Residuals of roots H of D = S + ridge I.
template <class T>
void write_probes(const RootBatch& batch, T* probes, const CudaQueue& queue);
/// products = S x becomes D x.
template <class T>
void add_ridge_to_products(const RootBatch& batch, T* products, const CudaQueue& queue);
/// The error = max |product - probe|.
template <class T>
void measure_probes(const RootBatch& batch, const T* products, const CudaQueue& queue);
template <class T>
void damp(const RootBatch& batch, const T* statistics, T* to, const CudaQueue& queue);
/// The error = max |product - I|, where it was doubtful.
template <class T>
void measure_doubtful(const RootBatch& batch, const T* products, const CudaQueue& queue);

// Coupled Newton. A step is: m m, but by the source's steps; write_newton_factors; h t; keep_last_roots; t^p m;
// check_newton.
template <class T>
struct NewtonMatrices {
  T* m = nullptr;
  T* h = nullptr;
  T* t = nullptr;
  T* spare = nullptr;
  T* previous = nullptr;
  T* root = nullptr;
  void* measures = nullptr;  ///< newton_measures_bytes()
};
std::size_t newton_measures_bytes(const RootBatch& batch);
template <class T>
void begin_newton(const RootBatch& batch, const T* statistics, const NewtonMatrices<T>& to, const CudaQueue& queue);
/// t, of m and, but by the source's steps, its square, which is in spare. In the first step also h t, into previous.
template <class T>
void write_newton_factors(const RootBatch& batch, const NewtonMatrices<T>& matrices, bool is_first,
                          const CudaQueue& queue);
/// h of those that have come to their end by this step.
template <class T>
void keep_last_roots(const RootBatch& batch, const NewtonMatrices<T>& matrices, const CudaQueue& queue);
/// The new errors, and the roots of those that have come to their end without another step.
template <class T>
void check_newton(const RootBatch& batch, const NewtonMatrices<T>& matrices, const CudaQueue& queue);

/// A root that was accepted, and where it goes, which has the type of its statistic.
template <class T, class Kept>
struct RootOutcome {
  const T* root;
  Kept* to;
};
template <class T, class Kept>
void convert_roots(const RootOutcome<T, Kept>* outcomes, std::int64_t count, std::int64_t n, const CudaQueue& queue);
/// Converts those roots of a batch that are settled.
template <class T, class Kept>
void convert_settled(const RootBatch& batch, const RootOutcome<T, Kept>* outcomes, double threshold, double doubtful,
                     const CudaQueue& queue);

}  // namespace gradstep::cuda
