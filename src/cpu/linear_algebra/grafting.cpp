// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/grafting.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpu/linear_algebra/stored_matrix.h"

namespace gradstep::cpu {

using kernels::Graft;

void Grafting::plan() {
  const std::vector<TensorPlan>& tensors = phases_.plan.tensors;
  const std::span<const Chunk> chunks = phases_.plan.work->chunks();
  first_chunk_.assign(tensors.size() + 1, chunks.size());
  for (std::size_t c = chunks.size(); c-- > 0;) first_chunk_[static_cast<std::size_t>(chunks[c].item)] = c;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    if (tensors[i].size == 0) first_chunk_[i] = first_chunk_[i + 1];
  }
  squares_.resize(chunks.size());
  preconditioned_squares_.resize(chunks.size());
  norms_.resize(tensors.size());
  preconditioned_norms_.resize(tensors.size());
  scales_.resize(tensors.size());
  deal_out_coded();
}

/// The largest first, each to the lane that has least. So scratch is that of the largest tensors, one for each thread,
/// and no step takes memory.
void Grafting::deal_out_coded() {
  const std::vector<TensorPlan>& tensors = phases_.plan.tensors;
  const auto is_coded = [](const TensorPlan& t) { return t.momentum.is_coded() || t.diagonal_momentum.is_coded(); };
  lanes_.clear();
  if (!std::any_of(tensors.begin(), tensors.end(), is_coded)) return;
  lanes_.resize(std::min(phases_.context.width(), tensors.size()));
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return tensors[a].size > tensors[b].size; });
  for (const std::size_t i : order) {
    Lane& lane = *std::ranges::min_element(lanes_, {}, &Lane::size);
    lane.tensors.push_back(i);
    lane.size += tensors[i].size;
    lane.momentum.reserve(tensors[i].momentum);
    lane.diagonal_momentum.reserve(tensors[i].diagonal_momentum);
  }
}

std::size_t Grafting::bytes() const {
  std::size_t numbers = 0;
  for (const Lane& lane : lanes_) numbers += lane.momentum.size() + lane.diagonal_momentum.size();
  return numbers * sizeof(float);
}

/// Norms of all tensors from the squares of their chunks.
void Grafting::fold(std::span<const double> squares, std::vector<double>& norms) const {
  for (std::size_t i = 0; i < norms.size(); ++i) {
    norms[i] = std::sqrt(fold_partials(squares.subspan(first_chunk_[i], first_chunk_[i + 1] - first_chunk_[i])));
  }
}

template <class T>
double Grafting::square(const void* x, const Chunk& chunk) const {
  const DType dtype = sizeof(T) == sizeof(double) ? DType::f64 : DType::f32;
  return phases_.loops.square({.data = const_cast<void*>(x), .dtype = dtype}, chunk);
}

void Grafting::normalize(const PreconditioningStep& step) {
  phases_.for_each_chunk([&](auto type, std::size_t at, std::size_t i, const Chunk& chunk) {
    const TensorStep& tensor = step.tensors[i];
    squares_[at] = tensor.takes_part ? square<decltype(type)>(tensor.gradient, chunk) : 0;
  });
  fold(squares_, norms_);
  for (std::size_t i = 0; i < scales_.size(); ++i) scales_[i].gradient = kernels::normalizing_scale(norms_[i]);
}

void Grafting::graft(const PreconditioningStep& step) {
  const std::vector<TensorPlan>& tensors = phases_.plan.tensors;
  const Graft graft = phases_.plan.form.graft;
  std::fill(scales_.begin(), scales_.end(), kernels::GraftScales{});
  if (kernels::is_normalized(graft)) normalize(step);
  phases_.for_each_chunk([&](auto type, std::size_t at, std::size_t i, const Chunk& chunk) {
    using T = decltype(type);
    squares_[at] = preconditioned_squares_[at] = 0;
    if (!step.tensors[i].takes_part) return;
    write_direction<T>(step, i, chunk);
    squares_[at] = square<T>(step.tensors[i].direction, chunk);
    if (tensors[i].preconditioned) preconditioned_squares_[at] = square<T>(tensors[i].preconditioned_gradient, chunk);
  });
  fold(squares_, norms_);
  fold(preconditioned_squares_, preconditioned_norms_);
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    kernels::set_scales(graft, phases_.constants(step, i).clip_scaled_norm, tensors[i].size, tensors[i].preconditioned,
                        norms_[i], preconditioned_norms_[i], scales_[i]);
  }
}

template <class T>
void Grafting::write_direction(const PreconditioningStep& step, std::size_t i, const Chunk& chunk) {
  const TensorPlan& tensor = phases_.plan.tensors[i];
  const Graft graft = phases_.plan.form.graft;
  if (kernels::is_plain(graft)) return;
  DirectionArrays<T> arrays{at<T>(step.tensors[i].gradient, chunk.offset), at<T>(tensor.direction, chunk.offset), {}};
  if (graft == Graft::adam) {
    arrays.states = phases_.states_at<T>(step, i, chunk.offset, tensor.diagonal_exp_avg, kDiagonalExpAvgStream,
                                         tensor.diagonal_statistics, kDiagonalStatisticsStream);
  } else {
    arrays.states =
        phases_.states_at<T>(step, i, chunk.offset, tensor.diagonal_statistics, kDiagonalStatisticsStream, {}, 0);
  }
  phases_.loops.graft<T>().write_direction(graft, phases_.constants(step, i).direction,
                                           static_cast<T>(scales_[i].gradient), arrays, chunk.length);
}

