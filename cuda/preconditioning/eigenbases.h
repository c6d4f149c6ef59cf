// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adam in the eigenbasis of the statistics (SOAP; Vyas et al. 2024, algorithm 3). diagonal_exp_avg and
// diagonal_statistics are Adam's two moments in the basis of the step to come.
#pragma once

#include <span>

#include "preconditioning/phases.h"

namespace gradstep::cuda {

class Eigenbases {
 public:
  explicit Eigenbases(Phases& phases) : phases_(phases) {}

  void step(const PreconditioningStep& step, CudaQueue& queue);
  void install(const PreconditioningStep& step, std::span<const RootJob> jobs, std::span<const RootRecord> records,
               CudaQueue& queue);
  void finish(const PreconditioningStep& step, CudaQueue& queue);

 private:
  struct Installation;

  template <class T>
  void step_batch(Batch& batch, const TensorBatch& tensors, CudaQueue& queue);
  template <class T>
  void install_batch(Batch& batch, const Installation& of, CudaQueue& queue);

  Phases& phases_;
};

}  // namespace gradstep::cuda
