// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/assignment.h"

#include <algorithm>
#include <numeric>

namespace gradstep {

std::vector<std::int32_t> assign_longest_first(std::span<const double> costs, std::int32_t ranks,
                                               std::vector<double> loads) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  loads.resize(static_cast<std::size_t>(ranks), 0);
  std::vector<std::int32_t> owners(costs.size());
  for (const std::size_t task : order) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += costs[task];
    owners[task] = static_cast<std::int32_t>(least - loads.begin());
  }
  return owners;
}

}  // namespace gradstep
