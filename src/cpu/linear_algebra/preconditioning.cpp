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
#include "cpu/linear_algebra/turned_block.h"
#include "kernels/convert.h"
#include "kernels/stored.h"

namespace gradstep::cpu {

namespace {

/// A block's numbers, in its tensor or compact.
template <class T>
struct BlockNumbers {
  const T* first;
  bool is_in_tensor;

  AxisLayout layout(const BlockPlan& block, const FactorPlan& axis) const {
    return is_in_tensor ? layout_in_tensor(block, axis) : compact_layout(axis);
  }
};

/// A block's numbers as an axis lies among them.
template <class T>
struct AxisNumbers {
  const T* first;
  AxisLayout layout;
};

/// Whether the statistic of an axis, as its block lies, is a sum of many products of little depth.
bool is_better_first(const FactorPlan& axis) { return axis.outer > 1 && axis.inner > 1 && axis.inner < kProductDepth; }

/// A block's gradient where it is, or else a copy in the first scratch.
template <class T>
BlockNumbers<T> load_block(const PreconditioningStep& step, const BlockPlan& block, Workspace& workspace) {
  const T* gradient = at<T>(step.tensors[block.tensor].gradient, 0);
  if (is_in_place(block)) return {gradient + block.first, true};
  T* copy = Workspace::resized(workspace.in<T>().first, block.size);
  read_block(gradient, block, copy);
  return {copy, false};
}

/// Where a sum of squares on the diagonal is too large, its row and column become zeros beside the largest number. The
/// matrix stays positive semidefinite, and forgets as averages do. NaN stays, and its roots are refused.
template <class T>
void keep_finite(T* statistic, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    T& diagonal = statistic[i * n + i];
    if (!(diagonal > kernels::kLargestStored<T>)) continue;
    for (std::int64_t j = 0; j < n; ++j) statistic[i * n + j] = statistic[j * n + i] = 0;
    diagonal = kernels::kLargestStored<T>;
  }
}

class CpuPreconditioning final : public Preconditioning {
 public:
  CpuPreconditioning(Context& context, const Loops& loops)
      : phases_{context, loops, choose_arithmetic(loops)}, grafting_(phases_), bases_(phases_) {}

  const char* arithmetic() const override { return phases_.arithmetic.name; }
  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(phases_.workspaces.bytes() + phases_.shared_scratch.bytes() + grafting_.bytes());
  }

  void plan(PreconditioningPlan plan, Queue& /*queue*/) override {
    phases_.plan = std::move(plan);
    phases_.choose_sharing();
    reserve_scratch();
    grafting_.plan();
  }

  void follow_masters(const PreconditioningStep& step, Queue& /*queue*/) override;

  void update_statistics(const PreconditioningStep& step, bool only_new, Queue& /*queue*/) override {
    phases_.for_each_own_block(step, [&](auto type, const BlockPlan& block, Workspace& workspace) {
      if (only_new && step.tensors[block.tensor].used) return;
      update_statistics(step, block, load_block<decltype(type)>(step, block, workspace), workspace);
    });
  }

  void precondition(const PreconditioningStep& step, bool with_statistics, Queue& /*queue*/) override {
    const bool is_kl = phases_.plan.form.is_kl();
    phases_.for_each_own_block(step, [&](auto type, const BlockPlan& block, Workspace& workspace) {
      auto g = load_block<decltype(type)>(step, block, workspace);
      if (with_statistics) update_statistics(step, block, g, workspace);
      if (with_statistics && is_kl) g = load_block<decltype(type)>(step, block, workspace);
      if (g.is_in_tensor) {
        precondition_in_place(block, g, workspace);
      } else {
        precondition_copy<decltype(type)>(block, workspace);
      }
    });
  }

  void spread_exchanged(const PreconditioningStep& step, Queue& /*queue*/) override {
    const std::vector<BlockPlan>& blocks = phases_.plan.blocks;
    phases_.context.parallel_for(static_cast<std::int64_t>(blocks.size()), [&](std::int64_t b) {
      const BlockPlan& block = blocks[static_cast<std::size_t>(b)];
      if (!step.tensors[block.tensor].takes_part) return;
      const TensorPlan& tensor = phases_.plan.tensors[block.tensor];
      with_arithmetic(tensor.is_wide(), [&](auto type) {
        using T = decltype(type);
        write_block<T>(at<T>(block.exchange, 0), block, at<T>(tensor.preconditioned_gradient, 0));
      });
    });
  }

