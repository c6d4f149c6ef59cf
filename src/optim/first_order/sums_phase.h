// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The phase of a step before the element-wise one, for rules whose constants follow from sums over tensors, or from
// numbers that they keep: sums are measured, and each parameter's constants and numbers settled by them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/site.h"
#include "backend/step.h"
#include "core/held_bytes.h"
#include "core/schema.h"
#include "optim/first_order/rule.h"
#include "optim/sharding.h"

namespace gradstep {

class SumsPhase {
 public:
  /// `site` outlives it.
  explicit SumsPhase(const Site& site) : site_(site) {}

  /// Items have constants of their own where their rule settles them. `numbers` are by parameter. `sharding` may be
  /// NULL; `work` and `items` stay where they are.
  void fill(std::span<const UpdateItem> items, std::span<const rules::NumberPlaces> numbers, const RulesByGroup& rules,
            const Schema& schema, const WorkList& work, const Sharding* sharding);
  /// Whether some rule settles its constants.
  bool has_work() const { return !settled_.empty(); }
  /// Before the update of those items.
  void run(const UpdatePlan& update, const kernels::StepScalars* scalars, const Sharding* sharding);

  std::size_t bytes() const { return held_bytes(partials_, settled_, plan_.prepared); }

 private:
  const Site& site_;
  Buffer partials_;  // rules::Sums by chunk, of all ranks
  std::vector<SettledItem> settled_;
  SumsPlan plan_;
  bool measures_ = false;
};

}  // namespace gradstep
