// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices travel as a few rank-one factors.
#pragma once

#include <vector>

#include "backend/own_plan.h"
#include "reduce/bucket_exchange.h"

namespace gradstep {

class PowerSgdExchange final : public BucketExchange {
 public:
  PowerSgdExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& checked,
                   std::span<const std::vector<std::int64_t>> shapes);

  Array packed() const override { return array(packed_.memory); }
  Array carried() const override { return array(residual_.memory); }
  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) override;
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

  /// The gradients of a window, and the copies of what travels densely: out to p_, and back to result() with nothing
  /// left for a residual.
  struct Window {
    Buffer memory;
    OwnPlan<CopyPlan, CopyItem> out;
    OwnPlan<CopyPlan, CopyItem> back;
    std::vector<LowRank> matrices;  // which low_rank shows
    LowRankPlan low_rank;
  };

  void start(const Matrix& matrix);
  void plan_dense(Window& window);
  Array part(const Buffer& buffer, std::int64_t begin, std::int64_t size) const;
  /// The plan of packed_, with the factors p_ and next_q_, and result().
  const LowRankPlan& low_rank();
  Array seen(const Matrix& matrix) const;

  std::vector<Matrix> matrices_;  // one per parameter
  std::int64_t p_size_ = 0;
  std::int64_t q_size_ = 0;
  Window packed_;  // gradient + residual; less what was sent it is the next residual
  Window residual_;
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
  Buffer norms_;               // at the site
  Norms seen_norms_;           // the same, where largest() has asked
  double factor_ = 1;          // of the last expansion
  bool has_expanded_ = false;  // packed_ is less what was sent
  bool lacks_factor_ = false;  // finish() waits for the Q that rejoin() brings
};

}  // namespace gradstep
