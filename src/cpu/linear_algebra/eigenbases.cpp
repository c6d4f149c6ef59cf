// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/eigenbases.h"

#include <algorithm>

#include "cpu/linear_algebra/block_copies.h"
#include "cpu/linear_algebra/stored_matrix.h"

namespace gradstep::cpu {

namespace {

/// y = x with index order[j] of the middle axis at place j; both are (outer, n, inner).
void permute_axis(const float* x, const FactorPlan& axis, const float* order, float* y) {
  for (std::int64_t i = 0; i < axis.outer; ++i) {
    for (std::int64_t j = 0; j < axis.n; ++j) {
      const float* from = x + (i * axis.n + static_cast<std::int64_t>(order[j])) * axis.inner;
      std::copy_n(from, axis.inner, y + (i * axis.n + j) * axis.inner);
    }
  }
}

}  // namespace

void Eigenbases::step(const PreconditioningStep& step) {
  phases_.for_each_own_block(step, [&](const BlockPlan& block, Workspace& workspace) {
    if (step.tensors[block.tensor].used) step_block(step, block, workspace);
  });
  phases_.for_each_chunk([&](std::size_t /*at*/, std::size_t i, const Chunk& chunk) {
    const TensorPlan& plan = phases_.plan.tensors[i];
    const TensorStep& tensor = step.tensors[i];
    if (plan.preconditioned || !tensor.used || !tensor.takes_part) return;
    const DirectionArrays arrays{
        tensor.gradient + chunk.offset,
        plan.preconditioned_gradient + chunk.offset,
        {numbers_at(plan.diagonal_exp_avg, chunk.offset), numbers_at(plan.diagonal_statistics, chunk.offset)}};
    phases_.loops.write_direction(kernels::Graft::adam, phases_.constants(step, i).direction, 1, arrays, chunk.length);
  });
}

/// Into the basis, a step of Adam, and back.
void Eigenbases::step_block(const PreconditioningStep& step, const BlockPlan& block, Workspace& workspace) const {
  const TensorPlan& tensor = phases_.plan.tensors[block.tensor];
  float* g = Workspace::resized(workspace.first, block.size);
  float* other = Workspace::resized(workspace.second, block.size);
  float* m = Workspace::resized(workspace.third, 2 * block.size);
  float* v = m + block.size;
  read_block(step.tensors[block.tensor].gradient, block, g);
  read_block(tensor.diagonal_exp_avg.floats(), block, m);
  read_block(tensor.diagonal_statistics.floats(), block, v);
  rotate(block, /*back=*/false, workspace, g, other);
  phases_.loops.write_direction(kernels::Graft::adam, phases_.constants(step, block.tensor).direction, 1,
                                {g, g, {m, v}}, block.size);
  rotate(block, /*back=*/true, workspace, g, other);
  write_block(g, block, tensor.preconditioned_gradient);
  write_block(m, block, tensor.diagonal_exp_avg.floats());
  write_block(v, block, tensor.diagonal_statistics.floats());
}

/// x in the basis, or back from it. `other` is scratch of the same size, with which it may change places.
void Eigenbases::rotate(const BlockPlan& block, bool back, Workspace& workspace, float*& x, float*& other) const {
  for (const FactorPlan& axis : phases_.factors_of(block)) {
    const AxisLayout layout = compact_layout(axis);
    contract_axis(phases_.products(workspace), x, layout, axis.preconditioner.floats(), back, other, layout);
    std::swap(x, other);
  }
}

void Eigenbases::install(const PreconditioningStep& step, std::span<const RootJob> jobs,
                         std::span<const RootRecord> records) {
  phases_.for_each_own_block(step, [&](const BlockPlan& block, Workspace& workspace) {
    const TensorPlan& tensor = phases_.plan.tensors[block.tensor];
    const bool moves = step.tensors[block.tensor].used;
    float* m = Workspace::resized(workspace.first, block.size);
    float* v = Workspace::resized(workspace.third, block.size);
    float* other = Workspace::resized(workspace.second, block.size);
    if (moves) {
      read_block(tensor.diagonal_exp_avg.floats(), block, m);
      read_block(tensor.diagonal_statistics.floats(), block, v);
      rotate(block, /*back=*/true, workspace, m, other);
    }
    for (const FactorPlan& axis : phases_.factors_of(block)) {
      if (!records[axis.job].accepted) continue;
      const float* basis = jobs[axis.job].result;
      write_matrix(phases_.loops, basis, axis.preconditioner);
      if (!moves) continue;
      permute_axis(v, axis, basis + axis.n * axis.n, other);
      std::swap(v, other);
    }
    if (!moves) return;
    rotate(block, /*back=*/false, workspace, m, other);
    write_block(m, block, tensor.diagonal_exp_avg.floats());
    write_block(v, block, tensor.diagonal_statistics.floats());
  });
}

/// A tensor's first gradient makes its bases and moves nothing.
void Eigenbases::finish(const PreconditioningStep& step) {
  phases_.for_each_chunk([&](std::size_t /*at*/, std::size_t i, const Chunk& chunk) {
    const TensorStep& tensor = step.tensors[i];
    if (!tensor.takes_part) return;
    const rules::ShampooConstants& constants = phases_.constants(step, i);
    const bool adds = constants.finish.adds;
    const float* p = tensor.value + chunk.offset;
    float* out = tensor.outcome + chunk.offset;
    if (tensor.used) {
      phases_.loops.finish_corrected(phases_.plan.tensors[i].preconditioned_gradient + chunk.offset, p, out,
                                     chunk.length, adds, constants.corrected);
    } else if (!adds) {
      std::fill_n(out, chunk.length, 0.0F);
    } else if (out != p) {
      std::copy_n(p, chunk.length, out);
    }
  });
}

}  // namespace gradstep::cpu
