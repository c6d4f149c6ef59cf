// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Bases of eigenvectors in f64, by batches of one extent and action.
#pragma once

#include <span>
#include <vector>

#include "backend/preconditioning.h"
#include "kernels/refinement.h"
#include "kernels/stored_matrix.h"
#include "roots/root_libraries.h"

namespace gradstep::cuda {

class Bases {
 public:
  explicit Bases(RootLibraries& libraries) : libraries_(libraries) {}

  /// Bases go into the jobs' results. Waits for the device if there are any, and returns when their records are
  /// written; those of other jobs stay as they are.
  void compute(std::span<const RootJob> jobs, std::span<RootRecord> records, CudaQueue& queue);

 private:
  /// Kept: the type of statistics and bases.
  template <class Kept>
  void run_batch(std::span<const RootJob> jobs, std::span<const std::size_t> own, RootState* states, CudaQueue& queue);

  RootLibraries& libraries_;
  MatrixCopies statistics_;
  Table items_;
};

}  // namespace gradstep::cuda
