// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The amounts of exchange_cost.h on a network in numbers, and all-reduces that engines may have; see gradstep/cost.h.
#pragma once

#include <vector>

#include "gradstep/cost.h"
#include "reduce/exchange_cost.h"

namespace gradstep {

gradstep_cost_options default_cost_options();

/// Throws INVALID_ARGUMENT on a field that breaks its rule.
void check_cost_options(const gradstep_cost_options& options);

/// Takes options that were checked.
std::vector<gradstep_cost> predict_costs(const gradstep_cost_options& options);

}  // namespace gradstep
