// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The eigenvalue-corrected mode: Adam in the eigenbasis of the statistics (SOAP; Vyas et al. 2024, algorithm 3). A
// parameter's first gradient only makes its basis. diagonal_exp_avg and diagonal_statistics are Adam's two moments in
// the basis of the step to come.
#include <algorithm>
#include <cmath>

#include "kernels/macros.h"
#include "optim/shampoo/shampoo.h"

namespace gradstep {

namespace {

/// Bias corrections come with the learning rate.
AdamConstants adam_constants(std::span<const double> values) {
  return {static_cast<float>(values[kBeta1]),
          static_cast<float>(values[kBeta2]),
          static_cast<float>(1 - values[kBeta1]),
          static_cast<float>(added_weight(values[kBeta2])),
          1,
          1,
          static_cast<float>(values[kDiagonalEpsilon])};
}

/// y = x with index order[j] of the middle axis at place j; both are (outer, n, inner).
void permute_axis(const float* x, const AxisView& axis, const float* order, float* y) {
  for (std::int64_t i = 0; i < axis.outer; ++i) {
    for (std::int64_t j = 0; j < axis.n; ++j) {
      const float* from = x + (i * axis.n + static_cast<std::int64_t>(order[j])) * axis.inner;
      std::copy_n(from, axis.inner, y + (i * axis.n + j) * axis.inner);
    }
  }
}

}  // namespace

void Shampoo::apply_in_eigenbases() {
  const bool statistics_due = step_count() % options_.statistics_steps == 0;
  const bool bases_due = step_count() % options_.root_steps == 0;
  bool any_new = false;
  for (std::size_t i = 0; i < parameters_.size(); ++i) any_new = any_new || (takes_part(i) && !parameters_[i].used);
  for_each_own_block([&](const BlockTask& task, Workspace& workspace) {
    if (parameters_[task.parameter].used) step_block(task, workspace);
  });
  const auto chunks = work().chunks();
  context()->parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(c)];
    const auto i = static_cast<std::size_t>(chunk.item);
    const ShampooState& state = parameters_[i];
    if (state.preconditioned || !state.used || !takes_part(i)) return;
    grafting_.adam(places_[i].gradient + chunk.offset, state.diagonal_exp_avg.read(nullptr) + chunk.offset,
                   state.diagonal_statistics.read(nullptr) + chunk.offset, preconditioned(i) + chunk.offset,
                   chunk.length, adam_constants(values_of(i)));
  });
  if (statistics_due || any_new) update_statistics();
  if (bases_due || any_new) refresh_preconditioners();
  finish_corrected();
}

/// Into the basis, a step of Adam, and back.
void Shampoo::step_block(const BlockTask& task, Workspace& workspace) {
  const ShampooState& state = parameters_[task.parameter];
  const Block& block = state.partition.blocks()[task.block];
  float* g = Workspace::resized(workspace.first, block.size);
  float* other = Workspace::resized(workspace.second, block.size);
  float* m = Workspace::resized(workspace.third, 2 * block.size);
  float* v = m + block.size;
  state.partition.read_block(places_[task.parameter].gradient, block, g);
  state.partition.read_block(state.diagonal_exp_avg.read(nullptr), block, m);
  state.partition.read_block(state.diagonal_statistics.read(nullptr), block, v);
  rotate(state, task.block, /*back=*/false, g, other);
  grafting_.adam(g, m, v, g, block.size, adam_constants(values_of(task.parameter)));
  rotate(state, task.block, /*back=*/true, g, other);
  state.partition.write_block(g, block, preconditioned(task.parameter));
  state.partition.write_block(m, block, state.diagonal_exp_avg.read(nullptr));
  state.partition.write_block(v, block, state.diagonal_statistics.read(nullptr));
}

/// x in the basis, or back from it. `other` is scratch of the same size, with which it may change places.
void Shampoo::rotate(const ShampooState& state, std::size_t block, bool back, float*& x, float*& other) const {
  for (const Factor& factor : state.factors_of(block)) {
    const AxisView axis = view_axis(state.partition.blocks()[block], factor.axis);
    dense_.contract_axis(x, axis.outer, axis.n, axis.inner, factor.preconditioner.read(nullptr), back, other);
    std::swap(x, other);
  }
}

