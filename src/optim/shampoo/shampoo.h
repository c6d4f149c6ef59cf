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
#include "optim/shampoo/factor_move.h"
#include "optim/shampoo/root_schedule.h"
#include "optim/shampoo/shampoo_options.h"
#include "optim/shampoo/shampoo_state.h"
#include "optim/shampoo/step_staging.h"

namespace gradstep {

class Shampoo final : public Optimizer {
 public:
  Shampoo(std::shared_ptr<Context> context, const gradstep_shampoo_options& options, Schema schema);

  /// Bytes of state that such an optimizer would hold.
  static std::int64_t state_bytes(const gradstep_shampoo_options& options, const Schema& schema);

  const char* kind() const override { return "shampoo"; }
  std::span<const char* const> state_names() const override;
  Array state(std::size_t index, const char* name) override;
  std::span<const std::int64_t> state_shape(std::size_t index, const char* name) const override;
  void get_state(std::size_t index, const char* name, const Array& host) override;
  void set_state(std::size_t index, const char* name, const Array& host) override;
  std::vector<StoredState> stored_states() override;
  std::vector<std::uint8_t> state_flags() const override;
  void set_state_flags(std::span<const std::uint8_t> flags) override;
  std::int64_t other_bytes() const override;
  void append_metrics(std::vector<gradstep_metric>& metrics) override;

 private:
  void apply(double clip_value) override;
  void check_schedules(std::span<const Schedule> /*schedules*/) const override {}
  void prepare(const Schema& schema, const HyperParameters& hyper_parameters) override;
  void prepare_slices(const Sharding* next, bool keep, const Deadline& deadline) override;
  void commit_slices() noexcept override;
  void discard_slices() noexcept override { move_.discard(); }
  void check_gives_updates() const override;
  Dealing dealing() const override { return Dealing::whole; }
  std::string sharding_key() const override;
  void state_replaced() override { roots_.state_replaced(step_count()); }
  void finish_pending() override { roots_.finish(); }

  bool wants_preconditioner(const Parameter& parameter, const HyperParameters& hyper_parameters) const;
  ShampooState::Named find_state(std::size_t index, const char* name) const;
  ShampooRanks ranks() const;
  void plan();
  PreconditioningStep begin_step(double clip_value);
  void apply_roots(const PreconditioningStep& step);
  void apply_in_eigenbases(const PreconditioningStep& step);

  ShampooOptions options_;
  std::unique_ptr<Preconditioning> preconditioning_;
  std::vector<ShampooState> parameters_;
  bool planned_ = false;  // for the present parameters, preconditioning and ranks
  StepStaging staging_;
  BlockDealing blocks_;
  FactorMove move_;
  RootSchedule roots_;
  // The numbers of a step, by group.
  std::vector<kernels::ShampooValues> values_;
  std::vector<kernels::ShampooConstants> constants_;
};

}  // namespace gradstep
