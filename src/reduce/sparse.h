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

/// The most elements of a bucket: selections are lists of 32-bit indices.
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
  void complete(gradstep_bucket_statistics& stats) const override;
  double largest() override;
  void commit() override;
  std::vector<KeptTensor> kept() override;
  void finish(const BucketExchange& failed) override;
  void rejoin(std::int32_t root, const Deadline& deadline) override;

 private:
  bool has_momentum() const { return options().momentum_correction > 0; }
  bool is_ef21() const { return options().error_feedback == GRADSTEP_ERROR_FEEDBACK_EF21; }
  bool by_count() const { return options().mode == GRADSTEP_REDUCER_SPARSE_TOPK; }
  /// Every rank knows how long every message is, without having been told.
  bool is_fixed() const { return by_count() && pieces_ == 1; }
  Array sum() const { return BucketExchange::result(); }
  double sparsity_now() const;
  void bind_parts();
  void bind_selection();
  void select();
  void select_counted();
  void leave_rest();
  void agree(const Deadline& deadline);
  void read_headers(const std::byte* first, std::int64_t stride);
  bool splits() const;
  std::int64_t touched_count() const;
  void gather(double divisor, const Deadline& deadline);
  const std::byte* gather_fixed(const Deadline& deadline);
  const std::byte* gather_agreed(const Deadline& deadline);
  void split(double divisor, const Deadline& deadline);
  void exchange_pieces(const Deadline& deadline);
  void share_sums(const Deadline& deadline);
  void clear_sum();
  void measure_lists();
  void sum_lists(std::int64_t begin, std::int64_t end, double divisor);
  std::int64_t piece_begin(std::size_t q) const;
  /// How many elements rank r has selected in piece q.
  std::int64_t count_of(std::size_t r, std::size_t q) const { return headers_[r * (pieces_ + 1) + 1 + q]; }
  std::int64_t message_bytes(std::int64_t count) const;
  SparseList read_message(const std::byte* message, std::int64_t count) const;
  /// Room for a message of this rank's; what fills it up to whole words is zero.
  Selection write_message(std::byte* message, std::int64_t count);
  SparseList own_list() const { return read_message(own_, own_count_); }

  WorkList work_;
  std::vector<std::int64_t> sizes_;
  Buffer packed_;                   // gradient + residual of this window; without what was sent it is the next residual
  Buffer residual_;                 // empty if none is kept; EF21: this rank's estimate
  Buffer velocity_, new_velocity_;  // momentum correction: after the last window, and after this one
  Buffer total_;                    // EF21: the sum of all ranks' estimates
  Buffer estimated_;                // EF21: the same after this window, divided

  SelectPlan selection_, next_selection_;  // of packed_ now, and when it has changed places with residual_
  std::vector<SelectPart> parts_;
  double bound_sparsity_ = -1;    // that parts_ are of
  std::int64_t part_counts_ = 0;  // of parts_ together
  Buffer nonfinite_;              // NaNs that became zero, since creation
  Buffer head_;                   // NaNs that are selected, part_counts_
  Buffer counts_, all_counts_;    // NaNs and what is selected in each piece: of this rank, and of all

  Staging message_;           // head_, and what this rank has selected; until commit()
  std::byte* own_ = nullptr;  // the latter
  std::int64_t own_count_ = 0;
  std::size_t pieces_ = 1;             // of the bucket, that messages are cut into
  std::vector<std::int64_t> headers_;  // of each rank, in the form of counts_
  std::vector<std::int64_t> bytes_;    // of each rank's message, or of this rank's for each of the others
  std::vector<std::int64_t> incoming_bytes_;
  std::vector<SparseList> lists_;
  WorkList list_work_;  // of their values
  std::vector<Array> list_values_;
  NormPlan list_norm_;  // of them
  Buffer norm_;         // of the same
  SparseSum sum_;

  Staging touched_memory_;          // a count, indices
  SparseList touched_;              // where sum() may differ from zero
  bool all_touched_ = false;        // anywhere
  std::int64_t last_selected_ = 0;  // by all ranks together in the last exchange
};

}  // namespace gradstep
