// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The operations of a backend that only exchanges of gradients need.
#pragma once

#include <cstdint>

#include "backend/arrays.h"
#include "backend/exchange.h"
#include "backend/queue.h"
#include "backend/stored_numbers.h"

namespace gradstep {

class ExchangeOperations {
 public:
  virtual ~ExchangeOperations() = default;

  /// dots[c] = the dot products over chunk c of the plan's work, of items' a and b; factors are not looked at.
  virtual void dot_chunks(const CombinePlan& plan, Dots* dots, Queue& queue) = 0;
  /// Folds the merges' dots, and combines their vectors by the factors that follow.
  virtual void adasum(const AdasumPlan& plan, Queue& queue) = 0;
  /// data = data clamped to ±bound; NaN stays. Contiguous f32 or f64.
  virtual void clamp(const Array& data, double bound, Queue& queue) = 0;
  /// *count += how many elements of a contiguous array of floats are infinite or NaN.
  virtual void count_nonfinite(const Array& data, std::int64_t* count, Queue& queue) = 0;

  // Codes of contiguous f32 numbers.
  /// Encodes the numbers; each becomes what its code leaves out. *nonfinite += how many of them are infinite or NaN.
  virtual void encode_rest(float* numbers, const CodedNumbers& to, std::int64_t* nonfinite, Queue& queue) = 0;
  /// sums = (sums + what the codes stand for) / divisor.
  virtual void add_decoded(const CodedNumbers& from, float* sums, double divisor, Queue& queue) = 0;

  // Selections. Piece q of n elements in p pieces begins at element n q / p.
  /// The largest of every part: as many as the plan says.
  virtual void select_largest(const SelectPlan& plan, const Selection& to, Queue& queue) = 0;
  /// counts[q] = how many reach the threshold in piece q of the plan's data.
  virtual void count_reaching(const SelectPlan& plan, std::int64_t pieces, std::int64_t* counts, Queue& queue) = 0;
  /// Selects the elements that the last count_reaching() of this plan has counted. The data must not have changed.
  virtual void select_reaching(const SelectPlan& plan, const Selection& to, Queue& queue) = 0;
  /// counts[q] = how many of the list's indices, which ascend, lie in piece q of `elements`.
  virtual void count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces, std::int64_t* counts,
                            Queue& queue) = 0;
  /// values[j] = data[indices[j]] of a contiguous f32 or f64 array.
  virtual void take(const Array& data, const SparseList& list, void* values, Queue& queue) = 0;
  /// data[indices[j]] = values[j], or zero where the list has no values; with `add`, += values[j].
  virtual void put(const Array& data, const SparseList& list, bool add, Queue& queue) = 0;
  virtual void sum_sparse(const SparseSum& job, Queue& queue) = 0;

  // For each of the plan's matrices; products are summed in f64.
  /// Takes what the following need, before a step that could not be undone.
  virtual void reserve_low_rank(const LowRankPlan& /*plan*/, Queue& /*queue*/) {}
  virtual void project_rows(const LowRankPlan& plan, Queue& queue) = 0;     ///< p = m q^T, p by factor
  virtual void project_columns(const LowRankPlan& plan, Queue& queue) = 0;  ///< q = p m, q by factor
  /// Makes the factors of p orthonormal, in their order; one that is in the span of those before becomes zero.
  virtual void orthonormalize(const LowRankPlan& plan, Queue& queue) = 0;
  /// Factors of q that are zero become those of q_before.
  virtual void keep_factors(const LowRankPlan& plan, Queue& queue) = 0;
  /// result = factor * p^T q, m = m - p^T q.
  virtual void expand(const LowRankPlan& plan, double factor, Queue& queue) = 0;
};

}  // namespace gradstep
