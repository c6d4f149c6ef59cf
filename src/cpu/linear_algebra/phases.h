// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the phases of a Shampoo step share on the CPU: the plan, the loops, the threads and their scratch. Chunks of
// whole tensors are tasks, and so are blocks, but for those that are too large beside the others: threads share their
// products.
#pragma once

#include <algorithm>
#include <limits>

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
  std::size_t shared_count = 0;  ///< of this rank's blocks, the first ones: all threads work on one after the other
  SharedScratch shared_scratch = {};

  std::span<const BlockPlan> own_blocks() const {
    return std::span(plan.blocks).subspan(plan.first_own_block, plan.own_blocks);
  }
  std::span<const BlockPlan> shared_blocks() const { return own_blocks().first(shared_count); }
  std::span<const BlockPlan> blocks_of_tasks() const { return own_blocks().subspan(shared_count); }
  /// How many blocks are under way at once.
  std::size_t tasks_of_blocks() const {
    const std::size_t least = shared_count > 0 ? 1 : 0;
    return std::max(least, std::min(context.width(), blocks_of_tasks().size()));
  }
  template <class T>
  Products<T> products(Workspace& workspace) const {
    SharedScratch* of_all = workspace.of_all_threads;
    if (of_all != nullptr) return {arithmetic.dense.in<T>(), of_all->in<T>(), &context};
    return {arithmetic.dense.in<T>(), workspace.in<T>().packed};
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

  /// How many operations a block's products take, but for a factor.
  double work_on(const BlockPlan& block) const {
    std::int64_t lengths = 0;
    for (const FactorPlan& axis : factors_of(block)) lengths += axis.n;
    return static_cast<double>(block.size) * static_cast<double>(lengths);
  }
  /// How many threads find a part in products of its longest axis.
  double threads_for(const BlockPlan& block) const {
    std::int64_t longest = 1;
    for (const FactorPlan& axis : factors_of(block)) longest = std::max(longest, axis.n);
    const bool is_large = is_worth_sharing(contraction_product<float>(AxisLayout::last(longest, block.size / longest)));
    return is_large ? static_cast<double>(std::min(static_cast<std::int64_t>(context.width()),
                                                   std::max<std::int64_t>(1, longest / kLeastPart)))
                    : 1;
  }

  /// For a new plan, whose blocks come largest first: so many are shared that all take the least time. Sharing costs a
  /// quarter of it. A block that is not shared takes one thread.
  void choose_sharing() {
    const std::span<const BlockPlan> blocks = own_blocks();
    double rest = 0;
    for (const BlockPlan& block : blocks) rest += work_on(block);
    double shared = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t count = 0; count <= blocks.size(); ++count) {
      const double next = count < blocks.size() ? work_on(blocks[count]) : 0;
      const double all = shared + std::max(next, rest / static_cast<double>(context.width()));
      if (all < least) {
        least = all;
        shared_count = count;
      }
      if (count < blocks.size()) shared += next / (0.75 * threads_for(blocks[count]));
      rest -= next;
    }
  }

  /// body(0 of the tensor's arithmetic, block, workspace) for this rank's blocks of tensors that take part.
  template <class Body>
  void for_each_own_block(const PreconditioningStep& step, Body body) {
    const auto run = [&](const BlockPlan& block, SharedScratch* of_all_threads) {
      if (!step.tensors[block.tensor].takes_part) return;
      const Workspaces::Lent workspace(workspaces);
      workspace->of_all_threads = of_all_threads;
      with_arithmetic(plan.tensors[block.tensor].is_wide(), [&](auto type) { body(type, block, *workspace); });
      workspace->of_all_threads = nullptr;
    };
    for (const BlockPlan& block : shared_blocks()) run(block, &shared_scratch);
    const std::span<const BlockPlan> tasks = blocks_of_tasks();
    context.parallel_for(static_cast<std::int64_t>(tasks.size()),
                         [&](std::int64_t at) { run(tasks[static_cast<std::size_t>(at)], nullptr); });
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
