// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix with a few vectors, and back, in the bands of every other device (kernels/low_rank.h). Bands
// are worked on side by side, and their sums added up in order by the launch that follows. All matrices of a plan are
// one launch of each kernel.
#include "kernels/low_rank.h"

#include <algorithm>

#include "device/chunk.h"
#include "device/places.h"
#include "device/reduce.h"
#include "kernels/low_rank_form.h"
#include "operations.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

using kernels::kDotBand;
using kernels::kDotQuarter;
using kernels::kRowBand;

constexpr int kFactors = 4;                       ///< that share what is loaded of a matrix
constexpr std::int64_t kTileRows = 256 / kLanes;  ///< of ProjectRows
constexpr std::int64_t kTileColumns = 128;        ///< of ProjectColumns
constexpr std::int64_t kSums = 256;               ///< of AddBands

/// Numbers of factors, whose bands' sums lie side by side until they are added up.
template <class T>
struct BandSums {
  T* to;
  double* partials;  ///< bands x count
  std::int64_t count;
  std::int64_t bands;

  GRADSTEP_DEVICE void put(const Block& block, std::int64_t band, std::int64_t i, double sum) const {
    if (bands == 1) return block.store(to + i, static_cast<T>(sum));
    block.store(partials + band * count + i, sum);
  }
};

template <class T>
GRADSTEP_DEVICE BandSums<T> sums_of_rows(const DeviceLowRank& job) {
  return {static_cast<T*>(job.p), job.partials, job.rank * job.rows, job.column_bands};
}

template <class T>
GRADSTEP_DEVICE BandSums<T> sums_of_columns(const DeviceLowRank& job) {
  return {static_cast<T*>(job.q), job.partials, job.rank * job.cols, job.row_bands};
}

/// p = m q^T: 16 threads have a row, and a band of columns.
template <class T>
struct ProjectRows {
  static constexpr const char* kName = "project_rows";
  static constexpr int kThreads = static_cast<int>(kTileRows) * kLanes;
  static constexpr int kResidentBlocks = sizeof(T) == sizeof(float) ? 3 : 2;
  static constexpr bool kWaits = true;

  LowRankParts parts;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const LowRankTile tile = parts.tile(block);
    const DeviceLowRank& job = parts.matrix(block, tile);
    const int lane = block.thread() % kLanes;
    const std::int64_t row = tile.row + block.thread() / kLanes;
    const bool is_own = row < job.rows;
    const std::int64_t factors = smaller(kFactors, job.rank - tile.factor);
    const T* m = static_cast<const T*>(job.m) + (is_own ? row : 0) * job.cols;
    const T* q = static_cast<const T*>(job.q) + tile.factor * job.cols;
    double halves[2][kFactors];
    GRADSTEP_UNROLL
    for (int quarter = 0; quarter < 4; ++quarter) {
      const std::int64_t begin = tile.column + quarter * kDotQuarter;
      const std::int64_t end = is_own ? smaller(begin + kDotQuarter, job.cols) : begin;
      double sums[kFactors] = {};
      walk_ahead<8>(
          begin + lane, end, kLanes, [&](std::int64_t i) { return block.load(m + i); },
          [&](std::int64_t i, T x) {
            GRADSTEP_UNROLL
            for (int k = 0; k < kFactors; ++k) {
              if (k < factors) sums[k] = add_product<T>(sums[k], x, block.load(q + k * job.cols + i));
            }
          });
      GRADSTEP_UNROLL
      for (int k = 0; k < kFactors; ++k) {
        const double sum = fold_lanes(block, sums[k]);
        double& half = halves[quarter / 2][k];
        half = quarter % 2 == 0 ? sum : half + sum;
      }
    }
    if (!is_own || lane != 0) return;
    const BandSums<T> to = sums_of_rows<T>(job);
    GRADSTEP_UNROLL
    for (int k = 0; k < kFactors; ++k) {
      if (k >= factors) break;
      to.put(block, tile.column / kDotBand, (tile.factor + k) * job.rows + row, halves[0][k] + halves[1][k]);
    }
  }
};

