// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The step of element-wise rules (backend/step.h) on the host.
#pragma once

#include "cpu/chunk_runner.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

class RuleStep : private ChunkRunner {
 public:
  /// All outlive it. `backend` measures gradients.
  RuleStep(Backend& backend, Context& context, const Loops& loops)
      : ChunkRunner(context), backend_(backend), loops_(loops) {}

  void begin(const StepPlan& plan, const kernels::StepRequest& request, const double* values,
             kernels::StepScalars* scalars, Queue& queue);
  void shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars);
  void measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials);
  void settle(const SumsPlan& plan, const kernels::StepScalars* scalars);
  void update(const UpdatePlan& plan, kernels::StepScalars* scalars);
  void count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials);
  void finish(const FinishPlan& plan, const kernels::StepScalars* scalars);
  void average(const AveragePlan& plan, const kernels::StepScalars* scalars);

 private:
  template <class Run>
  void read_chunk(const UpdateItem& item, const Chunk& chunk, Run run);
  template <class Run>
  void update_chunk(const UpdateItem& item, const Chunk& chunk, Run run);

  Backend& backend_;
  const Loops& loops_;
};

}  // namespace gradstep::cpu
