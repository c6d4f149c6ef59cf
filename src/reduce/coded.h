// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients travel in codes of 8 or 4 bits, by blocks (kernels/block_code.h, kernels/scaled_code.h).
#pragma once

#include <vector>

#include "backend/stored_numbers.h"
#include "reduce/bucket_exchange.h"
#include "reduce/error_feedback.h"

namespace gradstep {

class CodedExchange final : public BucketExchange {
 public:
  /// `sizes` of the bucket's parameters, in the order of packing.
  CodedExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& options,
                std::span<const std::int64_t> sizes);

  Array packed() const override { return feedback_.packed(); }
  Array carried() const override { return feedback_.kept(); }
  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) override;
  void commit() override { feedback_.commit(); }
  std::vector<KeptTensor> kept() override;
  void finish(const BucketExchange& failed) override;

 private:
  /// The elements of piece q, from `whole` on.
  Array piece_of(const Array& whole, std::size_t q) const;
  /// Where a message has the codes of piece q.
  CodedNumbers codes_in(std::byte* message, std::size_t q) const;
  float* numbers_of(const Array& array) const { return static_cast<float*>(array.data); }
  /// destination = a + factor * b, of as many elements.
  void add(const Array& destination, const Array& a, const Array& b, double factor);
  void send_pieces(const Deadline& deadline);
  void sum_pieces(double divisor);
  /// `divisor` is what the sums were divided by.
  void share_sums(double divisor, const Deadline& deadline);

  const kernels::NumberCode code_;
  std::int64_t piece_ = 0;                    // elements of a piece but the last ones; whole blocks
  std::int64_t message_bytes_ = 0;            // of one piece
  std::vector<std::int64_t> messages_bytes_;  // of each rank's: all are equal
  ErrorFeedback feedback_;                    // in units of the sum
  Buffer sum_;                                // of this rank's piece
  Buffer summand_;                            // one rank's numbers of that piece
  Buffer nonfinite_;
  WorkList piece_work_;  // of this rank's piece
  WorkList work_;        // of the bucket
};

}  // namespace gradstep
