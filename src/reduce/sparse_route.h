// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How selections come together. Two ways lead to the same bits. Gathered: every rank gets all selections and sums them
// in the order of ranks. Split: the ranks own shares of the indices, sum what was selected there, and give the sums to
// all; where ranks select the same elements that is less to send.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reduce/exchange_rounds.h"
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
  /// How long this rank's message is in the next window, by `own`; unless that is fixed, as the last ones on average.
  std::int64_t message_bytes(const SparseSelection& own) const;
  /// A round that tells all ranks what each has selected, for read_counts(); nothing = they know.
  static std::optional<Round> ask_counts(const SparseSelection& own);
  /// Throws as SelectionCounts.
  void read_counts(const SparseSelection& own, const Received& received);
  /// This rank's, as agreed.
  std::int64_t own_count() const { return counts_.of_rank(rank()); }
  /// sums = those of all ranks' selections / divisor, by the rounds that start() and proceed() return; nothing = it is
  /// done. `own` outlives them.
  std::optional<Round> start(const SparseSelection& own, double divisor);
  std::optional<Round> proceed(const Received& received);
  /// What the last exchange has added up or put together at last: of each rank, or of each piece.
  const std::vector<SparseList>& lists() const { return lists_; }

 private:
  /// What the round brings that is on its way.
  enum class Step { fixed_selections, selections, pieces, sum_counts, sums };

  Round gather(const SparseSelection& own);
  void read_heads(const DataPlane::Seen& heads);
  void add_up_selections(std::span<const std::byte* const> messages);
  std::optional<Round> finish();
  Round send_pieces(const SparseList& own);
  Round add_up_piece(const Received& received);
  Round send_sums(const DataPlane::Seen& counts);
  void put_sums(const Received& received);
  std::int64_t piece_begin(std::size_t q) const;
  Queue& queue() const { return resources_.lane().queue(); }
  std::size_t world_size() const { return static_cast<std::size_t>(resources_.comm->world_size()); }
  std::size_t rank() const { return static_cast<std::size_t>(resources_.comm->rank()); }

  ExchangeResources& resources_;
  const gradstep_reducer_options& options_;
  SparseSums& sums_;
  SparseMessages messages_;
  SelectionCounts counts_;
  // The present exchange.
  const SparseSelection* own_ = nullptr;
  double divisor_ = 1;
  Step step_ = Step::selections;
  std::int64_t last_selected_ = 0;   // by all ranks together in the last exchange
  std::vector<std::int64_t> bytes_;  // of each rank's message, or of this rank's for each of the others
  std::vector<std::int64_t> incoming_bytes_;
  Staging outgoing_;  // pieces, then sums
  std::vector<SparseList> lists_;
};

}  // namespace gradstep