  void graft(const PreconditioningStep& step, Queue& /*queue*/) override { grafting_.graft(step); }
  void finish(const PreconditioningStep& step, Queue& /*queue*/) override { grafting_.finish(step); }

  void step_in_bases(const PreconditioningStep& step, Queue& /*queue*/) override { bases_.step(step); }
  void finish_in_bases(const PreconditioningStep& step, Queue& /*queue*/) override { bases_.finish(step); }

  void reserve_roots(std::span<const RootJob> jobs) override {
    cpu::reserve_roots(phases_.context, jobs, tools(), phases_.workspaces);
    reserve_scratch();  // workspaces that were added for roots serve blocks, too
  }
  void refresh_roots(std::span<const RootJob> jobs, std::span<RootRecord> records, Queue& /*queue*/) override;
  std::unique_ptr<RootRun> make_root_run() override {
    has_runs_ = true;
    return std::make_unique<CpuRootRun>(phases_.context, phases_.loops, tools(), phases_.workspaces);
  }
  void install_roots(std::span<const RootJob> jobs, std::span<const RootRecord> records, Queue& /*queue*/) override {
    for (std::size_t at = 0; at < jobs.size(); ++at) {
      if (!records[at].accepted || jobs[at].result == nullptr) continue;
      with_arithmetic(jobs[at].is_wide(), [&](auto type) {
        write_matrix(phases_.loops, static_cast<const decltype(type)*>(jobs[at].result), jobs[at].preconditioner);
      });
    }
  }
  void install_bases(const PreconditioningStep& step, std::span<const RootJob> jobs,
                     std::span<const RootRecord> records, Queue& /*queue*/) override {
    bases_.install(step, jobs, records);
  }

 private:
  void reserve_scratch();
  RootTools tools() const { return {&phases_.arithmetic, phases_.context.lapack().get()}; }

  template <class T>
  ScratchSizes sizes_of_scratch() const;
  template <class T>
  std::int64_t packed_size(std::span<const BlockPlan> blocks, std::size_t width) const;
  template <class T>
  void update_statistics(const PreconditioningStep& step, const BlockPlan& block, const BlockNumbers<T>& g,
                         Workspace& workspace) const;
  template <class T>
  const T* read_preconditioner(const FactorPlan& axis, Workspace& workspace) const;
  template <class T>
  AxisNumbers<T> along(const BlockPlan& block, const FactorPlan& axis, const BlockNumbers<T>& g,
                       Workspace& workspace) const;
  template <class T>
  AxisNumbers<T> contract_others(const BlockPlan& block, const FactorPlan& axis, const BlockNumbers<T>& g,
                                 Workspace& workspace) const;
  template <class T>
  BlockNumbers<T> contract(const BlockPlan& block, const FactorPlan& axis, const BlockNumbers<T>& from, T* to,
                           bool ends_in_tensor, Workspace& workspace) const;
  template <class T>
  TurnedBlock<T> turned(const BlockPlan& block, Workspace& workspace) const;
  template <class T>
  void precondition_in_place(const BlockPlan& block, BlockNumbers<T> from, Workspace& workspace) const;
  template <class T>
  void precondition_copy(const BlockPlan& block, Workspace& workspace) const;
  template <class T>
  void refresh_root(const RootJob& job, const RootTools& tools, RootRecord& record);

  Phases phases_;
  Grafting grafting_;
  Eigenbases bases_;
  bool has_runs_ = false;  // beside the steps there may be threads that compute roots
};

/// So that no step takes memory, whichever thread takes which block.
void CpuPreconditioning::reserve_scratch() {
  const auto beside = static_cast<std::size_t>(has_runs_ ? phases_.context.background().threads() : 0);
  phases_.workspaces.reserve(phases_.tasks_of_blocks() + beside, sizes_of_scratch<float>(), sizes_of_scratch<double>());
  const std::size_t width = phases_.context.width();
  grow(phases_.shared_scratch.f32, packed_size<float>(phases_.shared_blocks(), width));
  grow(phases_.shared_scratch.f64, packed_size<double>(phases_.shared_blocks(), width));
}

/// Numbers that products of these blocks pack operands into, where `width` threads share them.
template <class T>
std::int64_t CpuPreconditioning::packed_size(std::span<const BlockPlan> blocks, std::size_t width) const {
  std::size_t packed = 0;
  for (const BlockPlan& block : blocks) {
    if (phases_.plan.tensors[block.tensor].is_wide() != kernels::kIsWide<T>) continue;
    for (const FactorPlan& axis : phases_.factors_of(block)) {
      const std::int64_t others = block.size / axis.n;
      for (const AxisLayout& layout :
           {compact_layout(axis), AxisLayout::first(axis.n, others), AxisLayout::last(axis.n, others)}) {
        packed = std::max({packed, Products<T>::packed_size(statistic_product<T>(layout), width),
                           Products<T>::packed_size(contraction_product<T>(layout), width)});
      }
    }
  }
  return static_cast<std::int64_t>(packed);
}