/// q = p m: a thread has a column, and a band of rows.
template <class T>
struct ProjectColumns {
  static constexpr const char* kName = "project_columns";
  static constexpr int kThreads = static_cast<int>(kTileColumns);
  struct Shared {
    double p[kRowBand][kFactors];
  };

  LowRankParts parts;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const LowRankTile tile = parts.tile(block);
    const DeviceLowRank& job = parts.matrix(block, tile);
    const std::int64_t rows = smaller(kRowBand, job.rows - tile.row);
    const std::int64_t factors = smaller(kFactors, job.rank - tile.factor);
    const T* p = static_cast<const T*>(job.p) + tile.factor * job.rows + tile.row;
    for (std::int64_t i = block.thread(); i < rows; i += kThreads) {
      GRADSTEP_UNROLL
      for (int k = 0; k < kFactors; ++k) {
        shared.p[i][k] = k < factors ? static_cast<double>(block.load(p + k * job.rows + i)) : 0;
      }
    }
    block.sync();
    const std::int64_t column = tile.column + block.thread();
    if (column >= job.cols) return;
    const T* m = static_cast<const T*>(job.m) + tile.row * job.cols + column;
    double sums[kFactors] = {};
    walk_ahead<8>(
        0, rows, 1, [&](std::int64_t i) { return block.load(m + i * job.cols); },
        [&](std::int64_t i, T x) {
          GRADSTEP_UNROLL
          for (int k = 0; k < kFactors; ++k) sums[k] = add_product<T>(sums[k], shared.p[i][k], x);
        });
    const BandSums<T> to = sums_of_columns<T>(job);
    GRADSTEP_UNROLL
    for (int k = 0; k < kFactors; ++k) {
      if (k < factors) to.put(block, tile.row / kRowBand, (tile.factor + k) * job.cols + column, sums[k]);
    }
  }
};

/// Where a matrix has several bands. A thread has a number of p, or of q.
template <class T>
struct AddBands {
  static constexpr const char* kName = "add_bands";
  static constexpr int kThreads = static_cast<int>(kSums);

  LowRankParts parts;
  bool of_rows;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const LowRankTile tile = parts.tile(block);
    const DeviceLowRank& job = parts.matrix(block, tile);
    const BandSums<T> sums = of_rows ? sums_of_rows<T>(job) : sums_of_columns<T>(job);
    const std::int64_t i = tile.row + block.thread();
    if (i >= sums.count) return;
    const double sum =
        sum_in_order(sums.bands, [&](std::int64_t band) { return block.load(sums.partials + band * sums.count + i); });
    block.store(sums.to + i, static_cast<T>(sum));
  }
};

/// A block has a factor of q, of which it rarely reads more than the beginning.
template <class T>
struct KeepFactors {
  static constexpr const char* kName = "keep_factors";
  static constexpr int kThreads = 256;
  static constexpr bool kWaits = true;
  struct Shared {
    unsigned others;
  };

  LowRankParts parts;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const LowRankTile tile = parts.tile(block);
    const DeviceLowRank& job = parts.matrix(block, tile);
    T* q = static_cast<T*>(job.q) + tile.factor * job.cols;
    const T* before = static_cast<const T*>(job.q_before) + tile.factor * job.cols;
    if (!are_zero<kThreads>(block, q, job.cols, shared.others)) return;
    for (std::int64_t i = block.thread(); i < job.cols; i += kThreads) block.store(q + i, block.load(before + i));
  }
};

