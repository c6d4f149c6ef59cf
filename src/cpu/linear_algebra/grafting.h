// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From the gradient and P(g) to the step: grafting, whose norms are over whole tensors, and the two momenta.
#pragma once

#include <vector>

#include "cpu/linear_algebra/phases.h"

namespace gradstep::cpu {

class Grafting {
 public:
  explicit Grafting(Phases& phases) : phases_(phases) {}

  /// For a new plan of the phases.
  void plan();
  void graft(const PreconditioningStep& step);
  void finish(const PreconditioningStep& step);
  std::size_t bytes() const;

 private:
  /// A tensor's momentum while it is no codes.
  struct CodedMomentum {
    AlignedVector<float> numbers;
    AlignedVector<float> largest;  // of each column

    void reserve(const StoredMatrix& matrix);
    float* decode(const Loops& loops, const StoredMatrix& matrix, std::int64_t begin_row, std::int64_t end_row);
    void take_largest(const Loops& loops, const StoredMatrix& matrix, std::int64_t begin_row, std::int64_t end_row);
    void encode(const Loops& loops, const StoredMatrix& matrix) const;
    std::size_t size() const { return numbers.size() + largest.size(); }
  };
  /// Tensors that follow one another, and scratch for the largest of them.
  struct Lane {
    std::vector<std::size_t> tensors;
    std::int64_t size = 0;  // of all
    CodedMomentum momentum;
    CodedMomentum diagonal_momentum;
  };

  void deal_out_coded();
  void normalize(const PreconditioningStep& step);
  template <class T>
  void write_direction(const PreconditioningStep& step, std::size_t tensor, const Chunk& chunk);
  /// For numbers of T.
  template <class T>
  double square(const void* x, const Chunk& chunk) const;
  void fold(std::span<const double> squares, std::vector<double>& norms) const;
  void finish_coded(const PreconditioningStep& step, std::size_t tensor, Lane& lane) const;
  template <class T>
  void finish_range(const PreconditioningStep& step, std::size_t tensor, std::int64_t begin, std::int64_t count,
                    const StateLists& momenta) const;

  Phases& phases_;
  std::vector<Lane> lanes_;               // of momenta in codes; none where they are not
  std::vector<std::size_t> first_chunk_;  // by tensor, and one more
  std::vector<double> squares_;           // by chunk: |g|^2 or |u|^2
  std::vector<double> preconditioned_squares_;
  std::vector<double> norms_;  // by tensor
  std::vector<double> preconditioned_norms_;
  std::vector<kernels::GraftScales> scales_;
};

}  // namespace gradstep::cpu
