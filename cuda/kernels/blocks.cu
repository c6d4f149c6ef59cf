// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/blocks.h"

#include "kernels/block_device.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

constexpr int kBlockThreads = 256;

struct GatherGradients {
  static constexpr const char* kName = "gather_gradients";
  static constexpr int kThreads = kBlockThreads;

  BlockBatch batch;
  std::int64_t moved;
  float* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      block.store(to + at.scratch, block.load(at.tensor.gradient + at.place()));
    });
  }
};

struct ScatterPreconditioned {
  static constexpr const char* kName = "scatter_preconditioned";
  static constexpr int kThreads = kBlockThreads;

  BlockBatch batch;
  std::int64_t moved;
  const float* from;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      float* to =
          at.block.exchange != nullptr ? at.block.exchange + at.index : at.tensor.preconditioned_gradient + at.place();
      block.store(to, block.load(from + at.scratch));
    });
  }
};

struct SpreadExchanged {
  static constexpr const char* kName = "spread_exchanged";
  static constexpr int kThreads = kBlockThreads;

  BlockBatch batch;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_of_blocks(block, batch, [&](const BlockElement& at) {
      block.store(at.tensor.preconditioned_gradient + at.place(), block.load(at.block.exchange + at.index));
    });
  }
};

/// A block of threads has a tile: read by rows and written by rows.
struct Transpose {
  static constexpr const char* kName = "transpose";
  static constexpr int kTile = 32;
  static constexpr int kThreads = 256;
  struct Shared {
    float tile[kTile][kTile + 1];
  };

  const float* from;
  std::int64_t rows;
  std::int64_t columns;
  float* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const std::int64_t across = parts_of(columns, kTile);
    const std::int64_t tiles = across * parts_of(rows, kTile);
    const std::int64_t matrix = block.index() / tiles * rows * columns;
    const std::int64_t top = block.index() % tiles / across * kTile;
    const std::int64_t left = block.index() % tiles % across * kTile;
    const int lane = block.thread() % kTile;
    for (int k = block.thread() / kTile; k < kTile; k += kThreads / kTile) {
      if (top + k < rows && left + lane < columns) {
        shared.tile[k][lane] = block.load(from + matrix + (top + k) * columns + left + lane);
      }
    }
    block.sync();
    for (int k = block.thread() / kTile; k < kTile; k += kThreads / kTile) {
      if (left + k < columns && top + lane < rows) {
        block.store(to + matrix + (left + k) * rows + top + lane, shared.tile[lane][k]);
      }
    }
  }
};

/// A block of threads has a row of the lower half, which is the upper half's column: codes have no symmetry to keep.
struct AddToStatistics {
  static constexpr const char* kName = "add_to_statistics";
  static constexpr int kThreads = 128;

  const StatisticItem* items;
  std::int64_t n;
  const float* products;
  const TensorItem* tensors;
  const Averaging* groups;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t item = block.index() / n;
    const std::int64_t row = block.index() % n;
    const StatisticItem& own = *block.checked(items + item);
    const TensorItem& tensor = *block.checked(tensors + own.tensor);
    if (tensor.takes_part == 0) return;
    const Averaging& averaging = *block.checked(groups + tensor.group);
    const float* product = products + item * n * n;
    for (std::int64_t j = block.thread(); j <= row; j += kThreads) {
      const std::int64_t lower = row * n + j;
      const float s = averaging.keep * block.load(own.numbers + lower) + averaging.add * block.load(product + lower);
      block.store(own.numbers + lower, s);
      block.store(own.numbers + j * n + row, s);
    }
  }
};

}  // namespace

BlockItem block_item(const BlockPlan& block) {
  BlockItem item{};
  item.tensor = static_cast<std::int64_t>(block.tensor);
  item.first = block.first;
  item.ndim = static_cast<std::int64_t>(block.extents.size());
  item.exchange = block.exchange;
  for (std::size_t d = 0; d < block.extents.size(); ++d) {
    item.extents[d] = static_cast<std::uint32_t>(block.extents[d]);
    item.strides[d] = block.strides[d];
  }
  return item;
}

void gather_gradients(const BlockBatch& batch, std::int64_t moved, float* to, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, GatherGradients{batch, moved, to});
}

void scatter_preconditioned(const BlockBatch& batch, std::int64_t moved, const float* from, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, ScatterPreconditioned{batch, moved, from});
}

void spread_exchanged(const BlockBatch& batch, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, SpreadExchanged{batch});
}

void transpose(const float* from, std::int64_t rows, std::int64_t columns, std::int64_t count, float* to,
               const CudaQueue& queue) {
  const std::int64_t tiles = parts_of(rows, Transpose::kTile) * parts_of(columns, Transpose::kTile);
  launch(queue, count * tiles, Transpose{from, rows, columns, to});
}

void add_to_statistics(const StatisticItem* items, std::int64_t count, std::int64_t n, const float* products,
                       const TensorItem* tensors, const Averaging* groups, const CudaQueue& queue) {
  launch(queue, count * n, AddToStatistics{items, n, products, tensors, groups});
}

}  // namespace gradstep::cuda
