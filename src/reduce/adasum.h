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
  /// Two vectors: those of ranks, or, as b, the sum of all.
  struct Pair {
    std::size_t a;
    std::size_t b;
  };

  void cut(std::size_t pieces);
  bool is_cut() const { return bounds_.size() > 2; }
  std::size_t own_piece() const { return is_cut() ? rank() : 0; }
  std::size_t parameters() const { return parameter_chunks_.size() - 1; }
  bool is_tree() const;
  /// Of rank v's block, or, v being the number of ranks, of their sum.
  Array part_of(std::size_t v, const Part& part) const;

  void merge_tree(const Deadline& deadline);
  void merge_level(std::span<const Pair> pairs, const Deadline& deadline);
  void merge_all(const Deadline& deadline);
  void add_up();

  /// dots_ = the partial sums of every pair over every chunk of the bucket.
  void measure(std::span<const Pair> pairs, const Deadline& deadline);
  Dots dots_over(std::size_t pair, std::size_t parameter);

  /// What is stored of vector v's parameter is 2^exponent times what it stands for; not 0 only in f64.
  int& exponent(std::size_t v, std::size_t parameter) { return exponents_[v * parameters() + parameter]; }
  int smallest_exponent(std::size_t parameter);
  /// Multiplies by powers of two what is too long or too short for its square, measures again if there was any.
  void rescale(std::span<const Pair> pairs, const Deadline& deadline);
  /// Multiplies vector v's parameters by 2^shifts[parameter].
  void shift(std::size_t v, std::span<const int> shifts);

  std::vector<Chunk> chunks_;                  // of the whole bucket; items are parameters
  std::vector<std::size_t> parameter_chunks_;  // parameter t has chunks [t, t + 1)
  std::vector<std::size_t> bounds_;            // piece q has chunks [q, q + 1)
  std::vector<std::int64_t> piece_bytes_;
  std::vector<Part> parts_;
  double* sum_ = nullptr;        // this rank's piece of the sum of all ranks' vectors
  std::byte* blocks_ = nullptr;  // this rank's piece of every rank
  std::int64_t block_size_ = 0;  // elements
  std::vector<int> exponents_;   // by vector, then parameter
  std::vector<Dots> own_dots_;
  Buffer dots_memory_;          // at the site   // by pair, then chunk of the own piece
  std::vector<Dots> gathered_;  // by piece, then as above
  std::vector<Dots> dots_;      // by pair, then chunk of the bucket
  std::vector<double> partials_;
};

}  // namespace gradstep
