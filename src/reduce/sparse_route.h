// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How selections come together. Two ways lead to the same bits. Gathered: every rank gets all selections and sums them
// in the order of ranks. Split: the ranks own shares of the indices, sum what was selected there, and give the sums to
// all; where ranks select the same elements that is less to send.
#pragma once

#include <cstdint>
#include <vector>

#include "reduce/exchange_resources.h"
#include "reduce/selection_counts.h"
#include "reduce/sparse_messages.h"
#include "reduce/sparse_selection.h"
#include "reduce/sparse_sums.h"

namespace gradstep {

class SparseRoute {
 public:
  /// Sums go to `sums`, which like `resources`, with a channel, and `options` outlives it.
  SparseRoute(ExchangeResources& resources, const gradstep_reducer_options& options, SparseSums& sums);

  /// Decides on the way of the next window, alike on all ranks: how many pieces selections are cut into, by what the
  /// last one has selected. 1 = gathered.
  std::size_t next_pieces() const;
  /// Tells all ranks what each has selected, unless they know. Collective. Throws as SelectionCounts.
  void agree(const SparseSelection& own, const Deadline& deadline);
  /// This rank's, as agreed.
  std::int64_t own_count() const { return counts_.of_rank(rank()); }
  /// sums = those of all ranks' selections / divisor. Collective.
  void exchange(const SparseSelection& own, double divisor, const Deadline& deadline);
  /// What the last exchange has added up or put together at last: of each rank, or of each piece.
  const std::vector<SparseList>& lists() const { return lists_; }

 private:
  void gather(const SparseSelection& own, double divisor, const Deadline& deadline);
  const std::byte* gather_fixed(const SparseSelection& own, const Deadline& deadline);
  const std::byte* gather_agreed(const SparseSelection& own, const Deadline& deadline);
  void exchange_pieces(const SparseList& own, const Deadline& deadline);
  void share_sums(const Deadline& deadline);
  std::int64_t piece_begin(std::size_t q) const;
  Queue& queue() const { return resources_.lane().queue(); }
  std::size_t world_size() const { return static_cast<std::size_t>(resources_.comm->world_size()); }
  std::size_t rank() const { return static_cast<std::size_t>(resources_.comm->rank()); }

  ExchangeResources& resources_;
  const gradstep_reducer_options& options_;
  SparseSums& sums_;
  SparseMessages messages_;
  SelectionCounts counts_;
  std::int64_t last_selected_ = 0;   // by all ranks together in the last exchange
  std::vector<std::int64_t> bytes_;  // of each rank's message, or of this rank's for each of the others
  std::vector<std::int64_t> incoming_bytes_;
  Buffer sum_counts_;  // of each rank's piece
  std::vector<SparseList> lists_;
};

}  // namespace gradstep
