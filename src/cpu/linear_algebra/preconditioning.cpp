// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/preconditioning.h"

#include <algorithm>
#include <cstring>

#include "cpu/instruction_set.h"
#include "cpu/linear_algebra/block_copies.h"
#include "cpu/linear_algebra/eigenbases.h"
#include "cpu/linear_algebra/grafting.h"
#include "cpu/linear_algebra/root_run.h"
#include "cpu/linear_algebra/stored_matrix.h"
#include "kernels/convert.h"
#include "kernels/stored.h"

namespace gradstep::cpu {

namespace {

/// A block's numbers, in its tensor or compact.
struct BlockNumbers {
  const float* first;
  bool is_in_tensor;

  AxisLayout layout(const BlockPlan& block, const FactorPlan& axis) const {
    return is_in_tensor ? layout_in_tensor(block, axis) : compact_layout(axis);
  }
};

/// A block's gradient where it is, or else a copy in workspace.first.
BlockNumbers load_block(const PreconditioningStep& step, const BlockPlan& block, Workspace& workspace) {
  const float* gradient = step.tensors[block.tensor].gradient;
  if (is_in_place(block)) return {gradient + block.first, true};
  float* copy = Workspace::resized(workspace.first, block.size);
  read_block(gradient, block, copy);
  return {copy, false};
}

/// Where a sum of squares on the diagonal is too large, its row and column become zeros beside the largest number. The
/// matrix stays positive semidefinite, and forgets as averages do. NaN stays, and its roots are refused.
void keep_finite(float* statistic, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    float& diagonal = statistic[i * n + i];
    if (!(diagonal > kernels::kLargestStored<float>)) continue;
    for (std::int64_t j = 0; j < n; ++j) statistic[i * n + j] = statistic[j * n + i] = 0;
    diagonal = kernels::kLargestStored<float>;
  }
}

class CpuPreconditioning final : public Preconditioning {
 public:
  CpuPreconditioning(Context& context, const Loops& loops)
      : phases_{context, loops, choose_arithmetic(loops)}, grafting_(phases_), bases_(phases_) {}

  const char* arithmetic() const override { return phases_.arithmetic.name; }
  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(phases_.workspaces.bytes() + grafting_.bytes());
  }

  void plan(PreconditioningPlan plan, Queue& /*queue*/) override {
    phases_.plan = std::move(plan);
    phases_.choose_sharing();
    reserve_scratch();
    grafting_.plan();
  }

  void follow_masters(const PreconditioningStep& step, Queue& /*queue*/) override;

  void update_statistics(const PreconditioningStep& step, bool only_new, Queue& /*queue*/) override {
    phases_.for_each_own_block(step, [&](const BlockPlan& block, Workspace& workspace) {
      if (only_new && step.tensors[block.tensor].used) return;
      update_statistics(step, block, load_block(step, block, workspace), workspace);
    });
  }

  void precondition(const PreconditioningStep& step, bool with_statistics, Queue& /*queue*/) override {
    phases_.for_each_own_block(step, [&](const BlockPlan& block, Workspace& workspace) {
      const BlockNumbers g = load_block(step, block, workspace);
      if (with_statistics) update_statistics(step, block, g, workspace);
      precondition(block, g, workspace);
    });
  }

  void spread_exchanged(const PreconditioningStep& step, Queue& /*queue*/) override {
    const std::vector<BlockPlan>& blocks = phases_.plan.blocks;
    phases_.context.parallel_for(static_cast<std::int64_t>(blocks.size()), [&](std::int64_t at) {
      const BlockPlan& block = blocks[static_cast<std::size_t>(at)];
      if (!step.tensors[block.tensor].takes_part) return;
      write_block(block.exchange, block, phases_.plan.tensors[block.tensor].preconditioned_gradient);
    });
  }

  void graft(const PreconditioningStep& step, Queue& /*queue*/) override { grafting_.graft(step); }
  void finish(const PreconditioningStep& step, Queue& /*queue*/) override { grafting_.finish(step); }

  void step_in_bases(const PreconditioningStep& step, Queue& /*queue*/) override { bases_.step(step); }
  void finish_in_bases(const PreconditioningStep& step, Queue& /*queue*/) override { bases_.finish(step); }

  void reserve_roots(std::span<const RootJob> jobs) override {
    cpu::reserve_roots(phases_.context, jobs, tools(), phases_.workspaces);
  }
  void refresh_roots(std::span<const RootJob> jobs, std::span<RootRecord> records, Queue& /*queue*/) override;
  std::unique_ptr<RootRun> make_root_run() override {
    has_runs_ = true;
    return std::make_unique<CpuRootRun>(phases_.context, phases_.loops, tools(), phases_.workspaces);
  }
  void install_roots(std::span<const RootJob> jobs, std::span<const RootRecord> records, Queue& /*queue*/) override {
    for (std::size_t at = 0; at < jobs.size(); ++at) {
      if (records[at].accepted && jobs[at].result != nullptr)
        write_matrix(phases_.loops, jobs[at].result, jobs[at].preconditioner);
    }
  }
  void install_bases(const PreconditioningStep& step, std::span<const RootJob> jobs,
                     std::span<const RootRecord> records, Queue& /*queue*/) override {
    bases_.install(step, jobs, records);
  }

 private:
  void reserve_scratch();
  RootTools tools() const { return {&phases_.arithmetic, phases_.context.lapack().get()}; }

  void update_statistics(const PreconditioningStep& step, const BlockPlan& block, const BlockNumbers& g,
                         Workspace& workspace) const;
  void precondition(const BlockPlan& block, BlockNumbers from, Workspace& workspace) const;

