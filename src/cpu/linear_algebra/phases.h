// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the phases of a Shampoo step share on the CPU: the plan, the loops, the threads and their scratch. Blocks are
// tasks of their own, as are the chunks of whole tensors.
#pragma once

#include "backend/context.h"
#include "cpu/linear_algebra/arithmetic.h"
#include "cpu/linear_algebra/workspaces.h"

namespace gradstep::cpu {

struct Phases {
  Context& context;
  const Arithmetic& arithmetic;
  PreconditioningPlan plan = {};
  Workspaces workspaces = {};

  Products<float> products(Workspace& workspace) const { return {arithmetic.dense.f32, workspace.packed}; }
  const GraftingLoops& loops() const { return arithmetic.grafting; }
  const CodingLoops& coding() const { return arithmetic.coding; }

  const kernels::ShampooConstants& constants(const PreconditioningStep& step, std::size_t tensor) const {
    return step.groups[static_cast<std::size_t>(plan.tensors[tensor].group)];
  }

  std::span<const FactorPlan> factors_of(const BlockPlan& block) const {
    return std::span(plan.factors).subspan(block.first_factor, block.factors);
  }

  /// body(block, workspace) for this rank's blocks of tensors that take part.
  template <class Body>
  void for_each_own_block(const PreconditioningStep& step, Body body) {
    context.parallel_for(static_cast<std::int64_t>(plan.own_blocks), [&](std::int64_t at) {
      const BlockPlan& block = plan.blocks[plan.first_own_block + static_cast<std::size_t>(at)];
      if (!step.tensors[block.tensor].takes_part) return;
      const Workspaces::Lent workspace(workspaces);
      body(block, *workspace);
    });
  }

  /// body(position, tensor, chunk) for all chunks.
  template <class Body>
  void for_each_chunk(Body body) {
    const std::span<const Chunk> chunks = plan.work->chunks();
    context.parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
      const auto at = static_cast<std::size_t>(c);
      body(at, static_cast<std::size_t>(chunks[at].item), chunks[at]);
    });
  }
};

}  // namespace gradstep::cpu