/// The eigenvectors of a first statistic; later, one step of orthogonal iteration.
void Shampoo::refine_basis(const RootRound& round, RootTask& task, Workspace& workspace) {
  const Factor& factor = factor_of(task);
  const float* statistic = factor.statistic.read(nullptr);
  float* basis = round.numbers.as<float>() + task.offset;
  float* order = basis + task.n * task.n;
  RootSolver<double>& solver = workspace.roots;
  task.outcome = {};
  task.outcome.computed = true;
  if (parameters_[task.parameter].used) {
    task.outcome.accepted = solver.refine_basis(statistic, factor.preconditioner.read(nullptr), task.n, dense_, order);
  } else {
    task.outcome.accepted = solver.eigenvectors(statistic, task.n, task.recipe.options);
  }
  if (!task.outcome.accepted) return;
  for (std::int64_t k = 0; k < task.n * task.n; ++k) basis[k] = static_cast<float>(solver.root()[k]);
}

/// The moments of Adam follow their bases: the first by rotation, the second by the new order of the vectors.
void Shampoo::install_bases(const RootRound& round) {
  for (const RootTask& task : round.tasks) {
    if (task.outcome.computed) factor_of(task).record(task.outcome, task.recipe.threshold, round.step);
  }
  for_each_own_block([&](const BlockTask& task, Workspace& workspace) {
    ShampooState& state = parameters_[task.parameter];
    const Block& block = state.partition.blocks()[task.block];
    const bool moves = state.used;
    float* m = Workspace::resized(workspace.first, block.size);
    float* v = Workspace::resized(workspace.third, block.size);
    float* other = Workspace::resized(workspace.second, block.size);
    if (moves) {
      state.partition.read_block(state.diagonal_exp_avg.read(nullptr), block, m);
      state.partition.read_block(state.diagonal_statistics.read(nullptr), block, v);
      rotate(state, task.block, /*back=*/true, m, other);
    }
    for (Factor& factor : state.factors_of(task.block)) {
      if (!round.tasks[factor.task].outcome.accepted) continue;
      const float* basis = round.numbers.as<float>() + factor.offset;
      factor.preconditioner.write(basis);
      if (!moves) continue;
      permute_axis(v, view_axis(block, factor.axis), basis + factor.extent() * factor.extent(), other);
      std::swap(v, other);
    }
    if (!moves) return;
    rotate(state, task.block, /*back=*/false, m, other);
    state.partition.write_block(m, block, state.diagonal_exp_avg.read(nullptr));
    state.partition.write_block(v, block, state.diagonal_statistics.read(nullptr));
  });
}

/// Decay comes after the step, as in the source.
void Shampoo::finish_corrected() {
  const auto chunks = work().chunks();
  context()->parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(c)];
    const auto i = static_cast<std::size_t>(chunk.item);
    if (!takes_part(i)) return;
    const float* p = places_[i].value + chunk.offset;
    float* out = places_[i].outcome + chunk.offset;
    const bool adds = updates().empty();
    if (!parameters_[i].used) {
      for (std::int32_t k = 0; k < chunk.length; ++k) out[k] = adds ? p[k] : 0;
      return;
    }
    const auto values = values_of(i);
    const auto step = static_cast<double>(std::max<std::int64_t>(step_count(), 1));
    const double correction1 = 1 - std::pow(values[kBeta1], step);
    const double correction2 = values[kBeta2] == 1 ? 1 : 1 - std::pow(values[kBeta2], step);
    const auto scale = static_cast<float>(values[kLearningRate] * std::sqrt(correction2) / correction1);
    const auto decay = static_cast<float>(values[kLearningRate] * values[kWeightDecay]);
    const float* direction = preconditioned(i) + chunk.offset;
    // out may be p.
    GRADSTEP_INDEPENDENT
    for (std::int32_t k = 0; k < chunk.length; ++k) {
      const float moved = -scale * direction[k];
      const float delta = moved - decay * (p[k] + moved);
      out[k] = adds ? p[k] + delta : delta;
    }
  });
}

}  // namespace gradstep
