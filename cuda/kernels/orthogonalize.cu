// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Newton-Schulz iterations (rules/newton_schulz.h): matrices of one shape are worked on side by side, by cuBLAS.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "device/chunk.h"
#include "device/reduce.h"
#include "libraries/cublas.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// Scratch of matrices that are worked on together, in numbers. A single matrix may need more.
constexpr std::int64_t kBatchScratch = std::int64_t{32} << 20;

/// A matrix, and where its partials begin.
struct RawMatrix {
  void* numbers;
  std::int64_t first;
};

/// A block for each matrix: what it is multiplied by at first.
struct OrthogonalFactors {
  static constexpr const char* kName = "orthogonal_factors";
  static constexpr int kThreads = 128;
  struct Shared {
    double trees[kThreads];
  };

  const RawMatrix* matrices;
  std::int64_t partials_of_each;
  rules::NewtonSchulz form;
  const double* squares;
  double* factors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const RawMatrix& matrix = *block.checked(matrices + block.index());
    const double all =
        fold_by_block<double, kThreads>(block, partials_of_each, block.shared<Shared>().trees,
                                        [&](std::int64_t i) { return block.load(squares + matrix.first + i); });
    if (block.thread() == 0) block.store(factors + block.index(), form.factor(kernels::square_root(all)));
  }
};

/// Into scratch, where they lie side by side; a block has a chunk.
template <class T>
struct NormalizeMatrices {
  static constexpr const char* kName = "normalize_matrices";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  const RawMatrix* matrices;
  const double* factors;
  std::int64_t size;
  T* x;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const T* from = static_cast<const T*>(block.checked(matrices + chunk.item)->numbers);
    const T factor = static_cast<T>(block.load(factors + chunk.item));
    T* to = x + chunk.item * size;
    for_each_element(block, chunk, [&](std::int64_t i) { block.store(to + i, block.load(from + i) * factor); });
  }
};

template <class T>
struct WriteOrthogonal {
  static constexpr const char* kName = "write_orthogonal";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  const RawMatrix* matrices;
  std::int64_t size;
  const T* x;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    T* to = static_cast<T*>(block.checked(matrices + chunk.item)->numbers);
    const T* from = x + chunk.item * size;
    for_each_element(block, chunk, [&](std::int64_t i) { block.store(to + i, block.load(from + i)); });
  }
};

/// Matrices of one shape that are orthogonalized alike.
struct OrthogonalBatch {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  DType dtype = DType::f32;
  rules::NewtonSchulz form;
  std::vector<Array> arrays;
  std::vector<RawMatrix> matrices;
  WorkList work;
  NormPlan norms;
  ChunkTable chunks;
  Table table;

  std::int64_t size() const { return rows * columns; }
  std::int64_t square() const { return std::min(rows, columns) * std::min(rows, columns); }
  std::int64_t count() const { return static_cast<std::int64_t>(matrices.size()); }
  /// Numbers: X and its successor, A and B.
  std::int64_t scratch() const { return count() * 2 * (size() + square()); }

  bool takes(const OrthogonalItem& item) const {
    return item.rows == rows && item.columns == columns && item.matrix.dtype == dtype && item.form == form &&
           (count() + 1) * 2 * (size() + square()) <= kBatchScratch;
  }
  void add(const Array& matrix) {
    matrices.push_back({matrix.data, static_cast<std::int64_t>(work.chunks().size())});
    arrays.push_back(matrix);
    work.append(matrix.size);
  }
};

struct PreparedOrthogonal {
  std::unique_ptr<Cublas> cublas;
  std::vector<std::unique_ptr<OrthogonalBatch>> batches;
  ScratchBuffer scratch;
  ScratchBuffer squares;
  ScratchBuffer factors;
  std::int64_t scratch_bytes = 0;
  std::int64_t most_chunks = 0;
  std::int64_t most_matrices = 0;
};