void Grafting::finish(const PreconditioningStep& step) {
  const std::vector<TensorPlan>& tensors = phases_.plan.tensors;
  if (!lanes_.empty()) {
    phases_.context.parallel_for(static_cast<std::int64_t>(lanes_.size()), [&](std::int64_t at) {
      Lane& lane = lanes_[static_cast<std::size_t>(at)];
      for (const std::size_t i : lane.tensors) {
        if (step.tensors[i].takes_part) finish_coded(step, i, lane);
      }
    });
    return;
  }
  phases_.for_each_chunk([&](auto type, std::size_t /*at*/, std::size_t i, const Chunk& chunk) {
    using T = decltype(type);
    if (!step.tensors[i].takes_part) return;
    const TensorPlan& tensor = tensors[i];
    finish_range<T>(step, i, chunk.offset, chunk.length,
                    phases_.states_at<T>(step, i, chunk.offset, tensor.momentum, kMomentumStream,
                                         tensor.diagonal_momentum, kDiagonalMomentumStream));
  });
}

void Grafting::CodedMomentum::reserve(const StoredMatrix& matrix) {
  if (!matrix.is_coded()) return;
  Workspace::resized(numbers, matrix.size());
  Workspace::resized(largest, matrix.columns);
}

/// The rows' numbers, NULL if the matrix is absent. With the first rows all columns' largest begin anew.
float* Grafting::CodedMomentum::decode(const Loops& loops, const StoredMatrix& matrix, std::int64_t begin_row,
                                       std::int64_t end_row) {
  if (!matrix.exists()) return nullptr;
  const std::int64_t first = begin_row * matrix.columns;
  if (!matrix.is_coded()) return matrix.as<float>() + first;
  if (begin_row == 0) std::fill_n(largest.begin(), matrix.columns, 0.0F);
  loops.decode_matrix(matrix, begin_row, end_row, numbers.data() + first);
  return numbers.data() + first;
}

void Grafting::CodedMomentum::take_largest(const Loops& loops, const StoredMatrix& matrix, std::int64_t begin_row,
                                           std::int64_t end_row) {
  if (!matrix.is_coded()) return;
  loops.take_largest_of_columns(matrix, begin_row, end_row, numbers.data() + begin_row * matrix.columns,
                                largest.data());
}

void Grafting::CodedMomentum::encode(const Loops& loops, const StoredMatrix& matrix) const {
  if (!matrix.is_coded()) return;
  std::copy_n(largest.begin(), matrix.columns, matrix.buckets);
  loops.encode_matrix(numbers.data(), matrix);
}

/// Codes of a column share a bucket over all rows, so a tensor is encoded as a whole. What comes before is done for
/// some rows after the other, which stay in the cache.
void Grafting::finish_coded(const PreconditioningStep& step, std::size_t i, Lane& lane) const {
  constexpr std::int64_t kNumbersAtOnce = 2048;
  const TensorPlan& tensor = phases_.plan.tensors[i];
  const Loops& loops = phases_.loops;
  const StoredMatrix& shape = tensor.momentum.exists() ? tensor.momentum : tensor.diagonal_momentum;
  const std::int64_t rows_at_once =
      std::max<std::int64_t>(1, kNumbersAtOnce / std::max<std::int64_t>(1, shape.columns));
  for (std::int64_t begin = 0; begin < shape.rows; begin += rows_at_once) {
    const std::int64_t end = std::min(shape.rows, begin + rows_at_once);
    StateLists momenta;
    momenta.numbers[0] = lane.momentum.decode(loops, tensor.momentum, begin, end);
    momenta.numbers[1] = lane.diagonal_momentum.decode(loops, tensor.diagonal_momentum, begin, end);
    finish_range<float>(step, i, begin * shape.columns, (end - begin) * shape.columns, momenta);
    lane.momentum.take_largest(loops, tensor.momentum, begin, end);
    lane.diagonal_momentum.take_largest(loops, tensor.diagonal_momentum, begin, end);
  }
  lane.momentum.encode(loops, tensor.momentum);
  lane.diagonal_momentum.encode(loops, tensor.diagonal_momentum);
}

template <class T>
void Grafting::finish_range(const PreconditioningStep& step, std::size_t i, std::int64_t begin, std::int64_t count,
                            const StateLists& momenta) const {
  const TensorPlan& plan = phases_.plan.tensors[i];
  const TensorStep& tensor = step.tensors[i];
  const T* direction = plan.preconditioned ? at<T>(plan.preconditioned_gradient, begin) : nullptr;
  phases_.loops.graft<T>().finish(
      {at<T>(tensor.direction, begin), direction, at<T>(tensor.value, begin), momenta, at<T>(tensor.outcome, begin)},
      count, kernels::finish_of_tensor(phases_.constants(step, i).template in<T>().grafted, scales_[i]));
}

}  // namespace gradstep::cpu
