// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Second moments in factors (rules/factoring.h). A launch is about all tensors of a type, whose blocks lie one tensor
// after the other.
#include <algorithm>
#include <vector>

#include "device/chunk.h"
#include "device/reduce.h"
#include "operations.h"
#include "rules/constants.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

constexpr int kRowsOfBlock = 8;

/// FactoredItem, as kernels see it, with scratch for its factors.
template <class T>
struct FactoredTensor {
  T* change;
  T* rows;
  T* columns;
  T* momentum;
  double* row_factors;  ///< NULL = a mean square for each element
  double* column_factors;
  const rules::GroupConstants* constants;
  double* factor;
  rules::Factoring form;
  // As in rules::FactoredAxes.
  std::int64_t outer;
  std::int64_t row_length;
  std::int64_t middle;
  std::int64_t column_length;
  std::int64_t inner;
  std::int64_t size;
  // How many blocks this tensor and those before it have.
  std::int64_t row_blocks;
  std::int64_t column_blocks;
  std::int64_t matrices;
  std::int64_t chunks;

  GRADSTEP_DEVICE rules::FactoringStep step(const Block& block) const {
    return rules::factoring_step(block.checked(constants)->usual);
  }
  /// Takes a mean square in, and returns what is kept.
  GRADSTEP_DEVICE double go_on(const Block& block, T* kept, double keep, double now) const {
    const T next = rules::Factoring::go_on(block.load(kept), keep, now);
    block.store(kept, next);
    return static_cast<double>(next);
  }
};

}  // namespace

template <class T>
inline constexpr bool kHasNoPadding<FactoredTensor<T>> =
    sizeof(FactoredTensor<T>) == 8 * sizeof(void*) + 10 * sizeof(std::int64_t) + sizeof(rules::Factoring) &&
    sizeof(rules::Factoring) == 2 * sizeof(std::int32_t) + 3 * sizeof(double);

namespace {

template <class T>
struct FactoredTensors {
  const FactoredTensor<T>* all;
  std::int64_t count;
  const kernels::StepScalars* scalars;

  GRADSTEP_DEVICE bool is_made(const Block& block) const { return block.checked(scalars)->gate != 0; }
  GRADSTEP_DEVICE const FactoredTensor<T>& of(const Block& block, std::int64_t k) const {
    return *block.checked(all + k);
  }
  /// The index of the block's tensor; `place` becomes the place among the blocks of that tensor.
  GRADSTEP_DEVICE std::int64_t find(const Block& block, std::int64_t FactoredTensor<T>::* blocks,
                                    std::int64_t& place) const {
    std::int64_t low = 0;
    for (std::int64_t high = count - 1; low < high;) {
      const std::int64_t middle = (low + high) / 2;
      if (block.index() < of(block, middle).*blocks) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    place = block.index() - (low > 0 ? of(block, low - 1).*blocks : 0);
    return low;
  }
};

/// A warp for each row.
template <class T>
struct AdvanceRows {
  static constexpr const char* kName = "advance_rows";
  static constexpr int kThreads = kRowsOfBlock * kWarp;
  static constexpr bool kWaits = true;

  FactoredTensors<T> tensors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    std::int64_t place = 0;
    const FactoredTensor<T>& tensor = tensors.of(block, tensors.find(block, &FactoredTensor<T>::row_blocks, place));
    const std::int64_t row = place * kRowsOfBlock + block.thread() / kWarp;
    const std::int64_t rows = tensor.outer * tensor.row_length * tensor.middle * tensor.inner;
    const bool exists = row < rows && tensors.is_made(block);
    const T* first = tensor.change + row / tensor.inner * tensor.column_length * tensor.inner + row % tensor.inner;
    double sum = 0;
    for (std::int64_t b = block.thread() % kWarp; exists && b < tensor.column_length; b += kWarp) {
      sum += tensor.form.square(block.load(first + b * tensor.inner));
    }
    sum = fold_warp(block, sum);
    if (!exists || block.thread() % kWarp != 0) return;
    const double mean = sum / static_cast<double>(tensor.column_length);
    block.store(tensor.row_factors + row, tensor.go_on(block, tensor.rows + row, tensor.step(block).keep, mean));
  }
};

/// A block has the columns of a warp, whose rows its warps share.
template <class T>
struct AdvanceColumns {
  static constexpr const char* kName = "advance_columns";
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / kWarp;
  struct Shared {
    double sums[kWarps][kWarp];
  };