void make_batches(PreparedOrthogonal& form, const OrthogonalPlan& plan) {
  for (const OrthogonalItem& item : plan.items) {
    if (item.matrix.data == nullptr || item.matrix.size == 0) continue;
    auto batch = std::ranges::find_if(form.batches, [&](const auto& known) { return known->takes(item); });
    if (batch == form.batches.end()) {
      auto made = std::make_unique<OrthogonalBatch>();
      made->rows = item.rows;
      made->columns = item.columns;
      made->dtype = item.matrix.dtype;
      made->form = item.form;
      batch = form.batches.insert(form.batches.end(), std::move(made));
    }
    (*batch)->add(item.matrix);
  }
  for (const auto& batch : form.batches) {
    batch->norms.work = &batch->work;
    batch->norms.arrays = {batch->arrays, 0};
    form.scratch_bytes = std::max(form.scratch_bytes, batch->scratch() * size_of(batch->dtype));
    form.most_chunks = std::max(form.most_chunks, static_cast<std::int64_t>(batch->work.chunks().size()));
    form.most_matrices = std::max(form.most_matrices, batch->count());
  }
}

template <class T>
void orthogonalize_batch(PreparedOrthogonal& form, OrthogonalBatch& batch, CudaQueue& queue) {
  batch.table.begin(queue);
  const auto section = batch.table.add(batch.matrices);
  batch.table.send();
  const RawMatrix* matrices = batch.table.at(section);
  const Chunks chunks = batch.chunks.of(batch.work, queue);
  auto* squares = form.squares.of<double>(queue, form.most_chunks);
  auto* factors = form.factors.of<double>(queue, form.most_matrices);
  const std::int64_t size = batch.size();
  const std::int64_t square = batch.square();
  const std::int64_t count = batch.count();
  const std::int64_t n = std::min(batch.rows, batch.columns);
  T* x = reinterpret_cast<T*>(form.scratch.of<std::byte>(queue, form.scratch_bytes));
  T* next = x + count * size;
  T* a = next + count * size;
  T* b = a + count * square;
  square_chunks(batch.norms, 1, squares, queue);
  launch(queue, count, OrthogonalFactors{matrices, (size + kChunk - 1) / kChunk, batch.form, squares, factors});
  launch(queue, chunks.count, NormalizeMatrices<T>{chunks.chunks, matrices, factors, size, x});
  const bool is_tall = batch.rows > batch.columns;
  Cublas& cublas = *form.cublas;
  for (std::int32_t k = 0; k < batch.form.iterations; ++k) {
    const rules::NewtonSchulzStep step = batch.form.step(k);
    const MatrixBatch<const T> xs{x, batch.rows, batch.columns, size};
    const MatrixBatch<const T> as{a, n, n, square};
    const MatrixBatch<const T> bs{b, n, n, square};
    cublas.multiply<T>(is_tall ? transposed(xs) : xs, is_tall ? xs : transposed(xs), {a, n, n, square}, count, queue);
    queue.copy(b, a, static_cast<std::size_t>(count * square) * sizeof(T));
    cublas.add_product<T>(static_cast<T>(step.c), as, as, static_cast<T>(step.b), {b, n, n, square}, count, queue);
    queue.copy(next, x, static_cast<std::size_t>(count * size) * sizeof(T));
    cublas.add_product<T>(1, is_tall ? xs : bs, is_tall ? bs : xs, static_cast<T>(step.a),
                          {next, batch.rows, batch.columns, size}, count, queue);
    std::swap(x, next);
  }
  launch(queue, chunks.count, WriteOrthogonal<T>{chunks.chunks, matrices, size, x});
}

}  // namespace

void reserve_orthogonal(const OrthogonalPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedOrthogonal>();
  if (form.cublas != nullptr) return;
  form.cublas = std::make_unique<Cublas>(queue.device());
  make_batches(form, plan);
  form.scratch.of<std::byte>(queue, form.scratch_bytes);
}

void orthogonalize(const OrthogonalPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedOrthogonal>();
  for (const auto& batch : form.batches) {
    const auto run = batch->dtype == DType::f64 ? orthogonalize_batch<double> : orthogonalize_batch<float>;
    run(form, *batch, queue);
  }
}

}  // namespace gradstep::cuda
