// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Distributed Shampoo. A step works on the whole model phase by phase: statistics, roots, preconditioned gradients
// (each one task for a block or a matrix), then grafting and momenta in chunks.
//
// Over several ranks every one has the whole gradient, grafting state and momenta, and steps the whole model. Dealt out
// are the roots, which are then gathered on all ranks (REPLICATED); or the blocks with their statistics and
// preconditioners, and what is gathered are the preconditioned gradients (OWNED).
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"
#include "optim/shampoo/arithmetic.h"
#include "optim/shampoo/root_round.h"
#include "optim/shampoo/shampoo_options.h"
#include "optim/shampoo/shampoo_state.h"
#include "optim/shampoo/workspaces.h"

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
  struct BlockTask {
    std::size_t parameter;
    std::size_t block;
    double cost;
    std::int32_t owner = 0;   // the rank that has its factors
    std::int64_t offset = 0;  // in what the ranks exchange
  };
  /// Of the tasks or numbers that are sorted by rank.
  struct Share {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  /// Where a step finds and leaves a parameter's numbers, in f32: in the host's memory where that can be.
  struct Places {
    const float* gradient = nullptr;
    const float* direction = nullptr;  // the grafting direction
    const float* value = nullptr;
    float* outcome = nullptr;  // the new value, or the delta
  };
  /// What a step computes once for a parameter.
  struct Scales {
    float gradient = 1;        // normalized forms: 1 / (|g| + e)
    float graft_divisor = 1;   // of u
    float preconditioned = 1;  // of P(g)
  };

  void apply(double grad_multiplier, double clip_value) override;
  void check_schedules(std::span<const Schedule> /*schedules*/) const override {}
  void prepare(const Schema& schema, const HyperParameters& hyper_parameters) override;
  void prepare_slices(const Sharding* next, bool keep) override;
  void commit_slices() noexcept override;
  void discard_slices() noexcept override;
  void check_gives_updates() const override;
  Dealing dealing() const override { return Dealing::whole; }
  std::string sharding_key() const override;
  void state_replaced() override;
  void finish_pending() override;

  bool wants_preconditioner(const Parameter& parameter, const HyperParameters& hyper_parameters) const;
  ShampooState::Named find_state(std::size_t index, const char* name) const;
  std::span<const double> values_of(std::size_t parameter) const {
    return hyper_parameters().values(schema()[parameter].group);
  }
  bool takes_part(std::size_t parameter) const { return grads()[parameter].data != nullptr; }
  std::int32_t rank() const { return is_sharded() ? sharding()->comm().rank() : 0; }
  std::int32_t ranks() const { return is_sharded() ? sharding()->comm().world_size() : 1; }
  bool owns_blocks() const;
  void make_missing_factors();
  void assign_blocks(std::int32_t ranks);
  void gather_factors(float* whole);
  bool is_mine(const BlockTask& task) const { return !owns_blocks() || task.owner == rank(); }

  void for_each_own_block(FunctionRef<void(const BlockTask&, Workspace&)> body);
  void plan();
  void plan_matrices();
  void plan_blocks();
  void plan_rounds();
  void load_gradients(double grad_multiplier, double clip_value);
  void load_parameters();
  void follow_parameters();
  void place_outcomes();
  void update_statistics();
  void update_statistics(const BlockTask& task, const float* g, Workspace& workspace);

  // Roots.
  RootRecipe recipe_of(const RootTask& task) const;
  void refresh_preconditioners();
  void refresh_here();
  void begin_round();
  void run_task(RootRound& round, RootTask& task);
  void refine_basis(const RootRound& round, RootTask& task, Workspace& workspace);
  void complete(RootRound& round);
  void gather_round(RootRound& round);
  void install(RootRound& round);
  void install_bases(const RootRound& round);
  void settle();
  void complete_all();
  void clear_missing(RootRound& round);
  std::vector<RootRound*> rounds_in_order();
  Factor& factor_of(const RootTask& task) { return parameters_[task.parameter].factors[task.factor]; }

  float* load_block(const BlockTask& task, Workspace& workspace) const;
  void precondition_block(const BlockTask& task, float* from, Workspace& workspace);
  void gather_preconditioned();
  void graft();
  void graft_chunk(const Chunk& chunk, std::span<const double> values, float scale, double* squares) const;
  void fold(std::span<const double> partials, std::vector<double>& norms) const;
  void finish();
  void finish_range(std::size_t parameter, std::int64_t begin, std::int64_t count, float* momentum,
                    float* diagonal_momentum) const;
  void finish_coded(std::size_t parameter);

  // The eigenvalue-corrected mode.
  void apply_in_eigenbases();
  void step_block(const BlockTask& task, Workspace& workspace);
  void rotate(const ShampooState& state, std::size_t block, bool back, float*& x, float*& other) const;
  void finish_corrected();

  void publish();

  float* scratch(std::size_t i) const { return gradients_.as<float>() + offsets_[i]; }
  float* preconditioned(std::size_t i) const { return preconditioned_.as<float>() + offsets_[i]; }

  ShampooOptions options_;
  const Dense& dense_;
  const GraftingLoops& grafting_;
  std::vector<ShampooState> parameters_;
  // Made by plan() when parameters or their preconditioning have changed.
  bool planned_ = false;
  std::vector<BlockTask> blocks_;   // by owner, longest first
  std::vector<RootTask> matrices_;  // by owner, longest first
  Share own_blocks_;
  Share own_matrices_;
  std::vector<std::int64_t> matrix_counts_;    // numbers by rank
  std::vector<std::int64_t> matrix_tasks_;     // tasks by rank
  std::vector<std::int64_t> exchange_counts_;  // numbers by rank
  std::int64_t round_size_ = 0;                // numbers
  std::vector<std::int64_t> offsets_;
  std::vector<std::size_t> first_chunk_;
  std::int64_t largest_extent_ = 0;
  // f32 scratch: a gradient that cannot be read in place, then its grafting direction, then an outcome that cannot be
  // written in place.
  Buffer gradients_;
  Buffer preconditioned_;       // P(g)
  Buffer copies_;               // f32 copies of parameters that cannot be read in place; made when needed
  std::vector<Places> places_;  // by parameter
  std::vector<Scales> scales_;
  std::vector<double> squares_;  // by chunk: |g|^2 or |u|^2, then |P(g)|^2
  std::vector<double> norms_;
  std::vector<double> preconditioned_norms_;
  Buffer exchange_;                    // preconditioned blocks on their way between ranks
  std::vector<RootOutcome> outcomes_;  // of all ranks
  Workspaces workspaces_;
  std::vector<std::unique_ptr<RootRound>> rounds_;  // last: their jobs use the rest

  // Between prepare_slices and commit_slices.
  std::vector<std::vector<Factor>> prepared_factors_;  // by parameter; empty = as they are
  std::vector<std::vector<std::int32_t>> prepared_owners_;
};

}  // namespace gradstep