  FactoredTensors<T> tensors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    std::int64_t place = 0;
    const FactoredTensor<T>& tensor = tensors.of(block, tensors.find(block, &FactoredTensor<T>::column_blocks, place));
    const int lane = block.thread() % kWarp;
    const int warp = block.thread() / kWarp;
    const std::int64_t column = place * kWarp + lane;
    const std::int64_t in_row = tensor.middle * tensor.column_length * tensor.inner;
    const bool exists = column < tensor.outer * in_row && tensors.is_made(block);
    const T* first = tensor.change + column / in_row * tensor.row_length * in_row + column % in_row;
    double sum = 0;
    for (std::int64_t a = warp; exists && a < tensor.row_length; a += kWarps) {
      sum += tensor.form.square(block.load(first + a * in_row));
    }
    shared.sums[warp][lane] = sum;
    block.sync();
    if (!exists || warp != 0) return;
    for (int w = 1; w < kWarps; ++w) sum += shared.sums[w][lane];
    const double mean = sum / static_cast<double>(tensor.row_length);
    const double kept = tensor.go_on(block, tensor.columns + column, tensor.step(block).keep, mean);
    block.store(tensor.column_factors + column, tensor.form.of_column(kept));
  }
};

/// A block for each matrix: what rows keep becomes their factors.
template <class T>
struct RowFactors {
  static constexpr const char* kName = "row_factors";
  static constexpr int kThreads = 512;
  struct Shared {
    double trees[kThreads];
    double mean;
  };

  FactoredTensors<T> tensors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    if (!tensors.is_made(block)) return;
    std::int64_t matrix = 0;
    const FactoredTensor<T>& tensor = tensors.of(block, tensors.find(block, &FactoredTensor<T>::matrices, matrix));
    const std::int64_t matrices = tensor.middle * tensor.inner;
    double* first = tensor.row_factors + matrix / matrices * tensor.row_length * matrices + matrix % matrices;
    const double sum = fold_by_block<double, kThreads>(
        block, tensor.row_length, shared.trees, [&](std::int64_t a) { return block.load(first + a * matrices); });
    if (block.thread() == 0) shared.mean = sum / static_cast<double>(tensor.row_length);
    block.sync();
    for (std::int64_t a = block.thread(); a < tensor.row_length; a += kThreads) {
      double* row = first + a * matrices;
      block.store(row, tensor.form.of_row(block.load(row), shared.mean));
    }
  }
};

/// A block has a chunk: gradients become directions.
template <class T>
struct DivideFactored {
  static constexpr const char* kName = "divide_factored";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  FactoredTensors<T> tensors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!tensors.is_made(block)) return;
    const Chunk chunk = block.load(chunks + block.index());
    const FactoredTensor<T>& tensor = tensors.of(block, chunk.item);
    const double keep = tensor.step(block).keep;
    const double bound = tensor.form.bound();
    for_each_element(block, chunk, [&](std::int64_t i) {
      const T g = block.load(tensor.change + i);
      double factor = 0;
      if (tensor.row_factors != nullptr) {
        factor = factor_at(block, tensor, i);
      } else {
        factor = tensor.form.of_element(tensor.go_on(block, tensor.rows + i, keep, tensor.form.square(g)));
      }
      block.store(tensor.change + i, static_cast<T>(static_cast<double>(g) * (factor < bound ? factor : bound)));
    });
  }

  GRADSTEP_DEVICE static double factor_at(const Block& block, const FactoredTensor<T>& tensor, std::int64_t i) {
    const std::int64_t in_row = tensor.middle * tensor.column_length * tensor.inner;
    const std::int64_t row = i / (tensor.column_length * tensor.inner) * tensor.inner + i % tensor.inner;
    const std::int64_t column = i / (tensor.row_length * in_row) * in_row + i % in_row;
    return block.load(tensor.row_factors + row) * block.load(tensor.column_factors + column);
  }
};

