// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Only what is large travels; the rest waits in a residual.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "reduce/bucket_exchange.h"

namespace gradstep {

/// How many of n elements top-k selects. In f64: f32 cannot count above 2^24.
std::int64_t selected_count(double sparsity, std::int64_t n);

/// Of a bucket: selections are lists of 32-bit indices.
inline constexpr std::int64_t kMostSparseElements = std::numeric_limits<std::int32_t>::max();

class SparseExchange final : public BucketExchange {
 public:
  SparseExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& options,
                 std::span<const std::int64_t> sizes);

  Array packed() const override { return array(has_momentum() ? new_velocity_ : packed_); }
  Array carried() const override { return array(has_momentum() ? velocity_ : residual_); }
  double carried_factor() const override;
  Array result() const override { return is_ef21() ? array(estimated_) : BucketExchange::result(); }
  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) override;
  void commit() override;
  std::vector<KeptTensor> kept() override;
  void finish(const BucketExchange& failed) override;
  void rejoin(std::int32_t root, const Deadline& deadline) override;

 private:
  bool has_momentum() const { return options().momentum_correction > 0; }
  bool is_ef21() const { return options().error_feedback == GRADSTEP_ERROR_FEEDBACK_EF21; }
  Array sum() const { return BucketExchange::result(); }
  double sparsity_now() const;
  void select(gradstep_bucket_statistics& stats);
  std::vector<std::int32_t> selected_nans();
  void agree(std::int64_t nans, const Deadline& deadline);
  bool splits() const;
  void compose();
  void gather(double divisor, const Deadline& deadline);
  void split(double divisor, const Deadline& deadline);
  void clear_sum();
  void grow_estimate();
  std::int64_t piece_begin(std::size_t q) const;
  /// How many elements rank r has selected in piece q.
  std::int64_t count_of(std::size_t r, std::size_t q) const { return headers_[r * (pieces_ + 1) + 1 + q]; }
  std::int64_t message_bytes(std::int64_t count) const;
  SparseList read_message(const std::byte* message, std::int64_t count) const;
  void write_message(const Array& data, std::span<const std::int32_t> indices, bool clear, std::byte* message);

  WorkList work_;
  std::vector<std::int64_t> sizes_;
  Buffer packed_;                   // gradient + residual of this window; without what was sent it is the next residual
  Buffer residual_;                 // empty if none is kept; EF21: this rank's estimate
  Buffer velocity_, new_velocity_;  // momentum correction: after the last window, and after this one
  Buffer total_;                    // EF21: the sum of all ranks' estimates
  Buffer estimated_;                // EF21: the same after this window, divided
  std::vector<std::int32_t> selected_;
  std::vector<std::int32_t> touched_;  // where sum() may differ from zero
  std::size_t pieces_ = 1;             // of the bucket, that messages are cut into
  std::vector<std::int64_t> headers_;  // of each rank: its NaNs, and what it has selected in each piece
  std::vector<std::int64_t> bytes_;    // of each rank's message
  std::byte* message_ = nullptr;
  std::int64_t last_selected_ = 0;  // by all ranks together in the last exchange
};

}  // namespace gradstep
