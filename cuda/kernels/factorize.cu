// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Second moments in factors (rules/factoring.h), one tensor after the other.
#include <algorithm>
#include <memory>
#include <vector>

#include "device/chunk.h"
#include "device/reduce.h"
#include "operations.h"
#include "rules/constants.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// FactoredItem, as kernels see it, with scratch for its factors.
template <class T>
struct FactoredTensor {
  T* change;
  T* rows;
  T* columns;
  T* momentum;
  const rules::GroupConstants* constants;
  const kernels::StepScalars* scalars;
  rules::Factoring form;
  rules::FactoredAxes axes;
  std::int64_t size;
  double* row_factors;
  double* column_factors;
  double* means;  ///< sums of the rows of each matrix
  double* norms;  ///< of the direction, of the parameter

  GRADSTEP_DEVICE rules::FactoringStep step(const Block& block) const {
    return rules::factoring_step(block.checked(constants)->usual);
  }
  GRADSTEP_DEVICE bool is_made(const Block& block) const { return block.checked(scalars)->gate != 0; }
  /// Takes a mean square in, and returns what is kept.
  GRADSTEP_DEVICE double go_on(const Block& block, T* kept, double keep, double now) const {
    const auto next = static_cast<T>(keep * static_cast<double>(block.load(kept)) + (1 - keep) * now);
    block.store(kept, next);
    return static_cast<double>(next);
  }
};

/// A warp for each row.
template <class T>
struct AdvanceRows {
  static constexpr const char* kName = "advance_rows";
  static constexpr int kThreads = 256;
  static constexpr bool kWaits = true;
  static constexpr int kWarps = kThreads / kWarp;

  FactoredTensor<T> tensor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const rules::FactoredAxes& axes = tensor.axes;
    const std::int64_t row = block.index() * kWarps + block.thread() / kWarp;
    const bool exists = row < axes.row_count() && tensor.is_made(block);
    const T* first = tensor.change + row / axes.inner * axes.columns * axes.inner + row % axes.inner;
    double sum = 0;
    for (std::int64_t b = block.thread() % kWarp; exists && b < axes.columns; b += kWarp) {
      sum += tensor.form.square(block.load(first + b * axes.inner));
    }
    sum = fold_warp(block, sum);
    if (!exists || block.thread() % kWarp != 0) return;
    const double mean = sum / static_cast<double>(axes.columns);
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

  FactoredTensor<T> tensor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const rules::FactoredAxes& axes = tensor.axes;
    const int lane = block.thread() % kWarp;
    const int warp = block.thread() / kWarp;
    const std::int64_t column = block.index() * kWarp + lane;
    const bool exists = column < axes.column_count() && tensor.is_made(block);
    const std::int64_t in_row = axes.middle * axes.columns * axes.inner;
    const T* first = tensor.change + column / in_row * axes.rows * in_row + column % in_row;
    double sum = 0;
    for (std::int64_t a = warp; exists && a < axes.rows; a += kWarps) {
      sum += tensor.form.square(block.load(first + a * in_row));
    }
    shared.sums[warp][lane] = sum;
    block.sync();
    if (!exists || warp != 0) return;
    for (int w = 1; w < kWarps; ++w) sum += shared.sums[w][lane];
    const double mean = sum / static_cast<double>(axes.rows);
    const double kept = tensor.go_on(block, tensor.columns + column, tensor.step(block).keep, mean);
    block.store(tensor.column_factors + column, tensor.form.of_column(kept));
  }
};

/// A block for each matrix sums its rows.
template <class T>
struct SumRows {
  static constexpr const char* kName = "sum_rows";
  static constexpr int kThreads = 128;
  struct Shared {
    double trees[kThreads];
  };

  FactoredTensor<T> tensor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const rules::FactoredAxes& axes = tensor.axes;
    const std::int64_t matrices = axes.middle * axes.inner;
    const double* first =
        tensor.row_factors + block.index() / matrices * axes.rows * matrices + block.index() % matrices;
    const double sum =
        fold_by_block<double, kThreads>(block, axes.rows, block.shared<Shared>().trees,
                                        [&](std::int64_t a) { return block.load(first + a * matrices); });
    if (block.thread() == 0) block.store(tensor.means + block.index(), sum);
  }
};

template <class T>
struct RowFactors {
  static constexpr const char* kName = "row_factors";
  static constexpr int kThreads = 256;

  FactoredTensor<T> tensor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const rules::FactoredAxes& axes = tensor.axes;
    const std::int64_t row = element_of(block);
    if (row >= axes.row_count() || !tensor.is_made(block)) return;
    const std::int64_t matrices = axes.middle * axes.inner;
    const std::int64_t matrix = row / (matrices * axes.rows) * matrices + row % matrices;
    const double mean = block.load(tensor.means + matrix) / static_cast<double>(axes.rows);
    block.store(tensor.row_factors + row, tensor.form.of_row(block.load(tensor.row_factors + row), mean));
  }
};

