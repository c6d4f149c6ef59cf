// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a window of a bucket costs in each mode, from a few measurements at the start.
#pragma once

#include "reduce/bucket_exchange.h"
#include "reduce/exchange_cost.h"

namespace gradstep {

/// Prices of what a rank does by itself, measured here; those of rounds and bytes are 0.
ExchangeCost measure_processor(Context& context);

class CostModel {
 public:
  /// Collective: measures, and agrees with the other ranks on the largest of each number.
  CostModel(ExchangeResources& resources, const Deadline& deadline);
  explicit CostModel(const ExchangeCost& prices, std::int64_t ranks, bool can_exchange)
      : prices_(prices), ranks_(ranks), can_exchange_(can_exchange), piece_bytes_(static_cast<double>(kPieceBytes)) {}

  /// Sets options.mode and options.sparse_exchange to the candidate with the smallest prediction, and the predictions.
  void choose(const BucketPlan& plan, gradstep_reducer_options& options, gradstep_bucket_statistics& stats) const;

 private:
  ExchangeCost prices_;
  std::int64_t ranks_;
  bool can_exchange_;
  double piece_bytes_;
};

}  // namespace gradstep
