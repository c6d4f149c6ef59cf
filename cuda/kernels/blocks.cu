// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/blocks.h"

#include "device/tiles.h"
#include "kernels/block_device.h"
#include "kernels/stored.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

constexpr int kBlockThreads = 256;

template <class T>
struct GatherGradients {
  static constexpr const char* kName = "gather_gradients";
  static constexpr int kThreads = kBlockThreads;

  BlockBatch batch;
  std::int64_t moved;
  T* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      block.store(to + at.scratch, block.load(numbers_of<T>(at.tensor.gradient) + at.place()));
    });
  }
};

template <class T>
struct ScatterPreconditioned {
  static constexpr const char* kName = "scatter_preconditioned";
  static constexpr int kThreads = kBlockThreads;

  BlockBatch batch;
  std::int64_t moved;
  const T* from;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_turned(block, batch, moved, [&](const BlockElement& at) {
      T* to = at.block.exchange != nullptr ? numbers_of<T>(at.block.exchange) + at.index
                                           : numbers_of<T>(at.tensor.preconditioned_gradient) + at.place();
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
      if (at.tensor.is_wide != 0) return spread<double>(block, at);
      spread<float>(block, at);
    });
  }

  template <class T>
  GRADSTEP_DEVICE static void spread(const Block& block, const BlockElement& at) {
    block.store(numbers_of<T>(at.tensor.preconditioned_gradient) + at.place(),
                block.load(numbers_of<T>(at.block.exchange) + at.index));
  }
};

/// A block of threads has a tile: read by rows and written by rows.
template <class T>
struct Transpose {
  static constexpr const char* kName = "transpose";
  static constexpr int kThreads = kTileThreads;
  using Shared = Tile<T>;

  const T* from;
  std::int64_t rows;
  std::int64_t columns;
  T* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.template shared<Shared>();
    const TilePlace at(block, rows, columns);
    const std::int64_t matrix = at.matrix * rows * columns;
    for_each_of_tile(block, [&](int r, int c) {
      if (at.top + r < rows && at.left + c < columns) {
        shared[r][c] = block.load(from + matrix + (at.top + r) * columns + at.left + c);
      }
    });
    block.sync();
    for_each_of_tile(block, [&](int r, int c) {
      if (at.left + r < columns && at.top + c < rows) {
        block.store(to + matrix + (at.left + r) * rows + at.top + c, shared[c][r]);
      }
    });
  }
};

/// A block of threads has a tile. The upper half is the lower one's mirror image: codes have no symmetry to keep.
template <class T>
struct AddToStatistics {
  static constexpr const char* kName = "add_to_statistics";
  static constexpr int kThreads = kTileThreads;
  using Shared = Tile<T>;

  const StatisticItem<T>* items;
  std::int64_t n;
  const T* products;
  double weight;
  const TensorItem* tensors;
  const Averaging* groups;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const TilePlace at(block, n, n);
    if (at.is_above_diagonal()) return;
    const StatisticItem<T>& own = *block.checked(items + at.matrix);
    const TensorItem& tensor = *block.checked(tensors + own.tensor);
    if (tensor.takes_part == 0) return;
    const Averaging& averaging = *block.checked(groups + tensor.group);
    const auto keep = static_cast<T>(averaging.keep);
    const auto add = static_cast<T>(averaging.add * weight);
    T* const numbers = own.numbers;
    const T* const product = products + at.matrix * n * n;
    mirror_tile<T>(
        block, at, n, block.template shared<Shared>(),
        [&](std::int64_t row, std::int64_t column) {
          const std::int64_t i = row * n + column;
          return keep * block.load(numbers + i) + add * block.load(product + i);
        },
        [&](std::int64_t row, std::int64_t column, T s) { block.store(numbers + row * n + column, s); });
  }
};

/// Where a sum of squares on the diagonal is too large, its row and column become zeros beside the largest number, as
/// on the CPU. A block has a matrix.
template <class T>
struct KeepFinite {
  static constexpr const char* kName = "keep_finite";
  static constexpr int kThreads = 128;
  static constexpr bool kWaits = true;

  const StatisticItem<T>* items;
  std::int64_t n;
  const TensorItem* tensors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const StatisticItem<T>& own = *block.checked(items + block.index());
    if (block.checked(tensors + own.tensor)->takes_part == 0) return;
    T* const numbers = own.numbers;
    const auto is_too_large = [&](std::int64_t i) {
      return block.load(numbers + i * n + i) > kernels::kLargestStored<T>;
    };
    for (std::int64_t i = block.thread(); i < n; i += kThreads) {
      if (!is_too_large(i)) continue;
      for (std::int64_t j = 0; j < n; ++j) {
        if (j == i) continue;
        block.store(numbers + i * n + j, T{0});
        if (!is_too_large(j)) block.store(numbers + j * n + i, T{0});  // else another thread does
      }
    }
    block.sync();  // the diagonal has been read
    for (std::int64_t i = block.thread(); i < n; i += kThreads) {
      if (is_too_large(i)) block.store(numbers + i * n + i, kernels::kLargestStored<T>);
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

template <class T>
void gather_gradients(const BlockBatch& batch, std::int64_t moved, T* to, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, GatherGradients<T>{batch, moved, to});
}

template <class T>
void scatter_preconditioned(const BlockBatch& batch, std::int64_t moved, const T* from, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, ScatterPreconditioned<T>{batch, moved, from});
}

void spread_exchanged(const BlockBatch& batch, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, SpreadExchanged{batch});
}

template <class T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t count, T* to,
               const CudaQueue& queue) {
  launch(queue, count * tiles_of(rows) * tiles_of(columns), Transpose<T>{from, rows, columns, to});
}

template <class T>
void add_to_statistics(const StatisticItem<T>* items, std::int64_t count, std::int64_t n, const T* products,
                       double weight, const TensorItem* tensors, const Averaging* groups, const CudaQueue& queue) {
  launch(queue, count * tiles_of(n) * tiles_of(n), AddToStatistics<T>{items, n, products, weight, tensors, groups});
  launch(queue, count, KeepFinite<T>{items, n, tensors});
}

template void gather_gradients(const BlockBatch& batch, std::int64_t moved, float* to, const CudaQueue& queue);
template void scatter_preconditioned(const BlockBatch& batch, std::int64_t moved, const float* from,
                                     const CudaQueue& queue);
template void transpose(const float* from, std::int64_t rows, std::int64_t columns, std::int64_t count, float* to,
                        const CudaQueue& queue);
template void add_to_statistics(const StatisticItem<float>* items, std::int64_t count, std::int64_t n,
                                const float* products, double weight, const TensorItem* tensors,
                                const Averaging* groups, const CudaQueue& queue);
template void gather_gradients(const BlockBatch& batch, std::int64_t moved, double* to, const CudaQueue& queue);
template void scatter_preconditioned(const BlockBatch& batch, std::int64_t moved, const double* from,
                                     const CudaQueue& queue);
template void transpose(const double* from, std::int64_t rows, std::int64_t columns, std::int64_t count, double* to,
                        const CudaQueue& queue);
template void add_to_statistics(const StatisticItem<double>* items, std::int64_t count, std::int64_t n,
                                const double* products, double weight, const TensorItem* tensors,
                                const Averaging* groups, const CudaQueue& queue);

}  // namespace gradstep::cuda
