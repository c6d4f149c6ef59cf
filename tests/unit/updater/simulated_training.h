// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host that trains on a simulated world and does after a failure what docs/failure.md says; and the run without
// failures that it must end like, bit for bit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "optim/first_order/first_order_optimizer.h"
#include "unit/host_calls.h"
#include "unit/support.h"
#include "unit/updater/simulated_world.h"
#include "updater/updater.h"

namespace gradstep::test {

inline constexpr std::int64_t kSimulatedMicroBatches = 2;  // of a window, with an accumulator

struct SimulatedSetup {
  std::string name;
  gradstep_updater_options chain = default_updater_options();
  gradstep_reducer_options reduction = default_reducer_options();
  std::int64_t windows = 3;
  bool accumulates = true;
  bool has_outer = false;     ///< an outer optimizer steps by the deltas
  bool has_infinity = false;  ///< rank 0's gradient of the second window
  bool by_hosts = false;      ///< two ranks of the world share a host each; needs channels that are pairs
};

/// What a recovery has done that no run without failures does.
struct Intervention {
  std::int64_t window = 0;            ///< the windows before it were finished
  std::vector<std::int32_t> members;  ///< who went on
  /// >= 0: all took over parameters and state of this rank. -1: a rank is gone, or EF21's sums were made anew.
  std::int32_t root = -1;
  /// Which had made its local step of `window`. It counts as made by all.
  bool root_is_stepped = false;
};

/// Parameters, state and counters at the end, by rank.
using SimulatedEnds = std::map<std::int32_t, std::string>;

struct SimulatedRun {
  SimulatedEnds ends;
  std::vector<Intervention> interventions;
  std::size_t struck = 0;
  /// Empty, or what broke the promise on the way.
  std::string complaint;
};

SimulatedRun train_with_faults(const SimulatedSetup& setup, std::int32_t ranks, bool pairs,
                               const std::vector<Fault>& faults, std::uint32_t seed);

/// Runs once for each setup, number of ranks and list of interventions.
const SimulatedEnds& train_without_faults(const SimulatedSetup& setup, std::int32_t ranks,
                                          const std::vector<Intervention>& interventions);

}  // namespace gradstep::test
