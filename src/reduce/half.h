// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients travel in 16 bits.
#pragma once

#include <vector>

#include "reduce/bucket_exchange.h"

namespace gradstep {

class HalfExchange final : public BucketExchange {
 public:
  HalfExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& options);

  Array packed() const override;
  bool is_divided_by_weight() const override { return true; }
  void complete(gradstep_bucket_statistics& stats) const override;
  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) override;

 private:
  bool narrows_while_packing() const;
  bool is_weighted() const { return options().average == GRADSTEP_AVERAGE_WEIGHTED; }
  void sum_in_half(const Deadline& deadline);

  WorkList work_;
  Buffer wire_memory_;
  Buffer nonfinite_;  // how many have been seen
  Array wire_;
  std::vector<std::int64_t> piece_bytes_;  // of each rank, where sums are made in half precision
};

}  // namespace gradstep