/// result = factor * p^T q, m = m - p^T q: a block has a chunk.
template <class T>
struct Expand {
  static constexpr const char* kName = "expand";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const DeviceLowRank* matrices;
  double factor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const DeviceLowRank job = *block.checked(matrices + chunk.item);  // a copy: stores may be to anything
    const Places places(chunk, job.cols);
    walk(
        block, chunk, job.is_in_fours != 0, [&](std::int64_t i) { expand<Four<T>>(block, job, i, places.at(i)); },
        [&](std::int64_t i) { expand<One>(block, job, i, places.at(i)); });
  }

  struct One {
    T x[1];
  };

  /// Numbers that stand side by side in one row.
  template <class Numbers>
  GRADSTEP_DEVICE void expand(const Block& block, const DeviceLowRank& job, std::int64_t i, const Place& at) const {
    constexpr int kCount = sizeof(Numbers) / sizeof(T);
    const T* p = static_cast<const T*>(job.p) + at.row;
    const T* q = static_cast<const T*>(job.q) + at.column;
    auto* m = reinterpret_cast<Numbers*>(static_cast<T*>(job.m) + i);
    Numbers left = block.load(m);
    double sums[std::size_t{kCount}] = {};
    for (std::int64_t k = 0; k < job.rank; ++k) {
      const auto own = static_cast<double>(block.load(p + k * job.rows));
      const Numbers row = block.load(reinterpret_cast<const Numbers*>(q + k * job.cols));
      GRADSTEP_UNROLL
      for (int e = 0; e < kCount; ++e) sums[e] = add_product<T>(sums[e], own, row.x[e]);
    }
    Numbers result{};
    GRADSTEP_UNROLL
    for (int e = 0; e < kCount; ++e) {
      result.x[e] = static_cast<T>(factor * sums[e]);
      left.x[e] = static_cast<T>(static_cast<double>(left.x[e]) - sums[e]);
    }
    block.store(reinterpret_cast<Numbers*>(static_cast<T*>(job.result) + i), result);
    block.store(m, left);
  }
};

/// Numbers that products of all kinds leave for what follows them.
std::int64_t partials_of(const DeviceLowRank& job) {
  const std::int64_t of_rows = job.column_bands > 1 ? job.column_bands * job.rank * job.rows : 0;
  const std::int64_t of_columns = job.row_bands > 1 ? job.row_bands * job.rank * job.cols : 0;
  return std::max({of_rows, of_columns, kPlaces * job.vector_bands * job.rank});
}

bool is_in_fours(const LowRank& job) {
  const std::int64_t bytes = 4 * size_of(job.m.dtype) < 16 ? 4 * size_of(job.m.dtype) : 16;
  const auto is_aligned = [&](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0;
  };
  return job.cols % 4 == 0 && is_aligned(job.m.data) && is_aligned(job.q) && is_aligned(job.result);
}

template <class T>
void project_rows_typed(const LowRankForm& form, CudaQueue& queue) {
  launch(queue, count_of(form.tiles.rows), ProjectRows<T>{form.rows});
  launch(queue, count_of(form.tiles.sums_of_rows), AddBands<T>{form.sums_of_rows, true});
}

template <class T>
void project_columns_typed(const LowRankForm& form, CudaQueue& queue) {
  launch(queue, count_of(form.tiles.columns), ProjectColumns<T>{form.columns});
  launch(queue, count_of(form.tiles.sums_of_columns), AddBands<T>{form.sums_of_columns, false});
}

template <class T>
void expand_typed(const LowRankForm& form, double factor, CudaQueue& queue) {
  launch(queue, count_of(form.tiles.work.chunks()), Expand<T>{form.chunks, form.rows.matrices, factor});
}

/// The extent of a tile.
struct Extent {
  std::int64_t rows;
  std::int64_t columns;
};

void add_products(std::int64_t item, const LowRankShape& shape, Extent tile, std::vector<LowRankTile>& to) {
  for (std::int64_t row = 0; row < shape.rows; row += tile.rows) {
    for (std::int64_t column = 0; column < shape.cols; column += tile.columns) {
      for (std::int64_t factor = 0; factor < shape.rank; factor += kFactors) {
        to.push_back({item, row, column, factor});
      }
    }
  }
}

void add_line(std::int64_t item, std::int64_t count, std::int64_t tile, std::vector<LowRankTile>& to) {
  for (std::int64_t first = 0; first < count; first += tile) to.push_back({item, first, 0, 0});
}

}  // namespace