/// A block for each tensor, from sums of squares by chunk.
template <class T>
struct ScaleFactored {
  static constexpr const char* kName = "scale_factored";
  static constexpr int kThreads = 128;
  struct Shared {
    double trees[kThreads];
  };

  FactoredTensors<T> tensors;
  const double* directions;
  const double* parameters;
  double* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!tensors.is_made(block)) return;
    const FactoredTensor<T>& tensor = tensors.of(block, block.index());
    const double direction = tensor.form.clip_threshold > 0 ? sum(block, tensor, directions) : 0;
    block.sync();
    const double parameter = tensor.form.scales != 0 ? sum(block, tensor, parameters) : 0;
    if (block.thread() != 0) return;
    const double scale = tensor.form.scale(tensor.step(block).rate, direction, parameter, tensor.size);
    block.store(scales + block.index(), scale);
    block.store(tensor.factor, tensor.momentum != nullptr ? -1.0 : -scale);
  }

  GRADSTEP_DEVICE static double sum(Block& block, const FactoredTensor<T>& tensor, const double* squares) {
    const std::int64_t count = chunks_of(tensor.size);
    const double* first = squares + tensor.chunks - count;
    return fold_by_block(block, first, count, block.shared<Shared>().trees);
  }
};

/// A block has a chunk: directions become means with those before, where there is a momentum.
template <class T>
struct MixMomentum {
  static constexpr const char* kName = "mix_momentum";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  FactoredTensors<T> tensors;
  const double* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!tensors.is_made(block)) return;
    const Chunk chunk = block.load(chunks + block.index());
    const FactoredTensor<T>& tensor = tensors.of(block, chunk.item);
    if (tensor.momentum == nullptr) return;
    const rules::FactoringStep step = tensor.step(block);
    const auto keep = static_cast<T>(step.momentum);
    const auto take = static_cast<T>((1 - step.momentum) * block.load(scales + chunk.item));
    for_each_element(block, chunk, [&](std::int64_t i) {
      const T m = keep * block.load(tensor.momentum + i) + take * block.load(tensor.change + i);
      block.store(tensor.momentum + i, m);
      block.store(tensor.change + i, m);
    });
  }
};

/// The tensors of a type.
struct PreparedType {
  std::vector<const FactoredItem*> items;
  WorkList work;
  ChunkTable chunks;
  Table table;
  std::vector<Array> arrays[2];  ///< directions and parameters that are measured
  NormPlan norms[2];
  ScratchBuffer factors;
  ScratchBuffer squares;
  ScratchBuffer scales;
  std::int64_t factor_count = 0;
  bool has_momentum = false;

  std::size_t bytes() const {
    return held_bytes(items, work, chunks, table, arrays[0], arrays[1], norms[0].prepared, norms[1].prepared, factors,
                      squares, scales);
  }
};

struct PreparedFactors {
  PreparedType types[2];  ///< f32, f64

  std::size_t bytes() const { return held_bytes(types[0], types[1]); }
};

void add(PreparedType& type, const FactoredItem& item) {
  const auto asked = [](Array array, bool is_measured) {
    if (!is_measured) array.data = nullptr;
    return array;
  };
  type.items.push_back(&item);
  type.work.append(item.change.size);
  type.arrays[0].push_back(asked(item.change, item.form.clip_threshold > 0));
  type.arrays[1].push_back(asked(item.value, item.form.scales != 0));
  if (item.axes.are_factored) type.factor_count += item.axes.row_count() + item.axes.column_count();
  type.has_momentum = type.has_momentum || item.momentum != nullptr;
}

