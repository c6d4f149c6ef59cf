// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What roots need beside products and decompositions: kernels over batches of n x n matrices in f64, side by side.
#pragma once

#include "backend/preconditioning.h"
#include "kernels/inverse_root.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// A matrix's root under way, as device and host see it.
struct RootState {
  double max_eigenvalue = 0;
  double ridge = 0;
  double error = 0;
  std::int32_t finite = 0;
  std::int32_t raised = 0;  ///< eigenvalues below zero were raised to it
  std::int32_t active = 0;  ///< coupled Newton goes on
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
  bool seed_rules = false;
  double epsilon = 0;  ///< for root_ridge()
  RootState* states = nullptr;
};

/// Statistics in f64. One that is not finite is marked, and becomes the identity.
void load_statistics(const RootBatch& batch, const float* from, double* statistics, const CudaQueue& queue);
/// Power iteration over the extended matrices, from `start` (max(n, padded)); `vectors` is scratch of twice that for
/// each matrix.
void find_largest_eigenvalues(const RootBatch& batch, const double* statistics, const double* start, double* vectors,
                              const CudaQueue& queue);

// By eigendecomposition. Vectors are rows; values ascend.
/// The ridges; without an extension the largest eigenvalue is that of `values`.
void set_ridges(const RootBatch& batch, const double* values, const int* info, const CudaQueue& queue);
/// Vectors times the roots of what the eigenvalues become: (value + ridge)^(-1/p), or max(value, 0).
void scale_vectors(const RootBatch& batch, const double* vectors, const double* values, bool raised, double* to,
                   const CudaQueue& queue);
/// The upper half becomes that of the lower.
void mirror_lower(const RootBatch& batch, double* matrices, const CudaQueue& queue);
/// Statistics whose eigenvalues were raised.
void take_raised(const RootBatch& batch, const double* raised, double* statistics, const CudaQueue& queue);

// Residuals of roots H of D = S + ridge I.
void write_probes(const RootBatch& batch, double* probes, const CudaQueue& queue);
/// products = S x becomes D x.
void add_ridge_to_products(const RootBatch& batch, double* products, const CudaQueue& queue);
/// The error = max |product - probe|.
void measure_probes(const RootBatch& batch, const double* products, const CudaQueue& queue);
void damp(const RootBatch& batch, const double* statistics, double* to, const CudaQueue& queue);
/// The error = max |product - I|, where it was doubtful.
void measure_doubtful(const RootBatch& batch, const double* products, const CudaQueue& queue);

// Coupled Newton.
struct NewtonMatrices {
  double* m = nullptr;
  double* h = nullptr;
  double* t = nullptr;
  double* spare = nullptr;
  double* previous = nullptr;
  double* root = nullptr;
};
void begin_newton(const RootBatch& batch, const double* statistics, const NewtonMatrices& to, const CudaQueue& queue);
void write_newton_factors(const RootBatch& batch, const NewtonMatrices& matrices, const CudaQueue& queue);
/// The new errors, and the roots of those that have come to their end.
void check_newton(const RootBatch& batch, const NewtonMatrices& matrices, const CudaQueue& queue);

/// A root that was accepted, and where it goes.
struct RootOutcome {
  const double* root;
  float* to;
};
void narrow_roots(const RootOutcome* outcomes, std::int64_t count, std::int64_t n, const CudaQueue& queue);
/// Those of a batch that are settled.
void narrow_settled(const RootBatch& batch, const RootOutcome* outcomes, double threshold, double doubtful,
                    const CudaQueue& queue);

}  // namespace gradstep::cuda
