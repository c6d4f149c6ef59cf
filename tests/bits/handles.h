// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The library's objects as a case describes them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/handles.h"

namespace gradstep_bits {

using namespace gradstep_handles;

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
