// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/block_dealing.h"

#include <algorithm>

#include "optim/assignment.h"

namespace gradstep {

namespace {

/// An eigendecomposition costs about this many n^3.
constexpr double kRootCost = 10;

BlockPlan plan_block(const Partition& partition, const Block& block) {
  BlockPlan plan;
  plan.size = block.size;
  plan.extents = block.extents;
  plan.strides = partition.strides();
  for (std::size_t axis = 0; axis < block.begin.size(); ++axis) plan.first += block.begin[axis] * plan.strides[axis];
  return plan;
}

}  // namespace

void BlockDealing::plan(const Site& site, std::span<const ShampooState> states, const ShampooRanks& ranks) {
  tasks_.clear();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!states[i].preconditioned) continue;
    for (std::size_t b = 0; b < states[i].partition.blocks().size(); ++b) {
      tasks_.push_back({i, b, states[i].cost_of_steps(b), std::max(states[i].owner(b), 0)});
    }
  }
  std::stable_sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
    return a.owner != b.owner ? a.owner < b.owner : a.cost > b.cost;
  });
  exchanges_ = ranks.owns_blocks;
  exchange_bytes_.assign(static_cast<std::size_t>(ranks.count()), 0);
  own_ = {};
  const std::int64_t unit = number_unit(states);
  std::int64_t offset = 0;
  for (std::size_t at = 0; at < tasks_.size(); ++at) {
    Task& task = tasks_[at];
    const std::int64_t size = states[task.parameter].partition.blocks()[task.block].size;
    const std::int64_t bytes = whole_units(size * size_of(states[task.parameter].arithmetic), unit);
    task.offset = offset;
    offset += bytes;
    exchange_bytes_[static_cast<std::size_t>(task.owner)] += bytes;
    const bool is_own = !exchanges_ || task.owner == ranks.rank();
    if (is_own && own_.count++ == 0) own_.begin = at;
  }
  site.fit(exchange_, exchanges_ ? offset : 0, /*zeroed=*/true);
}

void BlockDealing::gather(Communicator& comm, DataPlane& data) const {
  const std::int64_t own = own_.count > 0 ? tasks_[own_.begin].offset : 0;
  const Deadline deadline = comm.deadline();
  data.all_gather_v(exchange_.as<std::byte>() + own, exchange_.data(), exchange_bytes_, deadline);
  data.settle(deadline);
}

std::vector<std::vector<std::int32_t>> assign_blocks(const ShampooOptions& options,
                                                     std::span<const ShampooState> states, std::int32_t ranks) {
  std::vector<double> costs;
  for (const ShampooState& state : states) {
    for (std::size_t b = 0; b < state.block_count(); ++b) {
      costs.push_back(kRootCost * state.cost_of_roots(b) / static_cast<double>(options.root_steps) +
                      state.cost_of_steps(b));
    }
  }
  const std::vector<std::int32_t> owners = assign_longest_first(costs, ranks);
  auto owner = owners.begin();
  std::vector<std::vector<std::int32_t>> by_parameter;
  for (const ShampooState& state : states) {
    const auto count = static_cast<std::ptrdiff_t>(state.block_count());
    by_parameter.emplace_back(owner, owner + count);
    owner += count;
  }
  return by_parameter;
}

PreconditioningPlan plan_preconditioning(const ShampooOptions& options, const Schema& schema, const WorkList& work,
                                         std::span<const ShampooState> states, const BlockDealing& blocks,
                                         FunctionRef<StepScratch(std::size_t)> scratch_of) {
  PreconditioningPlan plan;
  plan.form = options.form;
  plan.products = options.products;
  plan.work = &work;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const ShampooState& state = states[i];
    const StepScratch scratch = scratch_of(i);
    TensorPlan tensor;
    tensor.size = schema[i].size;
    tensor.group = schema[i].group;
    tensor.dtype = schema[i].dtype;
    tensor.preconditioned = state.preconditioned;
    tensor.momentum = state.matrix(kMomentum);
    tensor.diagonal_momentum = state.matrix(kDiagonalMomentum);
    tensor.diagonal_statistics = state.matrix(kDiagonalStatistics);
    tensor.diagonal_exp_avg = state.matrix(kDiagonalExpAvg);
    tensor.master = state.master();
    tensor.direction = scratch.direction;
    tensor.preconditioned_gradient = scratch.preconditioned;
    tensor.random_key = random_key(schema[i].name, options.storage.seed);
    plan.tensors.push_back(tensor);
  }
  for (const BlockDealing::Task& task : blocks.tasks()) {
    const ShampooState& state = states[task.parameter];
    const Block& block = state.partition.blocks()[task.block];
    BlockPlan& planned = plan.blocks.emplace_back(plan_block(state.partition, block));
    planned.tensor = task.parameter;
    planned.first_factor = plan.factors.size();
    planned.exchange = blocks.exchange(task);
    for (std::size_t k = task.block * state.axes.size(); k < (task.block + 1) * state.axes.size(); ++k) {
      const AxisView axis = view_axis(block, state.factors[k].axis);
      plan.factors.push_back({axis.outer, axis.n, axis.inner, state.statistic(k).matrix(),
                              state.preconditioner(k).matrix(), state.factors[k].task});
    }
    planned.factors = plan.factors.size() - planned.first_factor;
  }
  plan.first_own_block = blocks.own().begin;
  plan.own_blocks = blocks.own().count;
  return plan;
}

}  // namespace gradstep
