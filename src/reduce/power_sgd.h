// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices travel as a few rank-one factors.
#pragma once

#include <vector>

#include "backend/own_plan.h"
#include "reduce/error_feedback.h"
#include "reduce/exchange_rounds.h"

namespace gradstep {

class PowerSgdExchange final : public ExchangeByRounds {
 public:
  /// `shapes` and `sizes` of the bucket's parameters, in the order of packing.
  PowerSgdExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& checked,
                   std::span<const std::vector<std::int64_t>> shapes, std::span<const std::int64_t> sizes);

  Array packed() const override { return feedback_.packed(); }
  Array carried() const override { return feedback_.kept(); }
  std::int64_t round_bytes() const override;
  std::optional<Round> start(double divisor, gradstep_bucket_statistics& stats) override;
  std::optional<Round> proceed(const Received& received, gradstep_bucket_statistics& stats) override;
  double largest() override;
  void limit_kept() override;
  void commit() override;
  std::vector<KeptTensor> kept() override;
  void finish(const BucketExchange& failed) override;
  void rejoin(std::int32_t root, const Deadline& deadline) override;

 private:
  struct Matrix {
    std::int64_t begin = 0;  // in the bucket
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t rank = 0;     // 0 = travels densely
    std::int64_t p_begin = 0;  // in p_; of what travels densely: the elements themselves
    std::int64_t q_begin = 0;  // in q_
    std::int64_t size() const { return rows * cols; }
  };

  /// The work on one of the two memories of feedback_: the copies of what travels densely, out to p_, and back to
  /// result() with nothing left for a residual; and the plan of the others, with the factors p_ and next_q_.
  struct Work {
    OwnPlan<CopyPlan, CopyItem> out;
    OwnPlan<CopyPlan, CopyItem> back;
    std::vector<LowRank> matrices;  // which low_rank shows
    LowRankPlan low_rank;
  };

  std::optional<Round> mean_of(Buffer& factors, std::int64_t size) const;
  void finish_exchange();
  void fill(const Matrix& matrix);
  void plan_dense(Work& work, const Array& memory);
  Array part(void* memory, std::int64_t begin, std::int64_t size) const;
  const LowRankPlan& low_rank(Work& work, const Array& memory);
  Array seen(const Matrix& matrix) const;

  std::vector<Matrix> matrices_;  // one per parameter
  std::int64_t p_size_ = 0;
  std::int64_t q_size_ = 0;
  ErrorFeedback feedback_;
  Work packed_work_;
  Work kept_work_;
  Buffer p_;  // factors, and in between what travels densely
  Buffer q_;  // of the last window; where the next one starts
  Buffer next_q_;
  /// The norms of both factors that were exchanged.
  struct Norms {
    double p = 0;
    double q = 0;
  };
  WorkList p_work_, q_work_;
  NormPlan p_norm_, q_norm_;
  Buffer norms_;      // at the site
  Norms seen_norms_;  // the same, where largest() has asked
  double divisor_ = 1;
  bool has_columns_ = false;   // P has come back, Q is on its way
  double factor_ = 1;          // of the last expansion
  bool has_expanded_ = false;  // packed() is less what was sent
  bool lacks_factor_ = false;  // finish() waits for the Q that rejoin() brings
};

}  // namespace gradstep
