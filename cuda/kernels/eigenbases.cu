// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/eigenbases.h"

#include "device/chunk.h"
#include "kernels/block_device.h"
#include "kernels/direction_device.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

template <class T>
struct StepInBases {
  static constexpr const char* kName = "step_in_bases";
  static constexpr int kThreads = kChunkThreads;

  BlockBatch batch;
  std::int64_t moved;
  const GroupItem* groups;
  T* rotated;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + block.checked(batch.blocks + chunk.item)->tensor);
    const rules::Direction<T, rules::Adam> adam(block.checked(groups + tensor.group)->direction);
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      block.store(rotated + at.scratch, direct<T>(block, adam, tensor, block.load(rotated + at.scratch), at.place()));
    });
  }
};

template <class T>
struct StepWithoutBases {
  static constexpr const char* kName = "step_without_bases";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.takes_part == 0 || tensor.preconditioned != 0 || !is_in<T>(tensor)) return;
    const rules::Direction<T, rules::Adam> adam(block.checked(batch.groups + tensor.group)->direction);
    const auto* gradient = numbers_of<T>(tensor.gradient);
    auto* to = numbers_of<T>(tensor.preconditioned_gradient);
    for_each_element(block, chunk, [&](std::int64_t i) {
      block.store(to + i, direct<T>(block, adam, tensor, block.load(gradient + i), i));
    });
  }
};

template <class T>
struct FinishCorrected {
  static constexpr const char* kName = "finish_corrected";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.takes_part == 0 || !is_in<T>(tensor)) return;
    const rules::ShampooFinish<T>& constants = block.checked(batch.groups + tensor.group)->template in<T>();
    auto* to = numbers_of<T>(tensor.outcome);
    for_each_element(block, chunk, [&](std::int64_t i) { block.store(to + i, outcome(block, tensor, constants, i)); });
  }

  GRADSTEP_DEVICE static T outcome(const Block& block, const TensorItem& tensor,
                                   const rules::ShampooFinish<T>& constants, std::int64_t i) {
    const T p = block.load(numbers_of<T>(tensor.value) + i);
    if (tensor.used == 0) return constants.grafted.adds ? p : T{0};
    const T direction = block.load(numbers_of<T>(tensor.preconditioned_gradient) + i);
    return constants.grafted.adds ? kernels::corrected<true>(direction, p, constants.corrected)
                                  : kernels::corrected<false>(direction, p, constants.corrected);
  }
};

template <class T>
struct GatherFirstMoments {
  static constexpr const char* kName = "gather_first_moments";
  static constexpr int kThreads = kChunkThreads;

  BlockBatch batch;
  std::int64_t moved;
  T* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      block.store(to + at.scratch, exp_avg_of<T>(at.tensor).load(block, at.place()));
    });
  }
};

template <class T>
struct GatherOrderedSecondMoments {
  static constexpr const char* kName = "gather_ordered_second_moments";
  static constexpr int kThreads = kChunkThreads;

  BlockBatch batch;
  const AxisOrder<T>* orders;
  std::int64_t axes;
  T* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_of_blocks(block, batch, [&](const BlockElement& at) {
      const AxisOrder<T>* of_block = block.checked(orders + at.number * axes, axes);
      BlockElement source = at;
      for (std::int64_t k = 0; k < axes; ++k) {
        const AxisOrder<T>& axis = of_block[k];
        if (axis.order == nullptr) continue;
        const std::int64_t index = at.index / axis.inner % axis.n;
        source.index += (static_cast<std::int64_t>(block.load(axis.order + index)) - index) * axis.inner;
      }
      block.store(to + at.scratch, statistics_of<T>(at.tensor).load(block, source.place()));
    });
  }
};

template <class T>
struct ScatterMoments {
  static constexpr const char* kName = "scatter_moments";
  static constexpr int kThreads = kChunkThreads;

  BlockBatch batch;
  Moment moment;
  std::int64_t moved;
  const T* from;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      const StateNumbers<T> moments = moment == Moment::first ? exp_avg_of<T>(at.tensor, /*moved=*/true)
                                                              : statistics_of<T>(at.tensor, /*moved=*/true);
      moments.store(block, at.place(), block.load(from + at.scratch));
    });
  }
};

}  // namespace

template <class T>
void step_in_bases(const BlockBatch& batch, std::int64_t moved, const GroupItem* groups, T* rotated,
                   const CudaQueue& queue) {
  launch(queue, batch.chunks.count, StepInBases<T>{batch, moved, groups, rotated});
}

void step_without_bases(const TensorBatch& batch, const CudaQueue& queue) {
  for_each_arithmetic(batch,
                      [&](auto type) { launch(queue, batch.chunks.count, StepWithoutBases<decltype(type)>{batch}); });
}

void finish_corrected(const TensorBatch& batch, const CudaQueue& queue) {
  for_each_arithmetic(batch,
                      [&](auto type) { launch(queue, batch.chunks.count, FinishCorrected<decltype(type)>{batch}); });
}

template <class T>
void gather_first_moments(const BlockBatch& batch, std::int64_t moved, T* to, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, GatherFirstMoments<T>{batch, moved, to});
}

template <class T>
void gather_ordered_second_moments(const BlockBatch& batch, const AxisOrder<T>* orders, std::int64_t axes, T* to,
                                   const CudaQueue& queue) {
  launch(queue, batch.chunks.count, GatherOrderedSecondMoments<T>{batch, orders, axes, to});
}

template <class T>
void scatter_moments(const BlockBatch& batch, Moment moment, std::int64_t moved, const T* from,
                     const CudaQueue& queue) {
  launch(queue, batch.chunks.count, ScatterMoments<T>{batch, moment, moved, from});
}

template void step_in_bases(const BlockBatch& batch, std::int64_t moved, const GroupItem* groups, float* rotated,
                            const CudaQueue& queue);
template void gather_first_moments(const BlockBatch& batch, std::int64_t moved, float* to, const CudaQueue& queue);
template void gather_ordered_second_moments(const BlockBatch& batch, const AxisOrder<float>* orders, std::int64_t axes,
                                            float* to, const CudaQueue& queue);
template void scatter_moments(const BlockBatch& batch, Moment moment, std::int64_t moved, const float* from,
                              const CudaQueue& queue);
template void step_in_bases(const BlockBatch& batch, std::int64_t moved, const GroupItem* groups, double* rotated,
                            const CudaQueue& queue);
template void gather_first_moments(const BlockBatch& batch, std::int64_t moved, double* to, const CudaQueue& queue);
template void gather_ordered_second_moments(const BlockBatch& batch, const AxisOrder<double>* orders, std::int64_t axes,
                                            double* to, const CudaQueue& queue);
template void scatter_moments(const BlockBatch& batch, Moment moment, std::int64_t moved, const double* from,
                              const CudaQueue& queue);

}  // namespace gradstep::cuda
