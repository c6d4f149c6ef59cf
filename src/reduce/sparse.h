// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Only what is large travels; the rest waits for the next window.
#pragma once

#include <optional>
#include <vector>

#include "reduce/ef21.h"
#include "reduce/error_feedback.h"
#include "reduce/exchange_rounds.h"
#include "reduce/sparse_route.h"
#include "reduce/sparse_selection.h"
#include "reduce/sparse_sums.h"

namespace gradstep {

class SparseExchange final : public ExchangeByRounds {
 public:
  /// `sizes` of the bucket's parameters, in the order of packing.
  SparseExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& options,
                 std::span<const std::int64_t> sizes);

  Array packed() const override { return velocity_ ? velocity_->packed() : residual_.packed(); }
  Array carried() const override;
  double carried_factor() const override;
  Array result() const override { return ef21_ ? ef21_->result() : BucketExchange::result(); }
  std::int64_t round_bytes() const override { return route_.message_bytes(selection_); }
  std::optional<Round> start(double divisor, gradstep_bucket_statistics& stats) override;
  std::optional<Round> proceed(const Received& received, gradstep_bucket_statistics& stats) override;
  void complete(gradstep_bucket_statistics& stats) const override { stats.nonfinite = selection_.zeroed_nans(); }
  double largest() override;
  void commit() override;
  std::vector<KeptTensor> kept() override;
  void finish(const BucketExchange& failed) override;
  void rejoin(std::int32_t root, const Deadline& deadline) override;

 private:
  void select(std::size_t pieces);
  void leave_rest();
  std::optional<Round> send();
  void finish_exchange(gradstep_bucket_statistics& stats);

  ErrorFeedback residual_;                 // from whose packed() is selected
  std::optional<ErrorFeedback> velocity_;  // momentum correction: added to the residual in every window
  std::optional<Ef21> ef21_;               // in the residual's stead
  WorkList work_;
  double divisor_ = 1;
  bool awaits_counts_ = false;
  SparseSelection selection_;
  SparseSums sums_;
  SparseRoute route_;
};

}  // namespace gradstep
