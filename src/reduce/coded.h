// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients travel in codes of 8 or 4 bits, by blocks (kernels/block_code.h, kernels/scaled_code.h).
#pragma once

#include <memory>
#include <vector>

#include "backend/stored_numbers.h"
#include "reduce/bucket_exchange.h"
#include "reduce/error_feedback.h"
#include "reduce/host_planes.h"

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
  /// Who sums what. All stretches but the last ones are equally long, whole blocks; so are all pieces.
  struct Pieces : Division {
    std::int64_t stretch = 0;
    std::int64_t piece = 0;
    std::int64_t message_bytes = 0;            ///< of one piece
    std::vector<std::int64_t> messages_bytes;  ///< of each rank's: all are equal
    WorkList work;                             ///< of this rank's piece

    std::int64_t bytes() const { return message_bytes * static_cast<std::int64_t>(ranks); }
  };
  Pieces cut(const Division& division) const;

  /// The elements of stretch o, from `whole` on, and of its piece q.
  Array stretch_of(const Pieces& division, const Array& whole, std::size_t o) const;
  Array piece_of(const Pieces& division, const Array& whole, std::size_t o, std::size_t q) const;
  Array own_stretch(const Pieces& d, const Array& whole) const { return stretch_of(d, whole, d.own); }
  Array own_piece(const Pieces& d, const Array& whole) const { return piece_of(d, whole, d.own, d.rank); }
  /// Where a message has the codes of a piece of so many elements.
  CodedNumbers codes_in(const Pieces& division, std::byte* message, std::int64_t count) const;
  float* numbers_of(const Array& array) const { return static_cast<float*>(array.data); }
  /// Encodes numbers, which become what their codes leave out if residuals are kept, and counts in nonfinite_.
  void encode(const Array& numbers, const CodedNumbers& codes);

  void exchange_by_hosts(double divisor, const Deadline& deadline);
  void sum_host(const Deadline& deadline);
  const std::byte* exchange_sums(double divisor, const Deadline& deadline);
  void send_pieces(const Pieces& division, const Deadline& deadline);
  void sum_pieces(const Pieces& division, double divisor);
  /// Writes this rank's message; `divisor` is what the sums were divided by.
  const std::byte* write_sums(const Pieces& division, double divisor);
  /// `messages` are those of all pieces.
  void read_sums(const Pieces& division, std::byte* messages, bool is_finite);

  const kernels::NumberCode code_;
  ErrorFeedback feedback_;  // in units of the sum
  Pieces among_all_;
  Pieces by_hosts_;
  std::unique_ptr<HostPlanes> hosts_;
  std::vector<std::int64_t> counts_;  // of this host's ranks: elements of what they own, then bytes of its messages
  WorkList result_work_;
  Buffer sum_;  // of this rank's piece
  Buffer nonfinite_;
};

}  // namespace gradstep
