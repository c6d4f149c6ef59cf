// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a window of a bucket costs in each mode, from a few measurements at the start.
#pragma once

#include "reduce/bucket_exchange.h"

namespace gradstep {

class CostModel {
 public:
  /// Collective: measures, and agrees with the other ranks on the largest of each number.
  CostModel(ExchangeResources& resources, const Deadline& deadline);

  struct Measured {
    double round = 0;    ///< nanoseconds of a collective call that carries nothing
    double byte = 0;     ///< and of each byte that a rank sends in one
    double convert = 0;  ///< of converting an element to f16 and back
    double select = 0;   ///< of looking at an element when the largest are selected
    double entry = 0;    ///< of taking and summing an entry of a sparse list
  };
  explicit CostModel(const Measured& measured, std::int64_t ranks, bool can_split)
      : measured_(measured), ranks_(ranks), can_split_(can_split) {}

  /// Sets options.mode and options.sparse_exchange to the candidate with the smallest prediction, and the predictions.
  void choose(const BucketPlan& plan, gradstep_reducer_options& options, gradstep_bucket_statistics& stats) const;

 private:
  Measured measured_;
  std::int64_t ranks_;
  bool can_split_;
};

}  // namespace gradstep
