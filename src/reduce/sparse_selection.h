// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is large in a window: by top-k so many elements of each part, or all that reach a threshold.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "backend/exchange.h"
#include "reduce/exchange_resources.h"
#include "reduce/sparse_messages.h"

namespace gradstep {

/// How many of n elements top-k selects. In f64: f32 cannot count above 2^24.
std::int64_t selected_count(double sparsity, std::int64_t n);

/// The fraction that is sent in window number `window`: it falls geometrically to options.sparsity (Deep Gradient
/// Compression, Lin et al. 2018).
double sparsity_in_window(const gradstep_reducer_options& options, std::int64_t window);

/// The most elements of a bucket: selections are lists of 32-bit indices.
inline constexpr std::int64_t kMostSparseElements = std::numeric_limits<std::int32_t>::max();

class SparseSelection {
 public:
  /// In front of a message of a length that all ranks know: the NaNs in it, and its count. Two 64-bit integers.
  static constexpr std::int64_t kHeadBytes = 2 * sizeof(std::int64_t);

  /// Parameters of `sizes` elements of `dtype`, one after the other. `resources`, with a channel, and `options` outlive
  /// it.
  SparseSelection(const ExchangeResources& resources, const gradstep_reducer_options& options, DType dtype,
                  std::span<const std::int64_t> sizes);

  /// What is selected is fixed in number.
  bool by_count() const { return options_.mode == GRADSTEP_REDUCER_SPARSE_TOPK; }
  /// Every rank knows how long every message is, without an exchange of lengths.
  bool is_fixed() const { return by_count() && pieces_ == 1; }
  std::size_t pieces() const { return pieces_; }
  /// How many elements the next window selects by count.
  std::int64_t next_count() const;

  // Work is queued in the lane.

  /// From `data`, whose indices are cut into `pieces` equal shares. `also` becomes zero where a NaN of data does; data
  /// NULL = nothing. A threshold only counts, and take() selects.
  void select(const Array& data, const Array& also, std::size_t pieces);
  /// All that a threshold has counted, which are `count`.
  void take(std::int64_t count);
  /// Valid until the next select().
  SparseList list() const { return messages_.read(message_, count_); }

  // At the site.
  /// 64-bit integers, unless is_fixed(): the NaNs that are selected, then how many elements of each piece.
  const void* counts() const { return counts_.data(); }
  /// Where is_fixed(): kHeadBytes, and a message of list() behind them.
  const std::byte* message_with_head() const;

  /// The NaNs that are selected, where they are an error. Waits.
  std::int64_t selected_nans() const;
  /// NaNs that became zero, since creation. Waits.
  std::int64_t zeroed_nans() const { return read(queue(), zeroed_nans_.as<std::int64_t>()); }

 private:
  std::vector<SelectPart> parts_of(double sparsity) const;
  void bind_parts();
  SelectPlan& plan_of(const Array& data, const Array& also);
  Selection reserve(std::int64_t count);
  Queue& queue() const { return resources_.lane().queue(); }

  const ExchangeResources& resources_;
  const gradstep_reducer_options& options_;
  SparseMessages messages_;
  std::vector<std::int64_t> sizes_;
  std::vector<SelectPart> parts_;
  double bound_sparsity_ = -1;       // that parts_ are of
  std::int64_t part_counts_ = 0;     // of parts_ together
  std::array<SelectPlan, 2> plans_;  // of two memories that change places
  SelectPlan* plan_ = nullptr;       // of this window
  std::size_t pieces_ = 1;
  Buffer zeroed_nans_;
  Buffer head_;  // NaNs that are selected, part_counts_
  Buffer counts_;
  Staging memory_;  // head_, and the message
  std::byte* message_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace gradstep
