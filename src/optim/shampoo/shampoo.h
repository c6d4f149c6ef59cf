// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Distributed Shampoo on one process. A step works on the whole model phase by phase: statistics, roots, preconditioned
// gradients (each one task for a block or a matrix), then grafting and momenta in chunks.
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"
#include "optim/shampoo/dense.h"
#include "optim/shampoo/roots.h"
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
  void append_metrics(std::vector<gradstep_metric>& metrics) const override;

 private:
  struct Task {
    std::size_t parameter;
    std::size_t block;
    std::size_t axis;  // of matrices
    double cost;
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
  void commit_slices() noexcept override {}

  bool wants_preconditioner(const Parameter& parameter, const HyperParameters& hyper_parameters) const;
  ShampooState::Named find_state(std::size_t index, const char* name) const;
  std::span<const double> values_of(std::size_t parameter) const {
    return hyper_parameters().values(schema()[parameter].group);
  }
  bool takes_part(std::size_t parameter) const { return grads()[parameter].data != nullptr; }
  void plan();
  void load_gradients(double grad_multiplier, double clip_value);
  void load_parameters();
  void update_statistics();
  void refresh_preconditioners();
  void refresh(Factor& factor, const RootOptions& options, double threshold, Workspace& workspace) const;
  void precondition();
  void graft();
  void graft_chunk(const Chunk& chunk, std::span<const double> values, float scale, double* squares) const;
  void fold(std::span<const double> partials, std::vector<double>& norms) const;
  void finish();
  void finish_range(std::size_t parameter, std::int64_t begin, std::int64_t count, float* momentum,
                    float* diagonal_momentum) const;
  void finish_coded(std::size_t parameter);
  void publish();

  float* gradient(std::size_t i) const { return gradients_.as<float>() + offsets_[i]; }
  float* preconditioned(std::size_t i) const { return preconditioned_.as<float>() + offsets_[i]; }

  ShampooOptions options_;
  const Dense& dense_;
  std::vector<ShampooState> parameters_;
  // Made by plan() when parameters or their preconditioning have changed.
  bool planned_ = false;
  std::vector<Task> blocks_;    // longest first
  std::vector<Task> matrices_;  // longest first
  std::vector<std::int64_t> offsets_;
  std::vector<std::size_t> first_chunk_;
  std::int64_t largest_extent_ = 0;
  Buffer gradients_;                  // f32; the grafting direction and then the delta take its place
  Buffer preconditioned_;             // P(g)
  Buffer copies_;                     // f32 copies of parameters that cannot be read in place; made when needed
  std::vector<const float*> values_;  // by parameter: where its present values can be read
  std::vector<Scales> scales_;
  std::vector<double> squares_;  // by chunk: |g|^2 or |u|^2, then |P(g)|^2
  std::vector<double> norms_;
  std::vector<double> preconditioned_norms_;
  Workspaces workspaces_;
};

}  // namespace gradstep
