// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The library's objects as a case describes them.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "gradstep/gradstep.h"

namespace gradstep_bits {

template <auto Destroy>
struct Destroyer {
  template <class Handle>
  void operator()(Handle* handle) const {
    Destroy(handle);
  }
};
using ContextHandle = std::unique_ptr<gradstep_context, Destroyer<gradstep_context_destroy>>;
using CommHandle = std::unique_ptr<gradstep_comm, Destroyer<gradstep_comm_destroy>>;
using OptimizerHandle = std::unique_ptr<gradstep_optimizer, Destroyer<gradstep_optimizer_destroy>>;
using AccumulatorHandle = std::unique_ptr<gradstep_accumulator, Destroyer<gradstep_accumulator_destroy>>;
using ReducerHandle = std::unique_ptr<gradstep_reducer, Destroyer<gradstep_reducer_destroy>>;
using UpdaterHandle = std::unique_ptr<gradstep_updater, Destroyer<gradstep_updater_destroy>>;

ContextHandle make_context(int num_threads);
std::vector<CommHandle> make_comms(gradstep_context* context, int ranks);
/// With the hyper-parameters of its groups and its schedules.
OptimizerHandle make_optimizer(gradstep_context* context, const nlohmann::json& spec,
                               const std::vector<gradstep_parameter>& parameters);
AccumulatorHandle make_accumulator(gradstep_context* context, const nlohmann::json& spec,
                                   const std::vector<gradstep_parameter>& parameters);
ReducerHandle make_reducer(gradstep_context* context, gradstep_comm* comm, const nlohmann::json& spec,
                           const std::vector<gradstep_parameter>& parameters);
/// Each of the three may be NULL but the optimizer.
UpdaterHandle make_updater(gradstep_context* context, gradstep_optimizer* optimizer, gradstep_accumulator* accumulator,
                           gradstep_reducer* reducer, const nlohmann::json& spec);
void attach(gradstep_optimizer* optimizer, gradstep_comm* comm, const nlohmann::json& spec);
/// Sets hyper-parameters, given by name as numbers or schedules.
void set_hyper_parameters(gradstep_optimizer* optimizer, std::int32_t group, const nlohmann::json& values);

}  // namespace gradstep_bits