template <class T>
void factorize_type(PreparedType& type, const kernels::StepScalars* scalars, CudaQueue& queue) {
  const auto count = static_cast<std::int64_t>(type.items.size());
  if (count == 0) return;
  auto* factors = type.factors.of<double>(queue, type.factor_count);
  auto* scales = type.scales.of<double>(queue, count);
  const Chunks chunks = type.chunks.of(type.work, queue);
  std::vector<FactoredTensor<T>> tensors;
  FactoredTensor<T> ends{};
  for (const FactoredItem* item : type.items) {
    const rules::FactoredAxes& axes = item->axes;
    FactoredTensor<T>& tensor = tensors.emplace_back(ends);
    tensor.change = static_cast<T*>(item->change.data);
    tensor.rows = static_cast<T*>(item->rows);
    tensor.columns = static_cast<T*>(item->columns);
    tensor.momentum = static_cast<T*>(item->momentum);
    tensor.constants = item->constants;
    tensor.factor = item->factor;
    tensor.form = item->form;
    tensor.outer = axes.outer;
    tensor.row_length = axes.rows;
    tensor.middle = axes.middle;
    tensor.column_length = axes.columns;
    tensor.inner = axes.inner;
    tensor.size = item->change.size;
    tensor.chunks += parts_of(tensor.size, kChunk);
    if (axes.are_factored) {
      tensor.row_factors = factors;
      tensor.column_factors = factors + axes.row_count();
      factors += axes.row_count() + axes.column_count();
      tensor.row_blocks += parts_of(axes.row_count(), kRowsOfBlock);
      tensor.column_blocks += parts_of(axes.column_count(), kWarp);
      tensor.matrices += axes.matrix_count();
    }
    ends = {};
    ends.row_blocks = tensor.row_blocks;
    ends.column_blocks = tensor.column_blocks;
    ends.matrices = tensor.matrices;
    ends.chunks = tensor.chunks;
  }
  type.table.begin(queue);
  const auto section = type.table.add(tensors);
  type.table.send();
  const FactoredTensors<T> shown{type.table.at(section), count, scalars};
  launch(queue, ends.row_blocks, AdvanceRows<T>{shown});
  launch(queue, ends.column_blocks, AdvanceColumns<T>{shown});
  launch(queue, ends.matrices, RowFactors<T>{shown});
  launch(queue, chunks.count, DivideFactored<T>{chunks.chunks, shown});
  auto* squares = type.squares.of<double>(queue, 2 * chunks.count);
  for (int k = 0; k < 2; ++k) {
    const auto is_measured = [](const Array& array) { return array.data != nullptr; };
    if (!std::ranges::any_of(type.arrays[k], is_measured)) continue;
    type.norms[k].work = &type.work;
    type.norms[k].arrays = {type.arrays[k], 0};
    square_chunks(type.norms[k], 1, squares + k * chunks.count, queue);
  }
  launch(queue, count, ScaleFactored<T>{shown, squares, squares + chunks.count, scales});
  if (type.has_momentum) launch(queue, chunks.count, MixMomentum<T>{chunks.chunks, shown, scales});
}

}  // namespace

void reserve_factored(const FactoredPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedFactors>();
  if (!form.types[0].items.empty() || !form.types[1].items.empty()) return;
  for (const FactoredItem& item : plan.items) {
    if (item.change.data == nullptr || item.change.size == 0) continue;
    add(form.types[item.change.dtype == DType::f64 ? 1 : 0], item);
  }
  for (PreparedType& type : form.types) {
    const auto count = static_cast<std::int64_t>(type.items.size());
    if (count == 0) continue;
    type.factors.of<double>(queue, type.factor_count);
    type.scales.of<double>(queue, count);
    type.squares.of<double>(queue, 2 * std::ssize(type.work.chunks()));
  }
}

void factorize(const FactoredPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedFactors>();
  factorize_type<float>(form.types[0], scalars, queue);
  factorize_type<double>(form.types[1], scalars, queue);
}

}  // namespace gradstep::cuda