void LowRankTiles::cut() {
  for (std::vector<LowRankTile>* list : {&rows, &columns, &sums_of_rows, &sums_of_columns, &vectors, &factors})
    list->clear();
  work.clear();
  rank = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const LowRankShape& shape = shapes[i];
    const auto item = static_cast<std::int64_t>(i);
    add_products(item, shape, {kTileRows, kDotBand}, rows);
    add_products(item, shape, {kRowBand, kTileColumns}, columns);
    if (shape.cols > kDotBand) add_line(item, shape.rank * shape.rows, kSums, sums_of_rows);
    if (shape.rows > kRowBand) add_line(item, shape.rank * shape.cols, kSums, sums_of_columns);
    add_line(item, shape.rows, kDotBand, vectors);
    for (std::int64_t k = 0; k < shape.rank; ++k) factors.push_back({item, 0, 0, k});
    work.append(shape.rows * shape.cols);
    rank = std::max(rank, shape.rank);
  }
}

LowRankForm& prepare(const LowRankPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<LowRankForm>();
  form.shapes.clear();
  form.matrices.clear();
  std::int64_t partials = 0;
  for (const LowRank& job : plan.matrices) {
    form.is_double = job.m.dtype == DType::f64;
    form.shapes.push_back({job.rows, job.cols, job.rank});
    form.matrices.push_back({job.m.data, job.p, job.q, job.result, job.q_before, job.rows, job.cols, job.rank, nullptr,
                             parts_of(job.cols, kDotBand), parts_of(job.rows, kRowBand), parts_of(job.rows, kDotBand),
                             is_in_fours(job) ? 1 : 0});
    partials += partials_of(form.matrices.back());
  }
  if (form.tiles.shapes != form.shapes) {
    form.tiles.shapes = form.shapes;
    form.tiles.cut();
  }
  double* next = form.partials.of<double>(queue, partials);
  for (DeviceLowRank& job : form.matrices) {
    job.partials = next;
    next += partials_of(job);
  }
  form.table.begin(queue);
  const auto matrices = form.table.add(form.matrices);
  const auto rows = form.table.add(form.tiles.rows);
  const auto columns = form.table.add(form.tiles.columns);
  const auto sums_of_rows = form.table.add(form.tiles.sums_of_rows);
  const auto sums_of_columns = form.table.add(form.tiles.sums_of_columns);
  const auto vectors = form.table.add(form.tiles.vectors);
  const auto factors = form.table.add(form.tiles.factors);
  const auto chunks = form.table.add(form.tiles.work.chunks().data(), form.tiles.work.chunks().size());
  form.table.send();
  const DeviceLowRank* all = form.table.at(matrices);
  form.rows = {form.table.at(rows), all};
  form.columns = {form.table.at(columns), all};
  form.sums_of_rows = {form.table.at(sums_of_rows), all};
  form.sums_of_columns = {form.table.at(sums_of_columns), all};
  form.vectors = {form.table.at(vectors), all};
  form.factors = {form.table.at(factors), all};
  form.chunks = form.table.at(chunks);
  return form;
}

void reserve_low_rank(const LowRankPlan& plan, CudaQueue& queue) { prepare(plan, queue); }

void project_rows(const LowRankPlan& plan, CudaQueue& queue) {
  const LowRankForm& form = prepare(plan, queue);
  form.is_double ? project_rows_typed<double>(form, queue) : project_rows_typed<float>(form, queue);
}

void project_columns(const LowRankPlan& plan, CudaQueue& queue) {
  const LowRankForm& form = prepare(plan, queue);
  form.is_double ? project_columns_typed<double>(form, queue) : project_columns_typed<float>(form, queue);
}

void keep_factors(const LowRankPlan& plan, CudaQueue& queue) {
  const LowRankForm& form = prepare(plan, queue);
  const std::int64_t factors = count_of(form.tiles.factors);
  form.is_double ? launch(queue, factors, KeepFactors<double>{form.factors})
                 : launch(queue, factors, KeepFactors<float>{form.factors});
}

void expand(const LowRankPlan& plan, double factor, CudaQueue& queue) {
  const LowRankForm& form = prepare(plan, queue);
  form.is_double ? expand_typed<double>(form, factor, queue) : expand_typed<float>(form, factor, queue);
}

}  // namespace gradstep::cuda
