// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "preconditioning/phases.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/error.h"

namespace gradstep::cuda {

std::int64_t Batch::square() const {
  std::int64_t largest = 0;
  for (const Axis& axis : axes) largest = std::max(largest, axis.n * axis.n);
  return largest;
}

void Phases::plan(PreconditioningPlan plan) {
  for (const BlockPlan& block : plan.blocks) {
    if (block.size > std::numeric_limits<std::int32_t>::max()) {
      fail(GRADSTEP_ERR_UNSUPPORTED, "a block of {} elements is too large for CUDA: choose a smaller block_size",
           block.size);
    }
  }
  plan_ = std::move(plan);
  cublas_.round_operands(plan_.products == ProductPrecision::tf32);
  plan_batches();
  plan_tensors();
  scratch_bytes_ = 0;
  for (const auto& batch : batches_) {
    with_arithmetic(batch->is_wide, [&](auto type) {
      reserve<decltype(type)>(std::max(batch->scratch_of_statistics(plan_.form.is_kl()), batch->scratch_of_products()));
    });
  }
}

void Phases::plan_batches() {
  std::map<std::pair<bool, std::vector<Axis>>, std::vector<std::size_t>> shapes;
  for (std::size_t b = plan_.first_own_block; b < plan_.first_own_block + plan_.own_blocks; ++b) {
    std::vector<Axis> axes;
    for (const FactorPlan& factor : factors_of(plan_.blocks[b])) axes.push_back({factor.outer, factor.n, factor.inner});
    shapes[{plan_.tensors[plan_.blocks[b].tensor].is_wide(), std::move(axes)}].push_back(b);
  }
  batches_.clear();
  for (const auto& [form, blocks] : shapes) {
    const auto& [is_wide, axes] = form;
    const std::int64_t size = plan_.blocks[blocks.front()].size;
    std::int64_t numbers = 2 * size;
    for (const Axis& axis : axes) numbers = std::max(numbers, 2 * size + axis.n * axis.n);
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, kBatchNumbers / numbers));
    for (std::size_t first = 0; first < blocks.size(); first += most) {
      auto batch = std::make_unique<Batch>();
      const auto begin = blocks.begin() + static_cast<std::ptrdiff_t>(first);
      batch->blocks.assign(begin, begin + static_cast<std::ptrdiff_t>(std::min(most, blocks.size() - first)));
      batch->axes = axes;
      batch->tables.resize(axes.size());
      batch->size = size;
      batch->is_wide = is_wide;
      for (const std::size_t b : batch->blocks) {
        batch->work.append(size);
        for (const FactorPlan& factor : factors_of(plan_.blocks[b])) {
          batch->has_coded_statistics = batch->has_coded_statistics || factor.statistic.is_coded();
          batch->has_coded_preconditioners = batch->has_coded_preconditioners || factor.preconditioner.is_coded();
        }
      }
      batches_.push_back(std::move(batch));
    }
  }
}

void Phases::plan_tensors() {
  const std::span<const Chunk> chunks = plan_.work->chunks();
  tensors_.assign(plan_.tensors.size(), TensorItem{});
  has_f32_ = has_f64_ = false;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorPlan& from = plan_.tensors[i];
    TensorItem& to = tensors_[i];
    to.momentum = from.momentum.is_coded() ? nullptr : from.momentum.numbers;
    to.diagonal_momentum = from.diagonal_momentum.is_coded() ? nullptr : from.diagonal_momentum.numbers;
    to.statistics = from.diagonal_statistics.numbers;
    to.exp_avg = from.diagonal_exp_avg.numbers;
    to.master = from.master;
    to.direction = from.direction;
    to.preconditioned_gradient = from.preconditioned_gradient;
    to.size = from.size;
    to.group = from.group;
    to.preconditioned = from.preconditioned ? 1 : 0;
    to.is_half = from.dtype == DType::f16 ? 1 : 0;
    to.is_wide = from.is_wide() ? 1 : 0;
    const auto is_narrow = [](const StoredMatrix& state) { return state.exists() && state.dtype == DType::bf16; };
    to.narrow_momenta = is_narrow(from.momentum) || is_narrow(from.diagonal_momentum) ? 1 : 0;
    to.narrow_state = is_narrow(from.diagonal_statistics) || is_narrow(from.diagonal_exp_avg) ? 1 : 0;
    (from.is_wide() ? has_f64_ : has_f32_) = true;
  }
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    TensorItem& tensor = tensors_[static_cast<std::size_t>(chunks[c].item)];
    if (tensor.chunks++ == 0) tensor.first_chunk = static_cast<std::int64_t>(c);
  }
}

