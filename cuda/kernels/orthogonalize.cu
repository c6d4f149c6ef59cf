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
#include "kernels/convert.h"
#include "libraries/cublas.h"
#include "operations.h"
#include "rules/constants.h"
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
  void* variances;  ///< NULL = it has none
  const rules::GroupConstants* constants;
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
    const double all = fold_by_block(block, squares + matrix.first, partials_of_each, block.shared<Shared>().trees);
    if (block.thread() == 0) block.store(factors + block.index(), form.factor(kernels::square_root(all)));
  }
};

/// From numbers of Stored into scratch of T, where they lie side by side; a block has a chunk.
template <class Stored, class T>
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
    const Stored* from = static_cast<const Stored*>(block.checked(matrices + chunk.item)->numbers);
    const Stored factor = static_cast<Stored>(block.load(factors + chunk.item));
    T* to = x + chunk.item * size;
    for_each_element(block, chunk,
                     [&](std::int64_t i) { block.store(to + i, kernels::convert<T>(block.load(from + i) * factor)); });
  }
};

template <class Stored, class T>
struct WriteOrthogonal {
  static constexpr const char* kName = "write_orthogonal";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  const RawMatrix* matrices;
  std::int64_t size;
  const T* x;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    Stored* to = static_cast<Stored*>(block.checked(matrices + chunk.item)->numbers);
    const T* from = x + chunk.item * size;
    for_each_element(block, chunk, [&](std::int64_t i) {
      block.store(to + i, static_cast<Stored>(kernels::widen(block.load(from + i))));
    });
  }
};

/// A thread for each place of the diagonals of n x n matrices that lie side by side.
template <class T>
struct AddToDiagonals {
  static constexpr const char* kName = "add_to_diagonals";
  static constexpr int kThreads = 128;

  std::int64_t n;
  std::int64_t total;  ///< places of all matrices
  SumOf<T> number;
  T* matrices;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t place = block.index() * kThreads + block.thread();
    if (place >= total) return;
    T* diagonal = matrices + place / n * n * n + place % n * (n + 1);
    block.store(diagonal, kernels::convert<T>(kernels::widen(block.load(diagonal)) + number));
  }
};

/// What a unit of a matrix, a row for example, is multiplied by, and its sum of squares.
struct UnitFactor {
  double factor;
  double squares;
};

/// The units of matrices of one shape.
struct VarianceUnits {
  rules::Variance form;
  std::int64_t rows;
  std::int64_t columns;

  GRADSTEP_DEVICE std::int64_t count() const { return form.count(rows, columns); }
  GRADSTEP_DEVICE std::int64_t length() const { return rows * columns / count(); }
  GRADSTEP_DEVICE bool are_columns() const {
    return form.of == rules::VarianceOf::longer && !form.is_of_rows(rows, columns);
  }
  /// The unit that element i is of.
  GRADSTEP_DEVICE std::int64_t of(std::int64_t i) const {
    if (form.of == rules::VarianceOf::elements) return i;
    return are_columns() ? i % columns : i / columns;
  }
  GRADSTEP_DEVICE std::int64_t element(std::int64_t unit, std::int64_t i) const {
    return are_columns() ? i * columns + unit : unit * length() + i;
  }
};

/// A warp for each unit: its variance takes it in, if the step is made.
template <class T>
struct AdvanceVariance {
  static constexpr const char* kName = "advance_variance";
  static constexpr int kThreads = 256;
  static constexpr bool kWaits = true;
  static constexpr int kWarps = kThreads / kWarp;

  const RawMatrix* matrices;
  VarianceUnits units;
  std::int64_t total;  ///< units of all matrices
  const kernels::StepScalars* scalars;
  UnitFactor* factors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t place = block.index() * kWarps + block.thread() / kWarp;
    const std::int64_t count = units.count();
    const std::int64_t matrix = place / count;
    const std::int64_t unit = place % count;
    const std::int64_t length = place < total ? units.length() : 0;
    const RawMatrix& item = *block.checked(matrices + (place < total ? matrix : 0));
    const T* numbers = static_cast<const T*>(item.numbers);
    double sum = 0;
    for (std::int64_t i = block.thread() % kWarp; i < length; i += kWarp) {
      const auto number = static_cast<double>(block.load(numbers + units.element(unit, i)));
      sum += number * number;
    }
    sum = fold_warp(block, sum);
    if (place >= total || block.thread() % kWarp != 0) return;
    const rules::VarianceStep step = rules::variance_step(block.checked(item.constants)->usual);
    T* kept = static_cast<T*>(item.variances) + unit;
    T variance = block.load(kept);
    if (block.checked(scalars)->gate != 0) {
      variance = static_cast<T>(step.next(static_cast<double>(variance), sum / static_cast<double>(length)));
      block.store(kept, variance);
    }
    *block.checked(factors + place) = {units.form.factor(static_cast<double>(variance), step.correct), sum};
  }
};

