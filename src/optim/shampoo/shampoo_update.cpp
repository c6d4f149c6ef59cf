// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From the gradient and P(g) to the step: grafting, whose norms are over whole tensors, and the two momenta.
#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "optim/power.h"
#include "optim/shampoo/shampoo.h"

namespace gradstep {

namespace {

constexpr double kNormEpsilon = 1e-16;

double sum_of_squares(const float* x, std::int64_t count) {
  double sum = 0;
  for (std::int64_t k = 0; k < count; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  return sum;
}

/// v = keep v + add g^2, g becomes g / (sqrt(v) + epsilon).
void divide_by_root(float* g, float* v, std::int64_t count, float scale, float keep, float add, float epsilon) {
  for (std::int64_t k = 0; k < count; ++k) {
    const float scaled = g[k] * scale;
    v[k] = keep * v[k] + add * (scaled * scaled);
    g[k] = scaled / (std::sqrt(v[k]) + epsilon);
  }
}

float sign(float x) { return x > 0 ? 1.0F : x < 0 ? -1.0F : x; }

double corrected(double beta, std::int64_t step) { return 1 / (1 - Power()(beta, step + 1)); }

}  // namespace

/// Norms of all parameters from the squares of their chunks.
void Shampoo::fold(std::span<const double> partials, std::vector<double>& norms) const {
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const std::size_t count = first_chunk_[i + 1] - first_chunk_[i];
    norms[i] = std::sqrt(fold_partials(partials.subspan(first_chunk_[i], count)));
  }
}

/// The grafting direction u takes the gradients' place.
void Shampoo::graft() {
  const auto chunks = work().chunks();
  const auto count = static_cast<std::int64_t>(chunks.size());
  const std::span<double> squares(squares_.data(), chunks.size());
  const std::span<double> preconditioned_squares(squares_.data() + chunks.size(), chunks.size());
  std::fill(scales_.begin(), scales_.end(), Scales{});
  if (is_normalized(options_.graft)) {
    context()->parallel_for(count, [&](std::int64_t c) {
      const auto at = static_cast<std::size_t>(c);
      const float* g = gradient(static_cast<std::size_t>(chunks[at].item)) + chunks[at].offset;
      squares[at] = sum_of_squares(g, chunks[at].length);
    });
    fold(squares, norms_);
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      scales_[i].gradient = static_cast<float>(1 / (norms_[i] + kNormEpsilon));
    }
  }
  context()->parallel_for(count, [&](std::int64_t c) {
    const auto at = static_cast<std::size_t>(c);
    const Chunk& chunk = chunks[at];
    const auto i = static_cast<std::size_t>(chunk.item);
    squares[at] = preconditioned_squares[at] = 0;
    if (!takes_part(i)) return;
    graft_chunk(chunk, values_of(i), scales_[i].gradient, &squares[at]);
    if (parameters_[i].preconditioned) {
      preconditioned_squares[at] = sum_of_squares(preconditioned(i) + chunk.offset, chunk.length);
    }
  });
  fold(squares, norms_);
  fold(preconditioned_squares, preconditioned_norms_);
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    const double limit = values_of(i)[kClipScaledNorm];
    double norm = norms_[i];
    if (limit > 0 && is_rmsprop(options_.graft) && schema()[i].size > 0) {
      const double divisor = std::max(1.0, norm / std::sqrt(static_cast<double>(schema()[i].size)) / limit);
      scales_[i].graft_divisor = static_cast<float>(divisor);
      norm /= divisor;
    }
    if (options_.graft != Graft::none && parameters_[i].preconditioned) {
      scales_[i].preconditioned = static_cast<float>(norm / (preconditioned_norms_[i] + kNormEpsilon));
    }
  }
}

void Shampoo::graft_chunk(const Chunk& chunk, std::span<const double> values, float scale, double* squares) const {
  const auto i = static_cast<std::size_t>(chunk.item);
  const ShampooState& state = parameters_[i];
  const std::int64_t count = chunk.length;
  float* g = gradient(i) + chunk.offset;
  float* v = has_statistics(options_.graft) ? state.diagonal_statistics.read(nullptr) + chunk.offset : nullptr;
  const auto epsilon = static_cast<float>(values[kDiagonalEpsilon]);
  switch (options_.graft) {
    case Graft::sgd:
    case Graft::none:
      break;
    case Graft::adagrad:
    case Graft::adagrad_normalized:
      divide_by_root(g, v, count, scale, 1, 1, epsilon);
      break;
    case Graft::rmsprop:
    case Graft::rmsprop_normalized:
      divide_by_root(g, v, count, scale, static_cast<float>(values[kBeta2]),
                     static_cast<float>(added_weight(values[kBeta2])), epsilon);
      break;
    case Graft::sqrt_n:
      for (std::int64_t k = 0; k < count; ++k) g[k] = sign(g[k]);
      break;
    case Graft::adam: {
      float* m = state.diagonal_exp_avg.read(nullptr) + chunk.offset;
      const auto beta1 = static_cast<float>(values[kGraftBeta1]);
      const auto beta2 = static_cast<float>(values[kGraftBeta2]);
      const auto add1 = static_cast<float>(1 - values[kGraftBeta1]);
      const auto add2 = static_cast<float>(1 - values[kGraftBeta2]);
      const auto correct1 = static_cast<float>(corrected(values[kGraftBeta1], step_count()));
      const auto correct2 = static_cast<float>(corrected(values[kGraftBeta2], step_count()));
      for (std::int64_t k = 0; k < count; ++k) {
        m[k] = beta1 * m[k] + add1 * g[k];
        v[k] = beta2 * v[k] + add2 * (g[k] * g[k]);
        g[k] = m[k] * correct1 / (std::sqrt(v[k] * correct2) + epsilon);
      }
      break;
    }
  }
  *squares = sum_of_squares(g, count);
}

