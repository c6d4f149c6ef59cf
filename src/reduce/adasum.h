// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adasum (Maleki et al. 2021): gradients that agree are averaged, orthogonal ones added, per parameter.
#pragma once

#include <vector>

#include "reduce/bucket_exchange.h"

namespace gradstep {

class AdasumExchange final : public BucketExchange {
 public:
  AdasumExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& options,
                 std::span<const std::int64_t> sizes);

  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) override;

 private:
  /// The elements of one parameter that this rank works on.
  struct Part {
    std::size_t parameter = 0;
    std::int64_t begin = 0;  // in a rank's block
    std::int64_t size = 0;
  };
  /// Two vectors of which the first becomes a_factor * a + b_factor * b.
  struct Pair {
    std::size_t a;
    std::size_t b;
  };
  struct Factors {
    double a = 1;
    double b = 1;
  };

  void cut(std::size_t pieces);
  bool is_cut() const { return bounds_.size() > 2; }
  std::size_t own_piece() const { return is_cut() ? rank() : 0; }
  Array block(std::size_t r) const;
  Array part_of(const Array& whole, const Part& part) const;
  void merge_tree(const Deadline& deadline);
  void merge_all(const Deadline& deadline);
  void merge_level(std::span<const Pair> pairs, const Deadline& deadline);
  std::vector<CombineItem> items_of(std::span<const Pair> pairs) const;  ///< one for each pair and part
  /// dots_ = the partial sums of every pair over every chunk of the bucket.
  void measure(std::span<const Pair> pairs, const Deadline& deadline);
  Dots dots_over(std::size_t pair, std::size_t parameter);
  void combine(std::span<const Pair> pairs, std::span<const Factors> factors);

  std::vector<Chunk> chunks_;                  // of the whole bucket; items are parameters
  std::vector<std::size_t> parameter_chunks_;  // parameter t has chunks [t, t + 1)
  std::vector<std::size_t> bounds_;            // piece q has chunks [q, q + 1)
  std::vector<std::int64_t> piece_bytes_;
  std::vector<Part> parts_;
  std::byte* blocks_ = nullptr;  // this rank's piece of every rank
  std::int64_t block_size_ = 0;  // elements
  std::vector<Dots> own_dots_;   // by pair, then chunk of the own piece
  std::vector<Dots> gathered_;   // by piece, then as above
  std::vector<Dots> dots_;       // by pair, then chunk of the bucket
  std::vector<double> partials_;
};

}  // namespace gradstep