/// A block for each matrix: what the whole is multiplied by.
struct VarianceScales {
  static constexpr const char* kName = "variance_scales";
  static constexpr int kThreads = 128;
  struct Shared {
    double trees[kThreads];
  };

  VarianceUnits units;
  const UnitFactor* factors;
  double* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t count = units.count();
    const UnitFactor* own = block.checked(factors + block.index() * count, count);
    auto& trees = block.shared<Shared>().trees;
    const double before =
        fold_by_block<double, kThreads>(block, count, trees, [&](std::int64_t i) { return own[i].squares; });
    block.sync();
    const double after = fold_by_block<double, kThreads>(
        block, count, trees, [&](std::int64_t i) { return own[i].squares * own[i].factor * own[i].factor; });
    if (block.thread() == 0)
      block.store(scales + block.index(), units.form.scale(before, after, units.rows, units.columns));
  }
};

/// A block has a chunk.
template <class T>
struct DivideByVariance {
  static constexpr const char* kName = "divide_by_variance";
  static constexpr int kThreads = kChunkThreads;

  const Chunk* chunks;
  const RawMatrix* matrices;
  VarianceUnits units;
  const UnitFactor* factors;
  const double* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const T scale = static_cast<T>(block.load(scales + chunk.item));
    T* numbers = static_cast<T*>(block.checked(matrices + chunk.item)->numbers);
    const UnitFactor* own = factors + chunk.item * units.count();
    for_each_element(block, chunk, [&](std::int64_t i) {
      const T factor = static_cast<T>(block.load(&own[units.of(i)].factor));
      block.store(numbers + i, block.load(numbers + i) * factor * scale);
    });
  }
};

/// Matrices of one shape that are orthogonalized alike.
struct OrthogonalBatch {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  DType dtype = DType::f32;
  rules::NewtonSchulz form;
  rules::Variance variance;
  std::vector<Array> arrays;
  std::vector<RawMatrix> matrices;
  WorkList work;
  NormPlan norms;
  ChunkTable chunks;
  Table table;

  std::size_t bytes() const { return held_bytes(arrays, matrices, work, chunks, table, norms.prepared); }
  std::int64_t size() const { return rows * columns; }
  std::int64_t square() const { return std::min(rows, columns) * std::min(rows, columns); }
  std::int64_t count() const { return static_cast<std::int64_t>(matrices.size()); }
  bool is_of_bf16() const { return form.precision == rules::IteratePrecision::bf16; }
  bool uses_gram() const { return form.uses_gram(rows, columns); }
  /// Numbers for each matrix: X and its successor, A and B; for Gram iterations Q and a successor too.
  std::int64_t scratch_of_each() const { return 2 * (size() + (uses_gram() ? 2 : 1) * square()); }
  std::int64_t scratch_bytes() const {
    return count() * scratch_of_each() * size_of(is_of_bf16() ? DType::bf16 : dtype);
  }

  bool takes(const OrthogonalItem& item) const {
    return item.rows == rows && item.columns == columns && item.matrix.dtype == dtype && item.form == form &&
           item.variance == variance && (count() + 1) * scratch_of_each() <= kBatchScratch;
  }
  void add(const OrthogonalItem& item) {
    matrices.push_back(
        {item.matrix.data, static_cast<std::int64_t>(work.chunks().size()), item.variances, item.constants});
    arrays.push_back(item.matrix);
    work.append(item.matrix.size);
  }
};