/// For the blocks in the arithmetic of T.
template <class T>
ScratchSizes CpuPreconditioning::sizes_of_scratch() const {
  const PreconditioningPlan& plan = phases_.plan;
  std::int64_t block_size = 0;
  std::int64_t coded = 0;
  std::int64_t turned = 0;
  for (const BlockPlan& block : phases_.own_blocks()) {
    if (plan.tensors[block.tensor].is_wide() != kernels::kIsWide<T>) continue;
    block_size = std::max(block_size, block.size);
    for (const FactorPlan& axis : phases_.factors_of(block)) {
      if (axis.statistic.is_coded()) coded = std::max(coded, axis.n * axis.n);
      if (is_better_first(axis) && !plan.form.is_kl()) turned = std::max(turned, block.size);
    }
  }
  const std::int64_t moments = plan.form.eigenvalue_corrected ? 2 * block_size : 0;
  return {block_size, std::max(block_size, coded), std::max({coded, moments, turned}),
          packed_size<T>(phases_.blocks_of_tasks(), 1)};
}

/// What is in the first scratch is lost under KL.
template <class T>
void CpuPreconditioning::update_statistics(const PreconditioningStep& step, const BlockPlan& block,
                                           const BlockNumbers<T>& g, Workspace& workspace) const {
  const rules::ShampooConstants& constants = phases_.constants(step, block.tensor);
  const rules::ShampooForm& form = phases_.plan.form;
  for (const FactorPlan& axis : phases_.factors_of(block)) {
    const AxisNumbers<T> x = form.is_kl()
                                 ? contract_others(block, axis, load_block<T>(step, block, workspace), workspace)
                                 : along(block, axis, g, workspace);
    AlignedVector<T>& room = form.is_kl() ? workspace.in<T>().third : workspace.in<T>().second;
    T* scratch = axis.statistic.is_coded() ? Workspace::resized(room, axis.n * axis.n) : nullptr;
    T* statistic = read_matrix(phases_.loops, axis.statistic, scratch);
    const double add = constants.add * weight_of_product(form, block.size, axis.n);
    update_statistic(phases_.products<T>(workspace), x.first, x.layout, static_cast<T>(constants.keep),
                     static_cast<T>(add), statistic);
    keep_finite(statistic, axis.n);
    write_matrix<T>(phases_.loops, statistic, axis.statistic);
  }
}

/// As they lie, or turned in the third scratch.
template <class T>
AxisNumbers<T> CpuPreconditioning::along(const BlockPlan& block, const FactorPlan& axis, const BlockNumbers<T>& g,
                                         Workspace& workspace) const {
  if (!is_better_first(axis)) return {g.first, g.layout(block, axis)};
  T* turned = Workspace::resized(workspace.in<T>().third, block.size);
  phases_.arithmetic.dense.in<T>().transpose(g.first, axis.outer, block.size / axis.outer, turned);
  return {turned, AxisLayout::first(axis.n, block.size / axis.n)};
}

/// A block that is no view of its tensor, in the first scratch; the second is the room beside it.
template <class T>
TurnedBlock<T> CpuPreconditioning::turned(const BlockPlan& block, Workspace& workspace) const {
  Scratches<T>& room = workspace.in<T>();
  return {phases_.products<T>(workspace), Workspace::resized(room.first, block.size),
          Workspace::resized(room.second, block.size), block.size};
}

template <class T>
const T* CpuPreconditioning::read_preconditioner(const FactorPlan& axis, Workspace& workspace) const {
  AlignedVector<T>& room = workspace.in<T>().third;
  T* scratch = axis.preconditioner.is_coded() ? Workspace::resized(room, axis.n * axis.n) : nullptr;
  return read_matrix(phases_.loops, axis.preconditioner, scratch);
}

/// `from` with an axis contracted with its preconditioner.
template <class T>
BlockNumbers<T> CpuPreconditioning::contract(const BlockPlan& block, const FactorPlan& axis,
                                             const BlockNumbers<T>& from, T* to, bool ends_in_tensor,
                                             Workspace& workspace) const {
  const T* root = read_preconditioner<T>(axis, workspace);
  const BlockNumbers<T> result{to, ends_in_tensor};
  contract_axis(phases_.products<T>(workspace), from.first, from.layout(block, axis), root, /*by_columns=*/false, to,
                result.layout(block, axis));
  return result;
}

