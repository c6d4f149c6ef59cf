// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigenbases.h"

#include <algorithm>

#include "cpu/linear_algebra/block_copies.h"
#include "cpu/linear_algebra/stored_matrix.h"
#include "cpu/linear_algebra/turned_block.h"

namespace gradstep::cpu {

namespace {

/// y = x with index order[j] of the middle axis at place j; both are (outer, n, inner).
template <class T>
void permute_axis(const T* x, const FactorPlan& axis, const T* order, T* y) {
  for (std::int64_t i = 0; i < axis.outer; ++i) {
    for (std::int64_t j = 0; j < axis.n; ++j) {
      const T* from = x + (i * axis.n + static_cast<std::int64_t>(order[j])) * axis.inner;
      std::copy_n(from, axis.inner, y + (i * axis.n + j) * axis.inner);
    }
  }
}

}  // namespace

void Eigenbases::step(const PreconditioningStep& step) {
  phases_.for_each_own_block(step, [&](auto type, const BlockPlan& block, Workspace& workspace) {
    if (step.tensors[block.tensor].used) step_block<decltype(type)>(step, block, workspace);
  });
  phases_.for_each_chunk([&](auto type, std::size_t /*at*/, std::size_t i, const Chunk& chunk) {
    using T = decltype(type);
    const TensorPlan& plan = phases_.plan.tensors[i];
    const TensorStep& tensor = step.tensors[i];
    if (plan.preconditioned || !tensor.used || !tensor.takes_part) return;
    const DirectionArrays<T> arrays{
        at<T>(tensor.gradient, chunk.offset), at<T>(plan.preconditioned_gradient, chunk.offset),
        phases_.states_at<T>(step, i, chunk.offset, plan.diagonal_exp_avg, kDiagonalExpAvgStream,
                             plan.diagonal_statistics, kDiagonalStatisticsStream)};
    phases_.loops.graft<T>().write_direction(kernels::Graft::adam, phases_.constants(step, i).direction, 1, arrays,
                                             chunk.length);
  });
}

/// Into the basis, a step of Adam, and back.
template <class T>
void Eigenbases::step_block(const PreconditioningStep& step, const BlockPlan& block, Workspace& workspace) const {
  const TensorPlan& tensor = phases_.plan.tensors[block.tensor];
  Scratches<T>& scratches = workspace.in<T>();
  T* g = Workspace::resized(scratches.first, block.size);
  T* other = Workspace::resized(scratches.second, block.size);
  T* m = Workspace::resized(scratches.third, 2 * block.size);
  T* v = m + block.size;
  read_block(at<T>(step.tensors[block.tensor].gradient, 0), block, g);
  read_block(tensor.diagonal_exp_avg, block, m);
  read_block(tensor.diagonal_statistics, block, v);
  rotate(block, /*back=*/false, workspace, g, other);
  DirectionArrays<T> arrays{g, g, {}};
  arrays.states.numbers[0] = m;
  arrays.states.numbers[1] = v;
  phases_.loops.graft<T>().write_direction(kernels::Graft::adam, phases_.constants(step, block.tensor).direction, 1,
                                           arrays, block.size);
  rotate(block, /*back=*/true, workspace, g, other);
  const kernels::TensorRounding rounding = step.rounding(tensor);
  write_block(g, block, at<T>(tensor.preconditioned_gradient, 0));
  write_block(m, block, tensor.diagonal_exp_avg, rounding, kDiagonalExpAvgStream);
  write_block(v, block, tensor.diagonal_statistics, rounding, kDiagonalStatisticsStream);
}

/// x in the basis, or back from it. `other` is scratch of the same size, with which it may change places.
template <class T>
void Eigenbases::rotate(const BlockPlan& block, bool back, Workspace& workspace, T*& x, T*& other) const {
  TurnedBlock<T> turned(phases_.products<T>(workspace), x, other, block.size);
  for (const FactorPlan& axis : phases_.factors_of(block)) turned.contract(axis, axis.preconditioner.as<T>(), back);
  turned.turn(1);
  x = turned.x();
  other = turned.other();
}

void Eigenbases::install(const PreconditioningStep& step, std::span<const RootJob> jobs,
                         std::span<const RootRecord> records) {
  phases_.for_each_own_block(step, [&](auto type, const BlockPlan& block, Workspace& workspace) {
    install_block<decltype(type)>(step, block, jobs, records, workspace);
  });
}

template <class T>
void Eigenbases::install_block(const PreconditioningStep& step, const BlockPlan& block, std::span<const RootJob> jobs,
                               std::span<const RootRecord> records, Workspace& workspace) const {
  const TensorPlan& tensor = phases_.plan.tensors[block.tensor];
  Scratches<T>& scratches = workspace.in<T>();
  const bool moves = step.tensors[block.tensor].used;
  T* m = Workspace::resized(scratches.first, block.size);
  T* v = Workspace::resized(scratches.third, block.size);
  T* other = Workspace::resized(scratches.second, block.size);
  if (moves) {
    read_block(tensor.diagonal_exp_avg, block, m);
    read_block(tensor.diagonal_statistics, block, v);
    rotate(block, /*back=*/true, workspace, m, other);
  }
  for (const FactorPlan& axis : phases_.factors_of(block)) {
    if (!records[axis.job].accepted) continue;
    const T* basis = at<T>(jobs[axis.job].result, 0);
    write_matrix(phases_.loops, basis, axis.preconditioner);
    if (!moves) continue;
    permute_axis(v, axis, basis + axis.n * axis.n, other);
    std::swap(v, other);
  }
  if (!moves) return;
  rotate(block, /*back=*/false, workspace, m, other);
  const kernels::TensorRounding rounding = step.rounding(tensor);
  write_block(m, block, tensor.diagonal_exp_avg, rounding, kMovedExpAvgStream);
  write_block(v, block, tensor.diagonal_statistics, rounding, kMovedStatisticsStream);
}

/// A tensor's first gradient makes its bases and moves nothing.
void Eigenbases::finish(const PreconditioningStep& step) {
  phases_.for_each_chunk([&](auto type, std::size_t /*at*/, std::size_t i, const Chunk& chunk) {
    using T = decltype(type);
    const TensorStep& tensor = step.tensors[i];
    if (!tensor.takes_part) return;
    const rules::ShampooFinish<T>& constants = phases_.constants(step, i).template in<T>();
    const bool adds = constants.grafted.adds;
    const T* p = at<T>(tensor.value, chunk.offset);
    T* out = at<T>(tensor.outcome, chunk.offset);
    if (tensor.used) {
      phases_.loops.graft<T>().finish_corrected(at<T>(phases_.plan.tensors[i].preconditioned_gradient, chunk.offset), p,
                                                out, chunk.length, adds, constants.corrected);
    } else if (!adds) {
      std::fill_n(out, chunk.length, T{0});
    } else if (out != p) {
      std::copy_n(p, chunk.length, out);
    }
  });
}

}  // namespace gradstep::cpu
