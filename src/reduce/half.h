// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients travel in 16 bits.
#pragma once

#include <span>
#include <vector>

#include "reduce/bucket_exchange.h"

namespace gradstep {

class HalfExchange final : public BucketExchange {
 public:
  HalfExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& options);

  Array packed() const override;
  bool is_divided_by_weight() const override { return true; }
  void take_memory() override;
  void give_memory(const Event& last_use) noexcept override;
  void complete(gradstep_bucket_statistics& stats) const override;
  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) override;

 private:
  bool can_scatter() const override { return true; }
  void lend_from(MemoryPool* pool) override;
  bool narrows_while_packing() const;
  bool is_weighted() const { return options().average == GRADSTEP_AVERAGE_WEIGHTED; }
  Array wire() const;
  Array sum_in_half(const Array& packed, std::span<const std::int64_t> counts, const Deadline& deadline);

  WorkList work_;
  LentMemory wire_memory_;
  Buffer nonfinite_;                        // how many have been seen
  std::vector<std::int64_t> piece_counts_;  // of each rank, where sums are made in half precision
  std::vector<std::int64_t> byte_counts_;   // of the last of these
};

}  // namespace gradstep
