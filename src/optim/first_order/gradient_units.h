// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What happens to gradients before a rule sees them: units of a tensor, such as its rows, are clipped by the length of
// the parameter's (Brock et al. 2021), and rows are centered (Yong et al. 2020). The shaped gradients lie in scratch.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "backend/site.h"
#include "backend/step.h"
#include "core/held_bytes.h"
#include "core/memory.h"
#include "core/schema.h"
#include "optim/first_order/rule.h"

namespace gradstep {

class GradientUnits {
 public:
  /// `site` outlives it.
  explicit GradientUnits(const Site& site) : site_(site) {}

  /// Rules see the shaped gradients of these items, which have whole tensors or none of their elements.
  void fill(std::span<UpdateItem> items, const RulesByGroup& rules, const Schema& schema);
  bool has_work() const { return !clipped_.items.empty() || !centered_.items.empty(); }
  /// Before the update of those items.
  void run(const kernels::StepScalars* scalars);

  std::size_t bytes() const {
    std::size_t bytes = held_bytes(shaped_, gradients_, clipped_, centered_);
    bytes += layouts_.size() * sizeof(std::vector<std::int64_t>);
    for (const std::vector<std::int64_t>& numbers : layouts_) bytes += allocated_bytes(held_bytes(numbers));
    return bytes;
  }

 private:
  /// Units of one kind, of all parameters.
  struct Pass {
    WorkList work;
    std::vector<UnitItem> items;
    UnitPlan plan;

    std::size_t bytes() const { return held_bytes(work, items, plan.prepared); }
  };

  void add(Pass& pass, UnitItem item, const Parameter& parameter, ClipUnits units);
  /// The array with its axes in another order.
  Array turned(const Array& array, const Parameter& parameter, std::span<const std::size_t> axes);

  const Site& site_;
  Buffer shaped_;
  std::vector<Array> gradients_;  // by parameter, in shaped_; no elements = the host's are left as they are
  Pass clipped_;
  Pass centered_;
  std::deque<std::vector<std::int64_t>> layouts_;  // shapes and strides of views
};

}  // namespace gradstep