/// A block has a chunk: gradients become directions.
template <class T>
struct DivideFactored {
  static constexpr const char* kName = "divide_factored";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  FactoredTensor<T> tensor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!tensor.is_made(block)) return;
    const Chunk chunk = block.load(chunks + block.index());
    const double keep = tensor.step(block).keep;
    for_each_element(block, chunk, [&](std::int64_t i) {
      const T g = block.load(tensor.change + i);
      double factor = 0;
      if (tensor.axes.are_factored) {
        factor = factor_at(block, i);
      } else {
        factor = tensor.form.of_element(tensor.go_on(block, tensor.rows + i, keep, tensor.form.square(g)));
      }
      const double bound = tensor.form.bound();
      block.store(tensor.change + i, static_cast<T>(static_cast<double>(g) * (factor < bound ? factor : bound)));
    });
  }

  GRADSTEP_DEVICE double factor_at(const Block& block, std::int64_t i) const {
    const rules::FactoredAxes& axes = tensor.axes;
    const std::int64_t in_row = axes.middle * axes.columns * axes.inner;
    const std::int64_t row = i / (axes.columns * axes.inner) * axes.inner + i % axes.inner;
    const std::int64_t column = i / (axes.rows * in_row) * in_row + i % in_row;
    return block.load(tensor.row_factors + row) * block.load(tensor.column_factors + column);
  }
};

/// A block has a chunk: directions become changes.
template <class T>
struct FinishFactored {
  static constexpr const char* kName = "finish_factored";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  FactoredTensor<T> tensor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (!tensor.is_made(block)) return;
    const Chunk chunk = block.load(chunks + block.index());
    const rules::FactoringStep step = tensor.step(block);
    const double direction = block.load(tensor.norms);
    const double parameter = block.load(tensor.norms + 1);
    const double scale = tensor.form.scale(step.rate, direction * direction, parameter * parameter, tensor.size);
    const auto keep = static_cast<T>(step.momentum);
    const auto take = static_cast<T>((1 - step.momentum) * scale);
    for_each_element(block, chunk, [&](std::int64_t i) {
      const T u = block.load(tensor.change + i);
      if (tensor.momentum == nullptr) {
        block.store(tensor.change + i, u * static_cast<T>(-scale));
        return;
      }
      const T m = keep * block.load(tensor.momentum + i) + take * u;
      block.store(tensor.momentum + i, m);
      block.store(tensor.change + i, -m);
    });
  }
};

/// A tensor of a plan, with what measures it.
struct PreparedTensor {
  explicit PreparedTensor(const FactoredItem& shown) : item(shown), arrays{shown.change, shown.value} {
    work.append(shown.change.size);
    for (int k = 0; k < 2; ++k) {
      norms[k].work = &work;
      norms[k].arrays = {{&arrays[k], 1}, 0};
    }
  }

  const FactoredItem& item;
  Array arrays[2];
  WorkList work;
  NormPlan norms[2];
  ChunkTable chunks;
};

struct PreparedFactors {
  std::vector<std::unique_ptr<PreparedTensor>> tensors;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t matrices = 0;
  ScratchBuffer row_factors;
  ScratchBuffer column_factors;
  ScratchBuffer means;
  ScratchBuffer norms;
};

template <class T>
void factorize_tensor(PreparedFactors& form, PreparedTensor& prepared, const kernels::StepScalars* scalars,
                      CudaQueue& queue) {
  const FactoredItem& item = prepared.item;
  const rules::FactoredAxes& axes = item.axes;
  auto* norms = form.norms.of<double>(queue, 2);
  const FactoredTensor<T> tensor{static_cast<T*>(item.change.data),
                                 static_cast<T*>(item.rows),
                                 static_cast<T*>(item.columns),
                                 static_cast<T*>(item.momentum),
                                 item.constants,
                                 scalars,
                                 item.form,
                                 axes,
                                 item.change.size,
                                 form.row_factors.of<double>(queue, form.rows),
                                 form.column_factors.of<double>(queue, form.columns),
                                 form.means.of<double>(queue, form.matrices),
                                 norms};
  const Chunks chunks = prepared.chunks.of(prepared.work, queue);
  if (axes.are_factored) {
    launch(queue, parts_of(axes.row_count(), AdvanceRows<T>::kWarps), AdvanceRows<T>{tensor});
    launch(queue, parts_of(axes.column_count(), kWarp), AdvanceColumns<T>{tensor});
    launch(queue, axes.matrix_count(), SumRows<T>{tensor});
    launch_each(queue, axes.row_count(), RowFactors<T>{tensor});
  }
  launch(queue, chunks.count, DivideFactored<T>{chunks.chunks, tensor});
  if (item.form.clip_threshold > 0) measure(prepared.norms[0], norms, queue);
  if (item.form.scales != 0) measure(prepared.norms[1], norms + 1, queue);
  launch(queue, chunks.count, FinishFactored<T>{chunks.chunks, tensor});
}

}  // namespace

void reserve_factored(const FactoredPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedFactors>();
  if (!form.tensors.empty()) return;
  for (const FactoredItem& item : plan.items) {
    if (item.change.data == nullptr || item.change.size == 0) continue;
    form.tensors.push_back(std::make_unique<PreparedTensor>(item));
    if (!item.axes.are_factored) continue;
    form.rows = std::max(form.rows, item.axes.row_count());
    form.columns = std::max(form.columns, item.axes.column_count());
    form.matrices = std::max(form.matrices, item.axes.matrix_count());
  }
  form.row_factors.of<double>(queue, form.rows);
  form.column_factors.of<double>(queue, form.columns);
  form.means.of<double>(queue, form.matrices);
  form.norms.of<double>(queue, 2);
}

void factorize(const FactoredPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedFactors>();
  for (const auto& tensor : form.tensors) {
    const auto run = tensor->item.change.dtype == DType::f64 ? factorize_tensor<double> : factorize_tensor<float>;
    run(form, *tensor, scalars, queue);
  }
}

}  // namespace gradstep::cuda
