// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gradstep {

/// Deals tasks out to ranks, the longest first, each to the rank with the least to do (the lowest one of several); at
/// most 4/3 of the best possible longest rank (Graham 1969), where all begin with nothing. owners[i] of task i depends
/// on the costs, and on `loads`, what each rank has to do already; empty = nothing.
std::vector<std::int32_t> assign_longest_first(std::span<const double> costs, std::int32_t ranks,
                                               std::vector<double> loads = {});

}  // namespace gradstep
