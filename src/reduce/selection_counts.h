// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks tell each other of their selections: how many elements of each piece of a bucket, and how many NaNs.
#pragma once

#include <cstdint>
#include <vector>

#include "reduce/exchange_rounds.h"

namespace gradstep {

class SelectionCounts {
 public:
  /// `resources`, with a channel, outlive it. `refuses_nans`: a NaN anywhere is an error.
  SelectionCounts(const ExchangeResources& resources, bool refuses_nans);

  /// A gather for read(). `own` at the site: 1 + pieces 64-bit integers, the NaNs and the count of each piece.
  static Round round(const void* own, std::size_t pieces);
  /// `seen` are as many numbers of each rank. Throws NUMERIC, on all ranks, if one has a NaN that it must not send.
  /// Only NaNs that were selected are counted: there may be more.
  void read(const DataPlane::Seen& seen, std::size_t pieces);

  // After read().
  std::size_t pieces() const { return pieces_; }
  /// What `rank` has selected in `piece`.
  std::int64_t of(std::size_t rank, std::size_t piece) const { return counts_[rank * (pieces_ + 1) + 1 + piece]; }
  std::int64_t of_rank(std::size_t rank) const;
  std::int64_t total() const;

 private:
  std::size_t world_size() const { return static_cast<std::size_t>(resources_.comm->world_size()); }

  const ExchangeResources& resources_;
  bool refuses_nans_;
  std::size_t pieces_ = 1;
  std::vector<std::int64_t> counts_;
};

}  // namespace gradstep
