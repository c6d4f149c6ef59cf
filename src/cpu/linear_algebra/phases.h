// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the phases of a Shampoo step share on the CPU: the plan, the loops, the threads and their scratch. Blocks are
// tasks of their own, unless there are fewer of them than threads, and so are the chunks of whole tensors.
#pragma once

#include "backend/context.h"
#include "cpu/linear_algebra/arithmetic.h"
#include "cpu/linear_algebra/block_copies.h"
#include "cpu/linear_algebra/workspaces.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

/// From `offset` on, NULL if there is no such state. In the arithmetic of T or, if `is_narrow`, in bf16.
template <class T>
void* numbers_at(const StoredMatrix& state, std::int64_t offset, bool is_narrow) {
  if (!state.exists()) return nullptr;
  if (is_narrow) return state.as<kernels::BFloat16>() + offset;
  return state.as<T>() + offset;
}

/// Numbers of a tensor from `offset` on.
template <class T>
const T* at(const void* numbers, std::int64_t offset) {
  return static_cast<const T*>(numbers) + offset;
}
template <class T>
T* at(void* numbers, std::int64_t offset) {
  return static_cast<T*>(numbers) + offset;
}

struct Phases {
  Context& context;
  const Loops& loops;
  const Arithmetic& arithmetic;
  PreconditioningPlan plan = {};
  Workspaces workspaces = {};
  bool shares_blocks = false;  ///< all threads work on one block after the other

  /// How many blocks are under way at once.
  std::size_t tasks_of_blocks() const {
    return std::min(shares_blocks ? std::size_t{1} : context.width(), plan.own_blocks);
  }
  template <class T>
  Products<T> products(Workspace& workspace) const {
    return {arithmetic.dense.in<T>(), workspace.in<T>().packed, shares_blocks ? &context : nullptr};
  }

  /// A chunk of up to two states of a tensor, of which the second stream may be absent.
  template <class T>
  StateLists states_at(const PreconditioningStep& step, std::size_t tensor, std::int64_t offset,
                       const StoredMatrix& one, int stream_of_one, const StoredMatrix& other,
                       int stream_of_other) const {
    StateLists lists;
    lists.is_narrow = (one.exists() ? one : other).dtype == DType::bf16;
    lists.numbers[0] = numbers_at<T>(one, offset, lists.is_narrow);
    lists.numbers[1] = numbers_at<T>(other, offset, lists.is_narrow);
    lists.streams[0] = stream_of_one;
    lists.streams[1] = stream_of_other;
    lists.rounding = step.rounding(plan.tensors[tensor]);
    lists.first = offset;
    return lists;
  }

  const rules::ShampooConstants& constants(const PreconditioningStep& step, std::size_t tensor) const {
    return step.groups[static_cast<std::size_t>(plan.tensors[tensor].group)];
  }

  std::span<const FactorPlan> factors_of(const BlockPlan& block) const {
    return std::span(plan.factors).subspan(block.first_factor, block.factors);
  }

  /// For a new plan. Products of large blocks are shared where at most half the threads would have a block.
  void choose_sharing() {
    shares_blocks = 2 * plan.own_blocks <= context.width();
    for (const BlockPlan& block : std::span(plan.blocks).subspan(plan.first_own_block, plan.own_blocks)) {
      for (const FactorPlan& axis : factors_of(block)) {
        shares_blocks = shares_blocks &&
                        is_worth_sharing(contraction_product<float>(AxisLayout::last(axis.n, block.size / axis.n)));
      }
    }
  }

  /// body(0 of the tensor's arithmetic, block, workspace) for this rank's blocks of tensors that take part.
  template <class Body>
  void for_each_own_block(const PreconditioningStep& step, Body body) {
    const auto run = [&](std::int64_t at) {
      const BlockPlan& block = plan.blocks[plan.first_own_block + static_cast<std::size_t>(at)];
      if (!step.tensors[block.tensor].takes_part) return;
      const Workspaces::Lent workspace(workspaces);
      with_arithmetic(plan.tensors[block.tensor].is_wide(), [&](auto type) { body(type, block, *workspace); });
    };
    const auto blocks = static_cast<std::int64_t>(plan.own_blocks);
    if (!shares_blocks) return context.parallel_for(blocks, run);
    for (std::int64_t at = 0; at < blocks; ++at) run(at);
  }

  /// body(0 of the tensor's arithmetic, position, tensor, chunk) for all chunks.
  template <class Body>
  void for_each_chunk(Body body) {
    const std::span<const Chunk> chunks = plan.work->chunks();
    context.parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t c) {
      const auto at = static_cast<std::size_t>(c);
      const auto tensor = static_cast<std::size_t>(chunks[at].item);
      with_arithmetic(plan.tensors[tensor].is_wide(), [&](auto type) { body(type, at, tensor, chunks[at]); });
    });
  }
};

}  // namespace gradstep::cpu
