// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/eigenbases.h"

#include "device/chunk.h"
#include "kernels/block_device.h"
#include "kernels/direction_device.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

struct StepInBases {
  static constexpr const char* kName = "step_in_bases";
  static constexpr int kThreads = kChunkThreads;

  BlockBatch batch;
  std::int64_t moved;
  const GroupItem* groups;
  float* rotated;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + block.checked(batch.blocks + chunk.item)->tensor);
    const rules::Direction<rules::Adam> adam(block.checked(groups + tensor.group)->direction);
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      block.store(rotated + at.scratch, direct(block, adam, tensor, block.load(rotated + at.scratch), at.place()));
    });
  }
};

struct StepWithoutBases {
  static constexpr const char* kName = "step_without_bases";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.takes_part == 0 || tensor.preconditioned != 0) return;
    const rules::Direction<rules::Adam> adam(block.checked(batch.groups + tensor.group)->direction);
    for_each_element(block, chunk, [&](std::int64_t i) {
      block.store(tensor.preconditioned_gradient + i, direct(block, adam, tensor, block.load(tensor.gradient + i), i));
    });
  }
};

struct FinishCorrected {
  static constexpr const char* kName = "finish_corrected";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.takes_part == 0) return;
    const GroupItem& group = *block.checked(batch.groups + tensor.group);
    for_each_element(block, chunk,
                     [&](std::int64_t i) { block.store(tensor.outcome + i, outcome(block, tensor, group, i)); });
  }

  GRADSTEP_DEVICE static float outcome(const Block& block, const TensorItem& tensor, const GroupItem& group,
                                       std::int64_t i) {
    const float p = block.load(tensor.value + i);
    if (tensor.used == 0) return group.finish.adds ? p : 0.0F;
    const float direction = block.load(tensor.preconditioned_gradient + i);
    return group.finish.adds ? kernels::corrected<true>(direction, p, group.corrected)
                             : kernels::corrected<false>(direction, p, group.corrected);
  }
};

GRADSTEP_DEVICE float* numbers_of(const TensorItem& tensor, Moment moment) {
  return moment == Moment::first ? tensor.exp_avg : tensor.statistics;
}

struct GatherFirstMoments {
  static constexpr const char* kName = "gather_first_moments";
  static constexpr int kThreads = kChunkThreads;

  BlockBatch batch;
  std::int64_t moved;
  float* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      block.store(to + at.scratch, block.load(at.tensor.exp_avg + at.place()));
    });
  }
};

struct GatherOrderedSecondMoments {
  static constexpr const char* kName = "gather_ordered_second_moments";
  static constexpr int kThreads = kChunkThreads;

  BlockBatch batch;
  const AxisOrder* orders;
  std::int64_t axes;
  float* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_of_blocks(block, batch, [&](const BlockElement& at) {
      const AxisOrder* of_block = block.checked(orders + at.number * axes, axes);
      BlockElement source = at;
      for (std::int64_t k = 0; k < axes; ++k) {
        const AxisOrder& axis = of_block[k];
        if (axis.order == nullptr) continue;
        const std::int64_t index = at.index / axis.inner % axis.n;
        source.index += (static_cast<std::int64_t>(block.load(axis.order + index)) - index) * axis.inner;
      }
      block.store(to + at.scratch, block.load(at.tensor.statistics + source.place()));
    });
  }
};

struct ScatterMoments {
  static constexpr const char* kName = "scatter_moments";
  static constexpr int kThreads = kChunkThreads;

  BlockBatch batch;
  Moment moment;
  std::int64_t moved;
  const float* from;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      block.store(numbers_of(at.tensor, moment) + at.place(), block.load(from + at.scratch));
    });
  }
};

}  // namespace

void step_in_bases(const BlockBatch& batch, std::int64_t moved, const GroupItem* groups, float* rotated,
                   const CudaQueue& queue) {
  launch(queue, batch.chunks.count, StepInBases{batch, moved, groups, rotated});
}

void step_without_bases(const TensorBatch& batch, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, StepWithoutBases{batch});
}

void finish_corrected(const TensorBatch& batch, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, FinishCorrected{batch});
}

void gather_first_moments(const BlockBatch& batch, std::int64_t moved, float* to, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, GatherFirstMoments{batch, moved, to});
}

void gather_ordered_second_moments(const BlockBatch& batch, const AxisOrder* orders, std::int64_t axes, float* to,
                                   const CudaQueue& queue) {
  launch(queue, batch.chunks.count, GatherOrderedSecondMoments{batch, orders, axes, to});
}

void scatter_moments(const BlockBatch& batch, Moment moment, std::int64_t moved, const float* from,
                     const CudaQueue& queue) {
  launch(queue, batch.chunks.count, ScatterMoments{batch, moment, moved, from});
}

}  // namespace gradstep::cuda
