// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "preconditioning/eigenbases.h"

#include <vector>

#include "kernels/eigenbases.h"

namespace gradstep::cuda {

struct Eigenbases::Installation {
  const PreconditioningStep& step;
  std::span<const RootJob> jobs;
  std::span<const RootRecord> records;
  TensorBatch tensors;  ///< of which those take part whose moments follow
};

/// Into the bases, a step of Adam, and back.
void Eigenbases::step(const PreconditioningStep& step, CudaQueue& queue) {
  const TensorBatch tensors = phases_.begin(step, queue, Those::were_used);
  for (const auto& batch : phases_.batches()) {
    with_arithmetic(batch->is_wide, [&](auto type) { step_batch<decltype(type)>(*batch, tensors, queue); });
  }
  step_without_bases(tensors, queue);
}

template <class T>
void Eigenbases::step_batch(Batch& batch, const TensorBatch& tensors, CudaQueue& queue) {
  const BlockBatch shown = phases_.show(batch, tensors, queue);
  TurnedBlocks<T> blocks = phases_.room_for<T>(batch, queue);
  gather_gradients(shown, blocks.moved, blocks.x, queue);
  phases_.contract(batch, /*by_columns=*/false, blocks, queue);
  step_in_bases(shown, blocks.moved, tensors.groups, blocks.x, queue);
  phases_.contract(batch, /*by_columns=*/true, blocks, queue);
  scatter_preconditioned<T>(shown, blocks.moved, blocks.x, queue);
}

void Eigenbases::install(const PreconditioningStep& step, std::span<const RootJob> jobs,
                         std::span<const RootRecord> records, CudaQueue& queue) {
  const Installation installation{step, jobs, records, phases_.begin(step, queue, Those::were_used)};
  for (const auto& batch : phases_.batches()) {
    with_arithmetic(batch->is_wide, [&](auto type) { install_batch<decltype(type)>(*batch, installation, queue); });
  }
}

/// The first moments go back from the old bases and into the new ones.
template <class T>
void Eigenbases::install_batch(Batch& batch, const Installation& of, CudaQueue& queue) {
  std::vector<AxisOrder<T>> orders;
  bool moves = false;
  batch.bases.begin();
  for (std::size_t b = 0; b < batch.blocks.size(); ++b) {
    const BlockPlan& block = phases_.block(batch, b);
    const TensorStep& tensor = of.step.tensors[block.tensor];
    for (const FactorPlan& factor : phases_.factors_of(block)) {
      AxisOrder<T> order{nullptr, factor.n, factor.inner};
      if (tensor.takes_part && of.records[factor.job].accepted) {
        auto* basis = static_cast<T*>(of.jobs[factor.job].result);
        batch.bases.add(factor.preconditioner, basis);
        if (tensor.used) order.order = basis + factor.n * factor.n;
        moves = moves || tensor.used;
      }
      orders.push_back(order);
    }
  }
  if (!moves) return batch.bases.write(queue);

  const BlockBatch shown = phases_.show(batch, of.tensors, queue);
  TurnedBlocks<T> blocks = phases_.room_for<T>(batch, queue);
  batch.order_table.begin(queue);
  const auto section = batch.order_table.add(orders);
  batch.order_table.send();
  gather_ordered_second_moments(shown, batch.order_table.at(section), static_cast<std::int64_t>(batch.axes.size()),
                                blocks.x, queue);
  scatter_moments<T>(shown, Moment::second, /*moved=*/1, blocks.x, queue);

  gather_first_moments(shown, blocks.moved, blocks.x, queue);
  phases_.contract(batch, /*by_columns=*/true, blocks, queue);
  batch.bases.write(queue);
  phases_.contract(batch, /*by_columns=*/false, blocks, queue);
  scatter_moments<T>(shown, Moment::first, blocks.moved, blocks.x, queue);
}

void Eigenbases::finish(const PreconditioningStep& step, CudaQueue& queue) {
  finish_corrected(phases_.begin(step, queue), queue);
}

}  // namespace gradstep::cuda
