// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/bucket_layout.h"

#include <optional>

#include "core/absence.h"
#include "reduce/cost_model.h"
#include "reduce/reducer_options.h"

namespace gradstep {

BucketLayout::BucketLayout(ExchangeResources& resources, const Schema& schema, const Deadline& deadline)
    : places_(schema.size()) {
  const std::vector<BucketPlan> plans = plan_buckets(schema, resources.options.fuse_threshold);
  std::optional<CostModel> costs;
  if (resources.options.mode == GRADSTEP_REDUCER_AUTO) costs.emplace(resources, deadline);
  resources.open_channels(plans.size(), deadline);
  for (const BucketPlan& plan : plans) {
    for (std::size_t k = 0; k < plan.parameters.size(); ++k) places_[plan.parameters[k]] = {buckets_.size(), k};
    gradstep_reducer_options chosen = resources.options;
    gradstep_bucket_statistics stats{};
    if (costs) {
      costs->choose(plan, chosen, stats);
      resources.context->log().write(
          GRADSTEP_LOG_INFO,
          "reducer: bucket {} of {} elements: mode auto is {}; predicted nanoseconds: dense {}, "
          "half {}, sparse_topk gathered {}, split {} (0: no candidate)",
          buckets_.size(), plan.elements, mode_name(chosen.mode), stats.predicted_dense_nanoseconds,
          stats.predicted_half_nanoseconds, stats.predicted_sparse_gather_nanoseconds,
          stats.predicted_sparse_split_nanoseconds);
    }
    buckets_.push_back(std::make_unique<Bucket>(resources.of_bucket(buckets_.size()), schema, plan, chosen, stats));
  }
}

Array BucketLayout::result_of(std::size_t parameter) const {
  Array result = bucket_of(parameter).result_of(places_[parameter].position);
  place_if_empty(result);
  return result;
}

}  // namespace gradstep
