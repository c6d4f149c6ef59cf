// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Distributed Shampoo. A step works on the whole model phase by phase: statistics, roots, preconditioned gradients,
// then grafting and momenta. The backend does the phases (backend/preconditioning.h); here is which step computes what,
// on which rank, and what state there is.
//
// Over several ranks every one has the whole gradient, grafting state and momenta, and steps the whole model. Dealt out
// are the roots, which are then gathered on all ranks (REPLICATED); or the blocks with their statistics and
// preconditioners, and what is gathered are the preconditioned gradients (OWNED).
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"
#include "optim/shampoo/block_dealing.h"
#include "optim/shampoo/root_schedule.h"
#include "optim/shampoo/shampoo_options.h"
#include "optim/shampoo/shampoo_state.h"
#include "optim/shampoo/step_staging.h"
#include "optim/weight_averages.h"

namespace gradstep {

class Shampoo final : public Optimizer {
 public:
  Shampoo(std::shared_ptr<Context> context, const gradstep_shampoo_options& options, Schema schema);

  /// Bytes of state that such an optimizer would hold.
  static std::int64_t state_bytes(const gradstep_shampoo_options& options, const Schema& schema);

 private:
  void apply(double clip_value) override;
  void prepare(const Schema& schema, const HyperParameters& hyper_parameters, std::size_t first) override;
  void on(StateEvent event) override;
  OwnerOf owners(const Sharding* next) override;
  std::int64_t scratch_bytes() const override;

  bool wants_preconditioner(const Parameter& parameter, const HyperParameters& hyper_parameters) const;
  ShampooRanks ranks() const;
  void plan();
  void append_metrics();
  PreconditioningStep begin_step(double clip_value);
  void apply_roots(const PreconditioningStep& step);
  void apply_in_eigenbases(const PreconditioningStep& step);

  ShampooOptions options_;
  std::unique_ptr<Preconditioning> preconditioning_;
  std::vector<ShampooState> parameters_;
  bool planned_ = false;  // for the present parameters, preconditioning and ranks
  StepStaging staging_;
  BlockDealing blocks_;
  WeightAverages averages_;
  RootSchedule roots_;
  // The numbers of a step, by group.
  std::vector<rules::ShampooValues> values_;
  std::vector<rules::ShampooConstants> constants_;
};

}  // namespace gradstep