  Phases phases_;
  Grafting grafting_;
  Eigenbases bases_;
  bool has_runs_ = false;  // beside the steps there may be threads that compute roots
};

/// So that no step takes memory, whichever thread takes which block.
void CpuPreconditioning::reserve_scratch() {
  const PreconditioningPlan& plan = phases_.plan;
  std::int64_t block_size = 0;
  std::int64_t coded = 0;
  std::size_t packed = 0;
  const std::size_t width = phases_.shares_blocks ? phases_.context.width() : 1;
  for (const BlockPlan& block : std::span(plan.blocks).subspan(plan.first_own_block, plan.own_blocks)) {
    block_size = std::max(block_size, block.size);
    for (const FactorPlan& axis : phases_.factors_of(block)) {
      if (axis.statistic.is_coded()) coded = std::max(coded, axis.n * axis.n);
      const AxisLayout layout = compact_layout(axis);
      packed = std::max({packed, Products<float>::packed_size(statistic_product(layout), width),
                         Products<float>::packed_size(contraction_product(layout), width)});
    }
  }
  const auto beside = static_cast<std::size_t>(has_runs_ ? phases_.context.background().threads() : 0);
  const std::int64_t moments = plan.form.eigenvalue_corrected ? 2 * block_size : 0;
  phases_.workspaces.reserve(phases_.tasks_of_blocks() + beside, block_size, std::max(block_size, coded),
                             std::max(coded, moments), static_cast<std::int64_t>(packed));
}

void CpuPreconditioning::update_statistics(const PreconditioningStep& step, const BlockPlan& block,
                                           const BlockNumbers& g, Workspace& workspace) const {
  const rules::ShampooConstants& constants = phases_.constants(step, block.tensor);
  for (const FactorPlan& axis : phases_.factors_of(block)) {
    float* scratch = axis.statistic.is_coded() ? Workspace::resized(workspace.second, axis.n * axis.n) : nullptr;
    float* statistic = read_matrix(phases_.loops, axis.statistic, scratch);
    update_statistic(phases_.products(workspace), g.first, g.layout(block, axis), constants.keep, constants.add,
                     statistic);
    keep_finite(statistic, axis.n);
    write_matrix(phases_.loops, statistic, axis.statistic);
  }
}

/// Back and forth between two scratches; the first product reads where the gradient is, the last one writes where P(g)
/// is to be.
void CpuPreconditioning::precondition(const BlockPlan& block, BlockNumbers from, Workspace& workspace) const {
  float* tensor = phases_.plan.tensors[block.tensor].preconditioned_gradient;
  const bool ends_in_tensor = block.exchange == nullptr && is_in_place(block);
  float* scratches[] = {Workspace::resized(workspace.second, block.size),
                        Workspace::resized(workspace.first, block.size)};
  std::size_t next = 0;
  const std::span<const FactorPlan> axes = phases_.factors_of(block);
  for (const FactorPlan& axis : axes) {
    float* scratch = axis.preconditioner.is_coded() ? Workspace::resized(workspace.third, axis.n * axis.n) : nullptr;
    const float* root = read_matrix(phases_.loops, axis.preconditioner, scratch);
    const bool is_last = &axis == &axes.back();
    float* to = scratches[next];
    if (is_last && block.exchange != nullptr) to = block.exchange;
    if (is_last && ends_in_tensor) to = tensor + block.first;
    const BlockNumbers result{to, is_last && ends_in_tensor};
    contract_axis(phases_.products(workspace), from.first, from.layout(block, axis), root, /*by_columns=*/false, to,
                  result.layout(block, axis));
    from = result;
    next = 1 - next;
  }
  if (block.exchange == nullptr && !ends_in_tensor) write_block(from.first, block, tensor);
}

void CpuPreconditioning::refresh_roots(std::span<const RootJob> jobs, std::span<RootRecord> records, Queue& /*queue*/) {
  for (std::size_t at = 0; at < jobs.size(); ++at) records[at] = {};
  const auto is_due = [&](std::size_t at) { return jobs[at].action != RootAction::none; };
  for_each_due_job(phases_.context, jobs, tools(), is_due, [&](std::size_t at, const RootTools& tools) {
    const RootJob& job = jobs[at];
    RootRecord& record = records[at];
    const Workspaces::Lent workspace(phases_.workspaces);
    const std::int64_t count = job.n * job.n;
    float* scratch = job.statistic.is_coded() ? Workspace::resized(workspace->first, count) : nullptr;
    const float* statistic = read_matrix(phases_.loops, job.statistic, scratch);
    float* root = Workspace::resized(workspace->second, count);
    record = compute_root(statistic, job.n, job.recipe, tools, *workspace, root);
    if (record.accepted) write_matrix(phases_.loops, root, job.preconditioner);
  });
}

void CpuPreconditioning::follow_masters(const PreconditioningStep& step, Queue& /*queue*/) {
  phases_.for_each_chunk([&](std::size_t /*at*/, std::size_t i, const Chunk& chunk) {
    const TensorPlan& tensor = phases_.plan.tensors[i];
    if (tensor.master == nullptr) return;
    const bool is_half = tensor.dtype == DType::f16;
    const float* present = step.tensors[i].value + chunk.offset;
    float* own = tensor.master + chunk.offset;
    for (std::int32_t k = 0; k < chunk.length; ++k) {
      own[k] = is_half ? kernels::followed<kernels::Float16>(own[k], present[k])
                       : kernels::followed<kernels::BFloat16>(own[k], present[k]);
    }
  });
}

}  // namespace

std::unique_ptr<Preconditioning> make_preconditioning(Context& context, const Loops& loops) {
  return std::make_unique<CpuPreconditioning>(context, loops);
}

}  // namespace gradstep::cpu