TensorBatch Phases::begin(const PreconditioningStep& step, CudaQueue& queue, Those those) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorStep& from = step.tensors[i];
    TensorItem& to = tensors_[i];
    to.gradient = from.gradient;
    to.input = from.direction;
    to.value = from.value;
    to.outcome = from.outcome;
    to.takes_part = takes_part(from, those) ? 1 : 0;
    to.used = from.used ? 1 : 0;
    to.rounding = step.rounding(plan_.tensors[i]);
  }
  groups_.clear();
  averaging_.clear();
  for (const rules::ShampooConstants& c : step.groups) {
    groups_.push_back({c.direction, c.f32, c.f64, c.clip_scaled_norm});
    averaging_.push_back({c.keep, c.add});
  }
  tensor_table_.begin(queue);
  const auto tensors = tensor_table_.add(tensors_);
  tensor_table_.send();
  group_table_.begin(queue);
  const auto groups = group_table_.add(groups_);
  group_table_.send();
  averaging_table_.begin(queue);
  const auto averaging = averaging_table_.add(averaging_);
  averaging_table_.send();
  device_averaging_ = averaging_table_.at(averaging);
  return {chunks_.of(*plan_.work, queue),
          tensor_table_.at(tensors),
          static_cast<std::int64_t>(tensors_.size()),
          group_table_.at(groups),
          has_f32_,
          has_f64_};
}

BlockBatch Phases::show(Batch& batch, const TensorBatch& tensors, CudaQueue& queue) {
  std::vector<BlockItem> items;
  for (const std::size_t b : batch.blocks) items.push_back(block_item(plan_.blocks[b]));
  batch.block_table.begin(queue);
  const auto section = batch.block_table.add(items);
  batch.block_table.send();
  return {batch.chunks.of(batch.work, queue), batch.block_table.at(section), tensors.tensors, batch.size};
}

/// Side by side: where they lie if they do, else in `room`.
template <class T>
MatrixBatch<const T> Phases::preconditioners(Batch& batch, std::size_t axis, T* room, CudaQueue& queue) {
  const std::int64_t n = batch.axes[axis].n;
  const auto matrix = [&](std::size_t b) -> const StoredMatrix& {
    return factors_of(plan_.blocks[batch.blocks[b]])[axis].preconditioner;
  };
  const auto numbers = [&](std::size_t b) { return matrix(b).template as<const T>(); };
  if (!batch.has_coded_preconditioners) {
    const std::ptrdiff_t stride = batch.blocks.size() > 1 ? numbers(1) - numbers(0) : n * n;
    bool is_even = stride >= n * n;
    for (std::size_t b = 1; b < batch.blocks.size() && is_even; ++b) is_even = numbers(b) - numbers(b - 1) == stride;
    if (is_even) return {numbers(0), n, n, stride};
  }
  MatrixCopies& copies = batch.tables[axis].preconditioners;
  copies.begin();
  for (std::size_t b = 0; b < batch.blocks.size(); ++b)
    copies.add(matrix(b), room + static_cast<std::int64_t>(b) * n * n);
  copies.read(queue);
  return {room, n, n, n * n};
}

template <class T>
TurnedBlocks<T> Phases::room_for(const Batch& batch, CudaQueue& queue) {
  TurnedBlocks<T> blocks;
  blocks.x = scratch<T>(queue);
  blocks.other = blocks.x + batch.count() * batch.size;
  blocks.room = blocks.other + batch.count() * batch.size;
  blocks.moved = batch.axes.empty() ? 1 : batch.axes.front().outer;
  return blocks;
}

/// So that the axis comes first that has `outer` before it.
template <class T>
void Phases::turn(const Batch& batch, std::int64_t outer, TurnedBlocks<T>& blocks, const CudaQueue& queue) {
  // What stands first and is to come last: the axes between here and there, around the end if need be.
  const std::int64_t first = outer >= blocks.moved ? outer / blocks.moved : batch.size / blocks.moved * outer;
  blocks.moved = outer;
  if (first == 1 || first == batch.size) return;
  transpose<T>(blocks.x, first, batch.size / first, batch.count(), blocks.other, queue);
  std::swap(blocks.x, blocks.other);
}

template <class T>
void Phases::contract_axis(Batch& batch, std::size_t k, bool by_columns, TurnedBlocks<T>& blocks, CudaQueue& queue) {
  const Axis& axis = batch.axes[k];
  const std::int64_t others = batch.size / axis.n;
  turn(batch, axis.outer, blocks, queue);
  const MatrixBatch<const T> x{blocks.x, axis.n, others, batch.size};
  const MatrixBatch<const T> p = preconditioners(batch, k, blocks.room, queue);
  cublas_.multiply<T>(transposed(x), by_columns ? transposed(p) : p, {blocks.other, others, axis.n, batch.size},
                      batch.count(), queue);
  std::swap(blocks.x, blocks.other);
  blocks.moved = axis.outer * axis.n;
}

template TurnedBlocks<float> Phases::room_for(const Batch& batch, CudaQueue& queue);
template void Phases::turn(const Batch& batch, std::int64_t outer, TurnedBlocks<float>& blocks, const CudaQueue& queue);
template void Phases::contract_axis(Batch& batch, std::size_t k, bool by_columns, TurnedBlocks<float>& blocks,
                                    CudaQueue& queue);
template TurnedBlocks<double> Phases::room_for(const Batch& batch, CudaQueue& queue);
template void Phases::turn(const Batch& batch, std::int64_t outer, TurnedBlocks<double>& blocks,
                           const CudaQueue& queue);
template void Phases::contract_axis(Batch& batch, std::size_t k, bool by_columns, TurnedBlocks<double>& blocks,
                                    CudaQueue& queue);

}  // namespace gradstep::cuda
