// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of selections, where nearly everything is zero: only what the last one has touched is cleared for the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/exchange.h"
#include "reduce/exchange_resources.h"

namespace gradstep {

class SparseSums {
 public:
  /// `sum`, at the site, is zero. `resources` outlive it.
  SparseSums(const ExchangeResources& resources, const Array& sum);

  // Work is queued in the lane.

  /// sum() = that of `lists` / divisor, and zero elsewhere. Their indices are in [begin, end).
  void add_up(std::span<const SparseList> lists, std::int64_t begin, std::int64_t end, double divisor);
  /// Puts what add_up() has left in every piece of the bucket, `lists` of different indices, into sum().
  void put(std::span<const SparseList> lists);
  Array sum() const { return sum_; }
  /// Where sum() may differ from zero.
  const SparseList& touched() const { return touched_; }
  /// How many elements these are. Waits.
  std::int64_t touched_count() const;
  /// Measures the values of `lists`, for norm().
  void measure(std::span<const SparseList> lists);
  /// Waits.
  double norm() const { return read(queue(), norm_.as<double>()); }

 private:
  void clear();
  std::int32_t* reserve_touched(std::int64_t count);
  Backend& backend() const { return resources_.backend(); }
  Queue& queue() const { return resources_.lane().queue(); }

  const ExchangeResources& resources_;
  Array sum_;
  SparseSum plan_;
  Staging touched_memory_;  // a count, indices
  SparseList touched_;
  bool all_touched_ = false;  // anywhere
  WorkList values_work_;
  std::vector<Array> values_;
  NormPlan values_norm_;
  Buffer norm_;
};

}  // namespace gradstep
