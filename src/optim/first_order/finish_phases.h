// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The phases of a step that follow the element-wise one, for parameters whose change waits until the whole tensor is
// known: their changes go to scratch, are orthogonalized, projected or measured there, and then added.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/site.h"
#include "backend/step.h"
#include "core/held_bytes.h"
#include "core/schema.h"
#include "optim/first_order/projection_phase.h"
#include "optim/first_order/rule.h"
#include "optim/sharding.h"

namespace gradstep {

/// Where the states of a tensor as a whole lie; NULL = it has none of this place, or another rank has it.
struct WholeNumbers {
  void* of[WholeState::kMost] = {};
};

class FinishPhases {
 public:
  /// `site` outlives it.
  explicit FinishPhases(const Site& site) : site_(site), projection_(site) {}

  /// By parameter, before a list of items is filled.
  std::vector<FinishOptions>& options() { return options_; }
  /// Sends the changes of items that wait to scratch. `whole` states are by parameter.
  /// `sharding` may be NULL; `work` and `items` stay where they are.
  void fill(std::span<UpdateItem> items, std::span<const WholeNumbers> whole, const RulesByGroup& rules,
            const Schema& schema, const WorkList& work, const Sharding* sharding);
  /// Whether the change of some parameter waits.
  bool has_work() const { return waits_; }
  /// After the update of those items.
  void run(const kernels::StepScalars* scalars, const Sharding* sharding);

  std::size_t bytes() const {
    return held_bytes(changes_, partials_, projection_, options_, items_, matrices_, values_, scaled_changes_,
                      shown_changes_, factored_, value_norms_.prepared, change_norms_.prepared,
                      orthogonal_plan_.prepared, factored_plan_.prepared, plan_.prepared);
  }

 private:
  void make_room(std::span<const UpdateItem> items, std::int64_t chunks);
  void take(std::vector<OrthogonalItem> matrices);
  /// partials = what measure(partials) writes of this rank's chunks, of all ranks.
  void measure(const double* partials, FunctionRef<void(double*)> measure, const Sharding* sharding);

  const Site& site_;
  std::vector<FinishOptions> options_;  // by parameter
  Buffer changes_;
  // By chunk of all ranks: squares of values, squares of changes, elements that stay. Then the factors of those that
  // are factored.
  Buffer partials_;
  std::vector<FinishItem> items_;
  std::vector<OrthogonalItem> matrices_;
  std::vector<Array> values_;          // by parameter; no data = it is not scaled by a trust ratio
  std::vector<Array> scaled_changes_;  // likewise
  std::vector<Array> shown_changes_;   // by parameter, in changes_; no data = it does not wait
  NormPlan value_norms_;
  NormPlan change_norms_;
  std::vector<FactoredItem> factored_;
  ProjectionPhase projection_;
  OrthogonalPlan orthogonal_plan_;
  FactoredPlan factored_plan_;
  FinishPlan plan_;
  bool has_ratios_ = false;
  bool has_masks_ = false;
  bool waits_ = false;  // some parameter does
};

}  // namespace gradstep
