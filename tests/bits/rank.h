// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank of a case: its buffers and handles, and what each call of the case does with them. A call is described in
// README.md under its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case.h"
#include "data.h"
#include "digest.h"
#include "handles.h"

namespace gradstep_bits {

/// What the ranks of a case show each other.
struct Shared {
  std::vector<std::uint8_t> saved;
};

class Rank {
 public:
  Rank(const Case& described, gradstep_context* context, Device& device, gradstep_comm* comm, Shared& shared,
       bool trace);
  /// Makes all calls. Collective over the ranks of the case.
  Digest run();

 private:
  using Json = nlohmann::json;

  /// Gradients of one call, and the views on those that are not missing.
  struct Gradients {
    std::vector<HostTensor> tensors;
    std::vector<gradstep_tensor> views;
  };

  void make_call(const Json& call);
  void step(const Json& call);
  void add(const Json& call);
  void flush(const Json& call);
  void reset(const Json& call);
  void reduce(const Json& call);
  void exchange(const Json& call);
  void push(const Json& call);
  void updater_flush(const Json& call);
  void set(const Json& call);
  void set_step_count(const Json& call);
  void write(const Json& call);
  void attach_comm(const Json& call);
  void detach_comm(const Json& call);
  void add_parameters(const Json& call);
  void copy_state(const Json& call);
  void save_load(const Json& call);
  void collective(const Json& call);

  void make_handles();
  OptimizerHandle make_rank_optimizer() const;
  std::vector<gradstep_parameter> active_parameters() const {
    return {parameters_.begin(), parameters_.begin() + active_};
  }
  std::size_t count() const { return static_cast<std::size_t>(active_); }
  DataKey key(DataKind kind, std::size_t parameter) const;
  Gradients make_gradients(const Json& call) const;
  Gradients gradients_of(const Json& call);
  std::vector<gradstep_tensor> parameter_views();
  /// Feeds the status; throws unless it is the one that the call says.
  void feed_status(const Json& call, gradstep_status status);
  void feed(const std::string& label, const std::vector<HostTensor>& tensors);
  void feed(const std::string& label, const std::vector<gradstep_tensor>& views);
  void feed_accumulator(std::int32_t ready);
  void feed_reduced();
  std::int64_t step_count() const;
  void feed_applied(std::int32_t applied, std::int64_t steps_before);
  void feed_residuals();
  void feed_end();
  void feed_state();
  void feed_state_tensor(std::size_t index, const std::string& name, std::vector<std::int64_t> shape);
  void check_gaps() const;

  const Case& case_;
  gradstep_context* context_;
  Device& device_;
  gradstep_comm* comm_;
  Shared& shared_;
  Digest digest_;
  std::int32_t rank_ = 0;
  std::size_t call_ = 0;
  std::ptrdiff_t active_ = 0;  ///< parameters that the handles know
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<gradstep_parameter> parameters_;
  std::vector<HostTensor> values_;
  std::vector<Json> settings_;  ///< calls of set, which a handle that takes over has to follow
  Json sharding_;               ///< null where the optimizer is not sharded
  OptimizerHandle optimizer_;
  AccumulatorHandle accumulator_;
  ReducerHandle reducer_;
  UpdaterHandle updater_;
};

}  // namespace gradstep_bits