/// The delta takes the place of u.
void Shampoo::finish() {
  if (options_.momentum_coding == Coding::none) {
    const auto chunks = work().chunks();
    context()->parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
      const Chunk& chunk = chunks[static_cast<std::size_t>(c)];
      const auto i = static_cast<std::size_t>(chunk.item);
      if (!takes_part(i)) return;
      const ShampooState& state = parameters_[i];
      float* m = state.momentum.exists() ? state.momentum.read(nullptr) + chunk.offset : nullptr;
      float* n = state.diagonal_momentum.exists() ? state.diagonal_momentum.read(nullptr) + chunk.offset : nullptr;
      finish_range(i, chunk.offset, chunk.length, m, n);
    });
    return;
  }
  context()->parallel_for(static_cast<std::int64_t>(parameters_.size()), [&](std::int64_t i) {
    if (takes_part(static_cast<std::size_t>(i))) finish_coded(static_cast<std::size_t>(i));
  });
}

/// Codes of a column share a bucket over all rows, so a tensor is decoded and encoded as a whole.
void Shampoo::finish_coded(std::size_t i) {
  ShampooState& state = parameters_[i];
  const Workspaces::Lent workspace(workspaces_);
  const auto numbers = [](StateMatrix& matrix, AlignedVector<float>& scratch) -> float* {
    if (!matrix.exists()) return nullptr;
    return matrix.read(Workspace::resized(scratch, matrix.size()));
  };
  float* m = numbers(state.momentum, workspace->first);
  float* n = numbers(state.diagonal_momentum, workspace->second);
  finish_range(i, 0, schema()[i].size, m, n);
  if (m != nullptr) state.momentum.write(m);
  if (n != nullptr) state.diagonal_momentum.write(n);
}

/// momentum NULL = not preconditioned; diagonal_momentum NULL = the two share `momentum` (SQRT_N).
void Shampoo::finish_range(std::size_t i, std::int64_t begin, std::int64_t count, float* momentum,
                           float* diagonal_momentum) const {
  const ShampooState& state = parameters_[i];
  const auto values = values_of(i);
  const Scales& scales = scales_[i];
  const auto beta1 = static_cast<float>(values[kBeta1]);
  const float added = options_.moving_average ? static_cast<float>(1 - values[kBeta1]) : 1.0F;
  const auto rate = static_cast<float>(values[kLearningRate]);
  const auto decay = static_cast<float>(values[kWeightDecay]);
  const float coupled = options_.decoupled_decay ? 0.0F : decay;
  const float decoupled = options_.decoupled_decay ? rate * decay : 0.0F;
  const bool preconditions = state.preconditioned;
  const bool selects = preconditions && step_count() >= options_.start_step;
  const bool nesterov = options_.nesterov;
  float* u = gradient(i) + begin;
  const float* direction = preconditions ? preconditioned(i) + begin : nullptr;
  const float* p = values_[i] + begin;
  for (std::int64_t k = 0; k < count; ++k) {
    const float grafted = u[k] / scales.graft_divisor + coupled * p[k];
    float selected = grafted;
    float selected_momentum = 0;
    if (preconditions) {
      const float shampoo = direction[k] * scales.preconditioned + coupled * p[k];
      const float old = momentum[k];
      const float m = beta1 * old + added * shampoo;
      float n = 0;
      if (diagonal_momentum != nullptr) {
        n = diagonal_momentum[k] = beta1 * diagonal_momentum[k] + added * grafted;
        momentum[k] = m;
      } else {
        n = beta1 * old + added * grafted;
        momentum[k] = selects ? m : n;
      }
      selected = selects ? shampoo : grafted;
      selected_momentum = selects ? m : n;
    } else {
      float& only = diagonal_momentum != nullptr ? diagonal_momentum[k] : momentum[k];
      selected_momentum = only = beta1 * only + added * grafted;
    }
    const float step = nesterov ? added * selected + beta1 * selected_momentum : selected_momentum;
    u[k] = -rate * step - decoupled * p[k];
  }
}

/// Deltas to the host's updates, or onto its parameters.
void Shampoo::publish() {
  std::vector<CopyItem> items(parameters_.size());
  const bool in_place = updates().empty();
  WorkList moved;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::int64_t size = schema()[i].size;
    const bool skips = size == 0 || (in_place && !takes_part(i));
    moved.append(skips ? 0 : size);
    if (skips) continue;
    items[i].destination = in_place ? params()[i] : updates()[i];
    items[i].source.size = size;
    if (takes_part(i)) items[i].source = {gradient(i), size, DType::f32, 0, nullptr, nullptr};
  }
  if (in_place) {
    const auto chunks = work().chunks();
    context()->parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
      const Chunk& chunk = chunks[static_cast<std::size_t>(c)];
      const auto i = static_cast<std::size_t>(chunk.item);
      if (!takes_part(i)) return;
      float* delta = gradient(i) + chunk.offset;
      const float* p = values_[i] + chunk.offset;
      for (std::int32_t k = 0; k < chunk.length; ++k) delta[k] = p[k] + delta[k];
    });
  }
  context()->backend().copy(moved, items, 1, 1);
}

}  // namespace gradstep
