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

double corrected(double beta, std::int64_t step) { return 1 / (1 - Power()(beta, step + 1)); }

}  // namespace

/// Norms of all parameters from the squares of their chunks.
void Shampoo::fold(std::span<const double> partials, std::vector<double>& norms) const {
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const std::size_t count = first_chunk_[i + 1] - first_chunk_[i];
    norms[i] = std::sqrt(fold_partials(partials.subspan(first_chunk_[i], count)));
  }
}

/// The grafting direction u, the norms of it and of P(g), and the scales that follow from them.
void Shampoo::graft() {
  const auto chunks = work().chunks();
  const auto count = static_cast<std::int64_t>(chunks.size());
  const std::span<double> squares(squares_.data(), chunks.size());
  const std::span<double> preconditioned_squares(squares_.data() + chunks.size(), chunks.size());
  std::fill(scales_.begin(), scales_.end(), Scales{});
  if (is_normalized(options_.graft)) {
    context()->parallel_for(count, [&](std::int64_t c) {
      const auto at = static_cast<std::size_t>(c);
      const auto i = static_cast<std::size_t>(chunks[at].item);
      squares[at] =
          takes_part(i) ? grafting_.sum_of_squares(places_[i].gradient + chunks[at].offset, chunks[at].length) : 0;
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
      preconditioned_squares[at] = grafting_.sum_of_squares(preconditioned(i) + chunk.offset, chunk.length);
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
  const float* g = places_[i].gradient + chunk.offset;
  float* u = scratch(i) + chunk.offset;
  float* v = has_statistics(options_.graft) ? state.diagonal_statistics.read(nullptr) + chunk.offset : nullptr;
  const auto epsilon = static_cast<float>(values[kDiagonalEpsilon]);
  switch (options_.graft) {
    case Graft::sgd:
    case Graft::none:
      break;
    case Graft::adagrad:
    case Graft::adagrad_normalized:
      grafting_.divide_by_root(g, v, u, count, scale, 1, 1, epsilon);
      break;
    case Graft::rmsprop:
    case Graft::rmsprop_normalized:
      grafting_.divide_by_root(g, v, u, count, scale, static_cast<float>(values[kBeta2]),
                               static_cast<float>(added_weight(values[kBeta2])), epsilon);
      break;
    case Graft::sqrt_n:
      grafting_.take_signs(g, u, count);
      break;
    case Graft::adam: {
      float* m = state.diagonal_exp_avg.read(nullptr) + chunk.offset;
      const AdamConstants constants{static_cast<float>(values[kGraftBeta1]),
                                    static_cast<float>(values[kGraftBeta2]),
                                    static_cast<float>(1 - values[kGraftBeta1]),
                                    static_cast<float>(1 - values[kGraftBeta2]),
                                    static_cast<float>(corrected(values[kGraftBeta1], step_count())),
                                    static_cast<float>(corrected(values[kGraftBeta2], step_count())),
                                    epsilon};
      grafting_.adam(g, m, v, u, count, constants);
      break;
    }
  }
  *squares = grafting_.sum_of_squares(places_[i].direction + chunk.offset, count);
}

/// The momenta, and the outcome.
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
  const auto rate = static_cast<float>(values[kLearningRate]);
  const auto decay = static_cast<float>(values[kWeightDecay]);
  FinishConstants constants{};
  constants.beta1 = static_cast<float>(values[kBeta1]);
  constants.added = options_.moving_average ? static_cast<float>(1 - values[kBeta1]) : 1.0F;
  constants.preconditioned = scales.preconditioned;
  constants.graft_divisor = scales.graft_divisor;
  constants.coupled_decay = options_.decoupled_decay ? 0.0F : decay;
  constants.decoupled_decay = options_.decoupled_decay ? rate * decay : 0.0F;
  constants.rate = rate;
  constants.selects_preconditioned = step_count() >= options_.start_step;
  constants.nesterov = options_.nesterov;
  constants.adds = updates().empty();
  const Places& places = places_[i];
  grafting_.finish({places.direction + begin, state.preconditioned ? preconditioned(i) + begin : nullptr,
                    places.value + begin, momentum, diagonal_momentum, places.outcome + begin},
                   count, constants);
}

/// What could not be written in place is rounded into the host's parameters or updates. Updates of parameters that
/// took no part are zero.
void Shampoo::publish() {
  const bool in_place = updates().empty();
  std::vector<CopyItem> items(parameters_.size());
  WorkList copied;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Array& wanted = in_place ? params()[i] : updates()[i];
    const bool is_done = takes_part(i) ? places_[i].outcome == wanted.data : in_place;
    const std::int64_t size = is_done ? 0 : schema()[i].size;
    copied.append(size);
    if (size == 0) continue;
    items[i].destination = wanted;
    items[i].source.size = size;
    if (takes_part(i)) items[i].source = {places_[i].outcome, size, DType::f32, 0, nullptr, nullptr};
  }
  context()->backend().copy(copied, items, 1, 1);
}

}  // namespace gradstep