struct PreparedOrthogonal {
  std::unique_ptr<Cublas> cublas;
  std::vector<std::unique_ptr<OrthogonalBatch>> batches;
  ScratchBuffer scratch;
  ScratchBuffer squares;
  ScratchBuffer factors;
  ScratchBuffer unit_factors;
  std::int64_t scratch_bytes = 0;
  std::int64_t most_chunks = 0;
  std::int64_t most_matrices = 0;
  std::int64_t most_units = 0;

  std::size_t bytes() const { return held_bytes(cublas, batches, scratch, squares, factors, unit_factors); }
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
      made->variance = item.variance;
      batch = form.batches.insert(form.batches.end(), std::move(made));
    }
    (*batch)->add(item);
  }
  for (const auto& batch : form.batches) {
    batch->norms.work = &batch->work;
    batch->norms.arrays = {batch->arrays, 0};
    form.scratch_bytes = std::max(form.scratch_bytes, batch->scratch_bytes());
    form.most_chunks = std::max(form.most_chunks, static_cast<std::int64_t>(batch->work.chunks().size()));
    form.most_matrices = std::max(form.most_matrices, batch->count());
    form.most_units = std::max(form.most_units, batch->count() * batch->variance.count(batch->rows, batch->columns));
  }
}

template <class T>
void divide_by_variance(PreparedOrthogonal& form, const OrthogonalBatch& batch, const RawMatrix* matrices,
                        const Chunks& chunks, const kernels::StepScalars* scalars, CudaQueue& queue) {
  const VarianceUnits units{batch.variance, batch.rows, batch.columns};
  const std::int64_t total = batch.count() * batch.variance.count(batch.rows, batch.columns);
  if (total == 0) return;
  auto* factors = form.unit_factors.of<UnitFactor>(queue, form.most_units);
  auto* scales = form.factors.of<double>(queue, form.most_matrices);
  launch(queue, parts_of(total, AdvanceVariance<T>::kWarps),
         AdvanceVariance<T>{matrices, units, total, scalars, factors});
  launch(queue, batch.count(), VarianceScales{units, factors, scales});
  launch(queue, chunks.count, DivideByVariance<T>{chunks.chunks, matrices, units, factors, scales});
}

/// The iterations of a batch in numbers of T, as those of one matrix on the host.
template <class T>
class Iteration {
 public:
  Iteration(PreparedOrthogonal& form, const OrthogonalBatch& batch, CudaQueue& queue)
      : batch_(batch),
        cublas_(*form.cublas),
        queue_(queue),
        count_(batch.count()),
        n_(std::min(batch.rows, batch.columns)) {
    x_ = reinterpret_cast<T*>(form.scratch.of<std::byte>(queue, form.scratch_bytes));
    next_ = x_ + count_ * batch.size();
    a_ = next_ + count_ * batch.size();
    b_ = a_ + count_ * batch.square();
    q_ = b_ + count_ * batch.square();
    turned_ = q_ + count_ * batch.square();
  }

  T* x() { return x_; }

  // The operations of rules::NewtonSchulz::run.

  /// A = X X^T.
  void square() {
    const Batch xs{x_, batch_.rows, batch_.columns, batch_.size()};
    cublas_.multiply<T>(is_tall() ? transposed(xs) : xs, is_tall() ? xs : transposed(xs), {a_, n_, n_, batch_.square()},
                        count_, queue_);
  }

  /// B = b A + c A^2.
  void make_polynomial(const rules::NewtonSchulzStep& step) {
    copy(a_, b_, batch_.square());
    add(step.c, of_square(a_), of_square(a_), step.b, b_);
  }

  /// X = a X + B X.
  void multiply_by_polynomial(double a) { multiply_x(b_, a); }
  void multiply_by_q() { multiply_x(q_, 0); }

  /// Q = a I + Z.
  void begin_q(double a) {
    copy(b_, q_, batch_.square());
    const std::int64_t total = count_ * n_;
    launch(queue_, parts_of(total, AddToDiagonals<T>::kThreads),
           AddToDiagonals<T>{n_, total, static_cast<SumOf<T>>(a), q_});
  }

  /// Q = a Q + Q Z.
  void advance_q(double a) {
    copy(q_, turned_, batch_.square());
    add(1, of_square(q_), of_square(b_), a, turned_);
    std::swap(q_, turned_);
  }

