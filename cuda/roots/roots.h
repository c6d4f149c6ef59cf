// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Inverse p-th roots in f64, by batches of one extent and recipe.
#pragma once

#include <span>
#include <vector>

#include "backend/preconditioning.h"
#include "kernels/roots.h"
#include "kernels/stored_matrix.h"
#include "roots/root_libraries.h"

namespace gradstep::cuda {

class Roots {
 public:
  explicit Roots(RootLibraries& libraries) : libraries_(libraries) {}

  /// Waits for the device, and returns when the records are written. Roots that are accepted go to the jobs' results,
  /// or, if not `into_results`, into their preconditioners. A root that is asked for in f32 is computed in f64.
  void compute(std::span<const RootJob> jobs, std::span<RootRecord> records, bool into_results, CudaQueue& queue);

 private:
  /// Jobs of one extent and recipe, as many as fit into the scratch.
  struct Batch {
    std::span<const RootJob> jobs;
    std::span<RootRecord> records;
    std::vector<std::size_t> own;
    double ridge_factor = 1;
    bool into_results = false;

    const RootJob& front() const { return jobs[own.front()]; }
    std::int64_t n() const { return front().n; }
  };

  void try_batch(Batch& batch, CudaQueue& queue);
  const double* eigh(const RootBatch& batch, double* statistics, double* scratch, CudaQueue& queue);
  void measure_residuals(const RootBatch& batch, const double* statistics, const double* roots, double* scratch,
                         CudaQueue& queue);
  const double* newton(const RootBatch& batch, const double* statistics, double* scratch, CudaQueue& queue);
  void find_largest(const RootBatch& batch, const double* statistics, CudaQueue& queue);
  void keep(const Batch& batch, std::span<const RootState> states, const double* roots, CudaQueue& queue);
  std::vector<RootState> download(const RootBatch& batch, CudaQueue& queue);
  void multiply(const RootBatch& batch, const double* a, const double* b, double* c, CudaQueue& queue);

  RootLibraries& libraries_;
  MatrixCopies statistics_;
  MatrixCopies outcomes_;
  Table outcome_table_;
};

}  // namespace gradstep::cuda