/// All axes but this one.
template <class T>
AxisNumbers<T> CpuPreconditioning::contract_others(const BlockPlan& block, const FactorPlan& axis,
                                                   const BlockNumbers<T>& g, Workspace& workspace) const {
  if (!g.is_in_tensor) {
    TurnedBlock<T> x = turned<T>(block, workspace);
    for (const FactorPlan& other : phases_.factors_of(block)) {
      if (&other != &axis) x.contract(other, read_preconditioner<T>(other, workspace), /*by_columns=*/false);
    }
    x.turn(axis.outer);
    return {x.x(), AxisLayout::first(axis.n, block.size / axis.n)};
  }
  BlockNumbers<T> x = g;  // of two axes at most
  for (const FactorPlan& other : phases_.factors_of(block)) {
    if (&other == &axis) continue;
    T* to = Workspace::resized(workspace.in<T>().second, block.size);
    x = contract(block, other, g, to, /*ends_in_tensor=*/false, workspace);
  }
  return {x.first, x.layout(block, axis)};
}

/// The first product reads where the gradient is, the last one writes where P(g) is to be.
template <class T>
void CpuPreconditioning::precondition_in_place(const BlockPlan& block, BlockNumbers<T> from,
                                               Workspace& workspace) const {
  T* exchange = at<T>(block.exchange, 0);
  T* result =
      exchange != nullptr ? exchange : at<T>(phases_.plan.tensors[block.tensor].preconditioned_gradient, block.first);
  const std::span<const FactorPlan> axes = phases_.factors_of(block);
  for (const FactorPlan& axis : axes) {
    const bool is_last = &axis == &axes.back();
    T* to = is_last ? result : Workspace::resized(workspace.in<T>().second, block.size);
    from = contract(block, axis, from, to, is_last && exchange == nullptr, workspace);
  }
}

template <class T>
void CpuPreconditioning::precondition_copy(const BlockPlan& block, Workspace& workspace) const {
  TurnedBlock<T> x = turned<T>(block, workspace);
  for (const FactorPlan& axis : phases_.factors_of(block)) {
    x.contract(axis, read_preconditioner<T>(axis, workspace), /*by_columns=*/false);
  }
  x.turn(1);
  if (block.exchange != nullptr) {
    std::copy_n(x.x(), block.size, at<T>(block.exchange, 0));
  } else {
    write_block(x.x(), block, at<T>(phases_.plan.tensors[block.tensor].preconditioned_gradient, 0));
  }
}

void CpuPreconditioning::refresh_roots(std::span<const RootJob> jobs, std::span<RootRecord> records, Queue& /*queue*/) {
  for (std::size_t at = 0; at < jobs.size(); ++at) records[at] = {};
  const auto is_due = [&](std::size_t at) { return jobs[at].action != RootAction::none; };
  for_each_due_job(phases_.context, jobs, tools(), is_due, [&](std::size_t at, const RootTools& tools) {
    with_arithmetic(jobs[at].is_wide(), [&](auto type) { refresh_root<decltype(type)>(jobs[at], tools, records[at]); });
  });
}

template <class T>
void CpuPreconditioning::refresh_root(const RootJob& job, const RootTools& tools, RootRecord& record) {
  const Workspaces::Lent workspace(phases_.workspaces);
  Scratches<T>& room = workspace->in<T>();
  const std::int64_t count = job.n * job.n;
  T* scratch = job.statistic.is_coded() ? Workspace::resized(room.first, count) : nullptr;
  const T* statistic = read_matrix(phases_.loops, job.statistic, scratch);
  T* root = job.preconditioner.is_coded() ? Workspace::resized(room.second, count) : job.preconditioner.as<T>();
  record = compute_root(statistic, job.n, job.recipe, tools, *workspace, root);
  if (record.accepted) write_matrix<T>(phases_.loops, root, job.preconditioner);
}

void CpuPreconditioning::follow_masters(const PreconditioningStep& step, Queue& /*queue*/) {
  phases_.for_each_chunk([&](auto /*type*/, std::size_t /*at*/, std::size_t i, const Chunk& chunk) {
    const TensorPlan& tensor = phases_.plan.tensors[i];
    if (tensor.master == nullptr) return;
    const bool is_half = tensor.dtype == DType::f16;
    const float* present = at<float>(step.tensors[i].value, chunk.offset);
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