  /// R = (a I + Z) (a R + R Z).
  void advance_gram(double a) {
    copy(a_, turned_, batch_.square());
    add(1, of_square(a_), of_square(b_), a, turned_);
    copy(turned_, a_, batch_.square());
    add(1, of_square(b_), of_square(turned_), a, a_);
  }

 private:
  using Batch = MatrixBatch<const T>;

  bool is_tall() const { return batch_.rows > batch_.columns; }
  Batch of_square(const T* first) const { return {first, n_, n_, batch_.square()}; }
  void copy(const T* from, T* to, std::int64_t size) {
    queue_.copy(to, from, static_cast<std::size_t>(count_ * size) * sizeof(T));
  }
  /// to = keep to + factor f g.
  void add(double factor, const Batch& f, const Batch& g, double keep, T* to) {
    const MatrixBatch<T> sum{to, n_, n_, batch_.square()};
    cublas_.add_product<T>(static_cast<SumOf<T>>(factor), f, g, static_cast<SumOf<T>>(keep), sum, count_, queue_);
  }

  /// X = keep X + F X.
  void multiply_x(const T* f, double keep) {
    const Batch xs{x_, batch_.rows, batch_.columns, batch_.size()};
    if (keep != 0) copy(x_, next_, batch_.size());
    cublas_.add_product<T>(1, is_tall() ? xs : of_square(f), is_tall() ? of_square(f) : xs, static_cast<SumOf<T>>(keep),
                           {next_, batch_.rows, batch_.columns, batch_.size()}, count_, queue_);
    std::swap(x_, next_);
  }

  const OrthogonalBatch& batch_;
  Cublas& cublas_;
  CudaQueue& queue_;
  std::int64_t count_;
  std::int64_t n_;
  T* x_;
  T* next_;
  T* a_;
  T* b_;
  T* q_;
  T* turned_;
};

/// Matrices of numbers of Stored, whose iterates are of T.
template <class Stored, class T>
void orthogonalize_batch(PreparedOrthogonal& form, OrthogonalBatch& batch, const kernels::StepScalars* scalars,
                         CudaQueue& queue) {
  batch.table.begin(queue);
  const auto section = batch.table.add(batch.matrices);
  batch.table.send();
  const RawMatrix* matrices = batch.table.at(section);
  const Chunks chunks = batch.chunks.of(batch.work, queue);
  auto* squares = form.squares.of<double>(queue, form.most_chunks);
  auto* factors = form.factors.of<double>(queue, form.most_matrices);
  const std::int64_t size = batch.size();
  Iteration<T> iteration(form, batch, queue);
  square_chunks(batch.norms, 1, squares, queue);
  launch(queue, batch.count(), OrthogonalFactors{matrices, chunks_of(size), batch.form, squares, factors});
  launch(queue, chunks.count, NormalizeMatrices<Stored, T>{chunks.chunks, matrices, factors, size, iteration.x()});
  batch.form.run(batch.rows, batch.columns, iteration);
  launch(queue, chunks.count, WriteOrthogonal<Stored, T>{chunks.chunks, matrices, size, iteration.x()});
  divide_by_variance<Stored>(form, batch, matrices, chunks, scalars, queue);
}

}  // namespace

void reserve_orthogonal(const OrthogonalPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedOrthogonal>();
  if (form.cublas != nullptr) return;
  form.cublas = std::make_unique<Cublas>(queue.device());
  form.cublas->round_results_once();
  make_batches(form, plan);
  form.scratch.of<std::byte>(queue, form.scratch_bytes);
  form.unit_factors.of<UnitFactor>(queue, form.most_units);
}

void orthogonalize(const OrthogonalPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedOrthogonal>();
  for (const auto& batch : form.batches) {
    using kernels::BFloat16;
    const bool is_wide = batch->dtype == DType::f64;
    if (batch->is_of_bf16()) {
      (is_wide ? orthogonalize_batch<double, BFloat16> : orthogonalize_batch<float, BFloat16>)(form, *batch, scalars,
                                                                                               queue);
    } else {
      (is_wide ? orthogonalize_batch<double, double> : orthogonalize_batch<float, float>)(form, *batch, scalars, queue);
    }
  }
}

}  // namespace gradstep::cuda
