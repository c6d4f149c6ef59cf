// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the phases of a Shampoo step share on the CPU: the plan, the loops, the threads and their scratch. Chunks of
// whole tensors are tasks of threads, and so are blocks. Threads share the products of blocks that are large beside the
// others.
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
  std::size_t shared_count = 0;  ///< this rank's first blocks, whose products threads share, block after block
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
    if (workspace.shared != nullptr) return {arithmetic.dense.in<T>(), workspace.shared->in<T>(), &context};
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

  /// Returns a number in proportion to the operations of a block's products.
  double work_on(const BlockPlan& block) const {
    std::int64_t lengths = 0;
    for (const FactorPlan& axis : factors_of(block)) lengths += axis.n;
    return static_cast<double>(block.size) * static_cast<double>(lengths);
  }

  /// How many threads get a part of the products over a block's longest axis.
  std::int64_t threads_for(const BlockPlan& block) const {
    std::int64_t longest = 1;
    for (const FactorPlan& axis : factors_of(block)) longest = std::max(longest, axis.n);
    if (!is_worth_sharing(contraction_product<float>(AxisLayout::last(longest, block.size / longest)))) return 1;
    return std::clamp<std::int64_t>(longest / kLeastPart, 1, static_cast<std::int64_t>(context.width()));
  }

  /// Chooses, for a new plan, how many of its first blocks are shared: so many that a step takes the least time by this
  /// model. Blocks come largest first. Shared ones come one after the other. The rest takes as long as its largest
  /// block, or as an equal share of its work if that is longer.
  void choose_sharing() {
    constexpr double kEfficiency = 0.75;  // of threads that share
    double rest = 0;
    for (const BlockPlan& block : own_blocks()) rest += work_on(block);
    double least = std::numeric_limits<double>::infinity();
    double shared = 0;
    for (std::size_t count = 0; count <= plan.own_blocks; ++count) {
      const bool is_all = count == plan.own_blocks;
      const double largest = is_all ? 0 : work_on(own_blocks()[count]);
      const double time = shared + std::max(largest, rest / static_cast<double>(context.width()));
      if (time < least) {
        least = time;
        shared_count = count;
      }
      if (is_all) break;
      shared += largest / (kEfficiency * static_cast<double>(threads_for(own_blocks()[count])));
      rest -= largest;
    }
  }

  /// body(0 of the tensor's arithmetic, block, workspace) for this rank's blocks of tensors that take part.
  template <class Body>
  void for_each_own_block(const PreconditioningStep& step, Body body) {
    const auto run = [&](const BlockPlan& block, SharedScratch* shared) {
      if (!step.tensors[block.tensor].takes_part) return;
      const Workspaces::Lent workspace(workspaces);
      workspace->shared = shared;
      with_arithmetic(plan.tensors[block.tensor].is_wide(), [&](auto type) { body(type, block, *workspace); });
      workspace->shared = nullptr;
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
