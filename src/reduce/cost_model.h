// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a window of a bucket costs in each mode, from a few measurements at the start.
#pragma once

#include <span>
#include <vector>

#include "reduce/bucket_exchange.h"
#include "reduce/exchange_cost.h"

namespace gradstep {

/// Prices of what a rank does by itself, measured here on arrays of `elements` numbers, 2^18 at least and 2^22 at most:
/// they lie in caches or in memory as those of such a window do. Prices of rounds and bytes are 0.
ExchangeCost measure_processor(Context& context, std::int64_t elements);

/// How one bucket is exchanged.
struct BucketChoice {
  std::int32_t mode = GRADSTEP_REDUCER_DENSE;
  std::int32_t sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_AUTO;
  std::int32_t by_hosts = 0;  ///< bool: its all-reduces, where the communicator has a choice
  std::int32_t reserved = 0;

  friend bool operator==(const BucketChoice&, const BucketChoice&) = default;
};

/// Whether options.candidates, which may be 0, allow a mode to mode AUTO.
bool is_candidate(const gradstep_reducer_options& options, std::int32_t mode);

/// What may leave together with a bucket, the bucket included.
struct Together {
  std::size_t buckets = 1;
  std::size_t channels = 1;
  bool share_sums = true;  ///< false: only gathers have common rounds
};

class CostModel {
 public:
  /// Collective: measures for windows of so many elements, and agrees with the other ranks on the largest of each
  /// number.
  CostModel(ExchangeResources& resources, std::int64_t elements, const Deadline& deadline);
  /// `world` is one without elements.
  CostModel(const ExchangeCost& prices, const ExchangeSize& world) : prices_(prices), world_(world) {}

  /// The candidate with the smallest prediction, for a bucket with parameters of these shapes; and the predictions.
  BucketChoice choose(const BucketPlan& plan, std::span<const std::vector<std::int64_t>> shapes,
                      const gradstep_reducer_options& options, gradstep_bucket_statistics& stats,
                      const Together& together = {}) const;

 private:
  void measure_network(const ExchangeResources& resources, const Deadline& deadline);
  void agree(Communicator& comm, const Deadline& deadline);

  ExchangeCost prices_;
  ExchangeSize world_;
};

}  // namespace gradstep
