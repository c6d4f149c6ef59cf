// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adasum (Maleki et al. 2021): gradients that agree are averaged, orthogonal ones added, per parameter. By hosts the
// vectors are the means of the hosts' gradients.
#pragma once

#include <deque>
#include <vector>

#include "backend/own_plan.h"
#include "reduce/bucket_exchange.h"
#include "reduce/chunk_pieces.h"

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
    std::int64_t begin = 0;  // in a vector's block
    std::int64_t size = 0;
  };
  /// Two vectors, or, as b, the sum of all.
  struct Pair {
    std::size_t a;
    std::size_t b;
  };
  /// What is merged at the same time.
  struct Level {
    std::vector<Pair> pairs;                       // whose dot products are measured
    std::vector<std::vector<std::size_t>> groups;  // of vectors that are merged, into their first one
    OwnPlan<CombinePlan, CombineItem> products;
    OwnPlan<AdasumPlan, AdasumMerge> merges;
    std::vector<Array> vectors;  // by part, then group
    std::vector<int> exponents;  // likewise; empty = all are 0
  };

  std::size_t parameters() const { return parameter_chunks_.size() - 1; }
  std::size_t vectors() const { return pieces_.vectors(); }
  bool is_tree() const;
  /// The part of vector v's block; v = number of vectors: of their sum.
  Array part_of(std::size_t v, const Part& part) const;

  void reserve_memory();
  void plan_tree();
  void plan_all();
  void add_level(std::vector<Pair> pairs, std::vector<std::vector<std::size_t>> groups);

  void merge(Level& level, const Deadline& deadline);
  /// The partial sums of every pair over every chunk of the bucket.
  void measure(Level& level, const Deadline& deadline);
  void add_up();

  // Lengths of f64 vectors, whose squares may leave f64's range.
  bool may_leave_range() const { return plan_.dtype == DType::f64; }
  /// What is stored of vector v's parameter is 2^exponent times what it stands for.
  int& exponent(std::size_t v, std::size_t parameter) { return exponents_[v * parameters() + parameter]; }
  int smallest_exponent(std::span<const std::size_t> vectors, std::size_t parameter);
  /// Multiplies by powers of two what is too long or too short for its square, measures again if there was any.
  void rescale(Level& level, const Deadline& deadline);
  /// By the squares in the dots of a pair; true = some were not in range.
  bool bring_into_range(const Level& level, std::size_t pair, std::size_t v, double Dots::* square);
  void pass_exponents(Level& level);
  /// Multiplies vector v's parameters by 2^shifts[parameter].
  void shift(std::size_t v, std::span<const int> shifts);
  void shift_back();

  std::vector<Chunk> chunks_;                  // of the whole bucket; items are parameters
  std::vector<std::size_t> parameter_chunks_;  // parameter t has chunks [t, t + 1)
  ChunkPieces pieces_;
  bool shares_one_host_;  // by hosts
  std::vector<Part> parts_;
  std::int64_t block_size_ = 0;  // elements of this rank's piece
  std::byte* blocks_ = nullptr;  // this rank's piece of every vector
  double* sum_ = nullptr;        // this rank's piece of the sum of all vectors
  Buffer dots_;                  // by chunk of the bucket, then pair
  std::deque<Level> levels_;
  OwnPlan<LinearPlan, LinearCombination> sums_;
  std::vector<double> sum_factors_;  // by part, then vector
  std::vector<int> exponents_;       // by vector, then parameter
  std::vector<Dots> seen_dots_;      // dots_, at the host
};

}  // namespace gradstep
