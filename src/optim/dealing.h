// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which rank has which part of every parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/schema.h"
#include "core/slice.h"

namespace gradstep {

struct Dealing {
  /// By parameter: the cost of its step, where one rank has all of it; 0 = ranks have slices of it. Empty = ranks have
  /// slices of every parameter.
  std::vector<double> costs;
  /// Indices of the schema. Each rank gets its share of every group, in this order; a reducer's buckets are groups.
  /// Empty = all parameters are one group.
  std::vector<std::vector<std::size_t>> groups;
  /// Every rank has everything.
  bool is_whole = false;
  /// The host has spread the parameters, and every rank has its own parts and their state (parts.h).
  bool in_parts = false;

  bool is_undivided(std::size_t parameter) const { return !costs.empty() && costs[parameter] > 0; }
  std::vector<std::vector<std::size_t>> groups_of(const Schema& schema) const;
};

/// The chunks of a group's parameters go to the ranks in contiguous runs, by elements. A parameter that is undivided
/// goes to one rank, the costliest first (assignment.h).
RankSlices deal_out(const Schema& schema, const Dealing& dealing, std::int32_t ranks);

}  // namespace gradstep
