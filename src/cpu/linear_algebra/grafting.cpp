// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/grafting.h"

#include <algorithm>
#include <cmath>

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
  const auto is_coded = [](const TensorPlan& t) { return t.momentum.is_coded() || t.diagonal_momentum.is_coded(); };
  coded_ = std::any_of(tensors.begin(), tensors.end(), is_coded);
}

/// Norms of all tensors from the squares of their chunks.
void Grafting::fold(std::span<const double> squares, std::vector<double>& norms) const {
  for (std::size_t i = 0; i < norms.size(); ++i) {
    norms[i] = std::sqrt(fold_partials(squares.subspan(first_chunk_[i], first_chunk_[i + 1] - first_chunk_[i])));
  }
}

void Grafting::normalize(const PreconditioningStep& step) {
  phases_.for_each_chunk([&](std::size_t at, std::size_t i, const Chunk& chunk) {
    const TensorStep& tensor = step.tensors[i];
    squares_[at] = tensor.takes_part ? phases_.loops().sum_of_squares(tensor.gradient + chunk.offset, chunk.length) : 0;
  });
  fold(squares_, norms_);
  for (std::size_t i = 0; i < scales_.size(); ++i) scales_[i].gradient = kernels::normalizing_scale(norms_[i]);
}

void Grafting::graft(const PreconditioningStep& step) {
  const std::vector<TensorPlan>& tensors = phases_.plan.tensors;
  const Graft graft = phases_.plan.form.graft;
  const GraftingLoops& loops = phases_.loops();
  std::fill(scales_.begin(), scales_.end(), kernels::GraftScales{});
  if (kernels::is_normalized(graft)) normalize(step);
  phases_.for_each_chunk([&](std::size_t at, std::size_t i, const Chunk& chunk) {
    squares_[at] = preconditioned_squares_[at] = 0;
    if (!step.tensors[i].takes_part) return;
    write_direction(step, i, chunk);
    squares_[at] = loops.sum_of_squares(step.tensors[i].direction + chunk.offset, chunk.length);
    if (tensors[i].preconditioned) {
      preconditioned_squares_[at] =
          loops.sum_of_squares(tensors[i].preconditioned_gradient + chunk.offset, chunk.length);
    }
  });
  fold(squares_, norms_);
  fold(preconditioned_squares_, preconditioned_norms_);
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    kernels::set_scales(graft, phases_.constants(step, i).clip_scaled_norm, tensors[i].size, tensors[i].preconditioned,
                        norms_[i], preconditioned_norms_[i], scales_[i]);
  }
}

void Grafting::write_direction(const PreconditioningStep& step, std::size_t i, const Chunk& chunk) {
  const TensorPlan& tensor = phases_.plan.tensors[i];
  const kernels::ShampooConstants& constants = phases_.constants(step, i);
  const GraftingLoops& loops = phases_.loops();
  const float* g = step.tensors[i].gradient + chunk.offset;
  float* u = tensor.direction + chunk.offset;
  switch (phases_.plan.form.graft) {
    case Graft::sgd:
    case Graft::none:
      break;
    case Graft::adagrad:
    case Graft::adagrad_normalized:
    case Graft::rmsprop:
    case Graft::rmsprop_normalized:
      loops.divide_by_root(g, tensor.diagonal_statistics.floats() + chunk.offset, u, chunk.length, scales_[i].gradient,
                           constants.root);
      break;
    case Graft::sqrt_n:
      loops.take_signs(g, u, chunk.length);
      break;
    case Graft::adam:
      loops.adam(g, tensor.diagonal_exp_avg.floats() + chunk.offset, tensor.diagonal_statistics.floats() + chunk.offset,
                 u, chunk.length, constants.moments);
      break;
  }
}

void Grafting::finish(const PreconditioningStep& step) {
  const std::vector<TensorPlan>& tensors = phases_.plan.tensors;
  if (coded_) {
    phases_.context.parallel_for(static_cast<std::int64_t>(tensors.size()), [&](std::int64_t i) {
      if (step.tensors[static_cast<std::size_t>(i)].takes_part) finish_coded(step, static_cast<std::size_t>(i));
    });
    return;
  }
  phases_.for_each_chunk([&](std::size_t /*at*/, std::size_t i, const Chunk& chunk) {
    if (!step.tensors[i].takes_part) return;
    const TensorPlan& tensor = tensors[i];
    float* m = tensor.momentum.exists() ? tensor.momentum.floats() + chunk.offset : nullptr;
    float* n = tensor.diagonal_momentum.exists() ? tensor.diagonal_momentum.floats() + chunk.offset : nullptr;
    finish_range(step, i, chunk.offset, chunk.length, m, n);
  });
}

/// Codes of a column share a bucket over all rows, so a tensor is decoded and encoded as a whole.
void Grafting::finish_coded(const PreconditioningStep& step, std::size_t i) {
  const TensorPlan& tensor = phases_.plan.tensors[i];
  const Workspaces::Lent workspace(phases_.workspaces);
  const auto numbers = [](const StoredMatrix& matrix, AlignedVector<float>& scratch) -> float* {
    if (!matrix.exists()) return nullptr;
    return read_matrix(matrix, Workspace::resized(scratch, matrix.size()));
  };
  float* m = numbers(tensor.momentum, workspace->first);
  float* n = numbers(tensor.diagonal_momentum, workspace->second);
  finish_range(step, i, 0, tensor.size, m, n);
  if (m != nullptr) write_matrix(m, tensor.momentum);
  if (n != nullptr) write_matrix(n, tensor.diagonal_momentum);
}

/// momentum NULL = not preconditioned; diagonal_momentum NULL = the two share `momentum` (SQRT_N).
void Grafting::finish_range(const PreconditioningStep& step, std::size_t i, std::int64_t begin, std::int64_t count,
                            float* momentum, float* diagonal_momentum) const {
  const TensorPlan& plan = phases_.plan.tensors[i];
  const TensorStep& tensor = step.tensors[i];
  kernels::FinishConstants constants = phases_.constants(step, i).finish;
  constants.preconditioned = scales_[i].preconditioned;
  constants.graft_divisor = scales_[i].graft_divisor;
  const float* direction = plan.preconditioned ? plan.preconditioned_gradient + begin : nullptr;
  phases_.loops().finish(
      {tensor.direction + begin, direction, tensor.value + begin, momentum, diagonal_momentum, tensor.outcome + begin},
      count, constants);
}

}  // namespace gradstep::cpu
