// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix with a few vectors, and back, in the bands of every other device (kernels/low_rank.h). Bands
// are worked on side by side, and their sums added up in order by the launch that follows. All matrices of a plan are
// one launch of each kernel.
#include "kernels/low_rank.h"

#include <algorithm>
#include <vector>

#include "device/chunk.h"
#include "device/places.h"
#include "device/reduce.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

using kernels::kDotBand;
using kernels::kDotQuarter;
using kernels::kRowBand;

constexpr int kFactors = 4;                                       ///< that share what is loaded of a matrix
constexpr std::int64_t kTileRows = 256 / kLanes;                  ///< of ProjectRows
constexpr std::int64_t kTileColumns = 128;                        ///< of ProjectColumns
constexpr std::int64_t kSums = 256;                               ///< of AddBands
constexpr int kOwnRows = static_cast<int>(kDotQuarter) / kLanes;  ///< of a band of vectors that a thread has

/// A matrix as kernels see it.
struct DeviceLowRank {
  void* m;
  void* p;
  void* q;
  void* result;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t rank;
  double* partials;  ///< what sums of bands need
  std::int64_t column_bands;
  std::int64_t row_bands;
  std::int64_t vector_bands;
  std::int64_t is_in_fours;  ///< four numbers of m, q and the result may be accessed as one
};

/// Where a block begins.
struct Tile {
  std::int64_t item;
  std::int64_t row;
  std::int64_t column;
  std::int64_t factor;
};

GRADSTEP_DEVICE std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

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

struct Parts {
  const Tile* tiles;
  const DeviceLowRank* matrices;

  GRADSTEP_DEVICE Tile tile(const Block& block) const { return *block.checked(tiles + block.index()); }
  GRADSTEP_DEVICE const DeviceLowRank& matrix(const Block& block, const Tile& tile) const {
    return *block.checked(matrices + tile.item);
  }
};

/// p = m q^T: 16 threads have a row, and a band of columns.
template <class T>
struct ProjectRows {
  static constexpr const char* kName = "project_rows";
  static constexpr int kThreads = static_cast<int>(kTileRows) * kLanes;
  static constexpr int kResidentBlocks = sizeof(T) == sizeof(float) ? 3 : 2;
  static constexpr bool kWaits = true;

  Parts parts;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Tile tile = parts.tile(block);
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

  Parts parts;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Tile tile = parts.tile(block);
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

  Parts parts;
  bool of_rows;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Tile tile = parts.tile(block);
    const DeviceLowRank& job = parts.matrix(block, tile);
    const BandSums<T> sums = of_rows ? sums_of_rows<T>(job) : sums_of_columns<T>(job);
    const std::int64_t i = tile.row + block.thread();
    if (i >= sums.count) return;
    const double sum =
        sum_in_order(sums.bands, [&](std::int64_t band) { return block.load(sums.partials + band * sums.count + i); });
    block.store(sums.to + i, static_cast<T>(sum));
  }
};

/// A block has a band of its matrix's vectors, and a thread kOwnRows of it. What the vectors' products are in bands is
/// in four places, by turns: a launch reads what those before it have left.
template <class T>
struct OwnBand {
  static constexpr int kPlaces = 4;
  static constexpr int kThreads = kTeam;

  DeviceLowRank job;  // a copy: stores may be to anything
  std::int64_t band;
  std::int64_t first;
  std::int64_t end;

  GRADSTEP_DEVICE OwnBand(const Block& block, const Tile& tile, const DeviceLowRank& matrix)
      : job(matrix), band(tile.row / kDotBand) {
    const std::int64_t quarter = tile.row + block.thread() / kLanes * kDotQuarter;
    first = quarter + block.thread() % kLanes;
    end = smaller(quarter + kDotQuarter, matrix.rows);
  }

  GRADSTEP_DEVICE T* vector(std::int64_t k) const { return static_cast<T*>(job.p) + k * job.rows; }

  GRADSTEP_DEVICE double* products(std::int64_t place, std::int64_t of_band) const {
    return job.partials + (place * job.vector_bands + of_band) * job.rank;
  }

  /// body(e, row) for the e-th row of the thread.
  template <class Body>
  GRADSTEP_DEVICE void for_each_row(Body body) const {
    GRADSTEP_UNROLL
    for (int e = 0; e < kOwnRows; ++e) {
      if (first + e * kLanes < end) body(e, first + e * kLanes);
    }
  }

  GRADSTEP_DEVICE void load(const Block& block, std::int64_t k, T* numbers) const {
    GRADSTEP_UNROLL
    for (int e = 0; e < kOwnRows; ++e) numbers[e] = T{0};
    for_each_row([&](int e, std::int64_t row) { numbers[e] = block.load(vector(k) + row); });
  }

  /// Of the whole vectors, from what the bands have.
  GRADSTEP_DEVICE double product(const Block& block, std::int64_t place, std::int64_t k) const {
    return sum_in_order(job.vector_bands,
                        [&](std::int64_t of_band) { return block.load(products(place, of_band) + k); });
  }

  /// Leaves the band's product of x with vector k as number i. By all threads.
  template <class Halves>
  GRADSTEP_DEVICE void leave_product(Block& block, const T* x, std::int64_t k, std::int64_t place, std::int64_t i,
                                     Halves& shared) const {
    T y[kOwnRows];
    load(block, k, y);
    double sum = 0;
    for_each_row([&](int e, std::int64_t) { sum = add_product<T>(sum, x[e], y[e]); });
    sum = Teams<kThreads>(block).fold(block, sum, shared);
    if (block.thread() == 0) block.store(products(place, band) + i, sum);
  }
};

/// Vector k - 1 gets the length 1, by its squares before and after its projections were taken away; then the products
/// of vector k with those before it, and with itself.
template <class T>
struct MeasureVectors {
  static constexpr const char* kName = "measure_vectors";
  static constexpr int kThreads = OwnBand<T>::kThreads;
  static constexpr int kResidentBlocks = 6;
  struct Shared {
    typename Teams<kThreads>::Shared halves;
    double squares[2];
  };

  Parts parts;
  std::int64_t k;
  std::int64_t before;  ///< places
  std::int64_t after;
  std::int64_t place;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Tile tile = parts.tile(block);
    const OwnBand<T> own(block, tile, parts.matrix(block, tile));
    if (k > own.job.rank) return;
    if (k > 0) {
      if (block.thread() < 2) {
        const bool is_before = block.thread() == 0;
        shared.squares[block.thread()] = own.product(block, is_before ? before : after, is_before ? k - 1 : 0);
      }
      block.sync();
      const double scale = kernels::unit_scale<T>(shared.squares[0], shared.squares[1]);
      T* vector = own.vector(k - 1);
      own.for_each_row([&](int, std::int64_t row) {
        block.store(vector + row, static_cast<T>(scale * static_cast<double>(block.load(vector + row))));
      });
    }
    if (k == own.job.rank) return;
    T x[kOwnRows];
    own.load(block, k, x);
    for (std::int64_t base = 0; base <= k; ++base) own.leave_product(block, x, base, place, base, shared.halves);
  }
};

/// Takes vector k's projections away; then its products as before, or, the second time, its square.
template <class T>
struct RemoveProjections {
  static constexpr const char* kName = "remove_projections";
  static constexpr int kThreads = OwnBand<T>::kThreads;
  static constexpr int kResidentBlocks = 6;
  struct Shared {
    typename Teams<kThreads>::Shared halves;
    double along[std::size_t{kThreads}];
  };

  Parts parts;
  std::int64_t k;
  std::int64_t from;  ///< places
  std::int64_t place;
  bool is_second;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Tile tile = parts.tile(block);
    const OwnBand<T> own(block, tile, parts.matrix(block, tile));
    if (k >= own.job.rank) return;
    T x[kOwnRows];
    own.load(block, k, x);
    double left[kOwnRows];
    GRADSTEP_UNROLL
    for (int e = 0; e < kOwnRows; ++e) left[e] = static_cast<double>(x[e]);
    for (std::int64_t first = 0; first < k; first += kThreads) {
      const std::int64_t base = first + block.thread();
      block.sync();
      if (base < k) shared.along[block.thread()] = own.product(block, from, base);
      block.sync();
      for (std::int64_t i = 0; i < kThreads && first + i < k; ++i) {
        T y[kOwnRows];
        own.load(block, first + i, y);
        own.for_each_row([&](int e, std::int64_t) { left[e] -= shared.along[i] * static_cast<double>(y[e]); });
      }
    }
    own.for_each_row([&](int e, std::int64_t row) {
      x[e] = static_cast<T>(left[e]);
      block.store(own.vector(k) + row, x[e]);
    });
    if (is_second) return own.leave_product(block, x, k, place, 0, shared.halves);
    for (std::int64_t base = 0; base < k; ++base) own.leave_product(block, x, base, place, base, shared.halves);
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

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t rank;
  bool operator==(const Shape&) const = default;
};

/// Blocks of each kernel, which depend on shapes alone.
struct Tiles {
  std::vector<Shape> shapes;
  std::vector<Tile> rows;
  std::vector<Tile> columns;
  std::vector<Tile> sums_of_rows;
  std::vector<Tile> sums_of_columns;
  std::vector<Tile> vectors;
  WorkList work;
  std::int64_t rank = 0;  ///< the highest

  void cut() {
    for (std::vector<Tile>* list : {&rows, &columns, &sums_of_rows, &sums_of_columns, &vectors}) list->clear();
    work.clear();
    rank = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Shape& shape = shapes[i];
      const auto item = static_cast<std::int64_t>(i);
      add_products(item, shape, {kTileRows, kDotBand}, rows);
      add_products(item, shape, {kRowBand, kTileColumns}, columns);
      if (shape.cols > kDotBand) add_line(item, shape.rank * shape.rows, kSums, sums_of_rows);
      if (shape.rows > kRowBand) add_line(item, shape.rank * shape.cols, kSums, sums_of_columns);
      add_line(item, shape.rows, kDotBand, vectors);
      work.append(shape.rows * shape.cols);
      rank = std::max(rank, shape.rank);
    }
  }

 private:
  struct Extent {
    std::int64_t rows;
    std::int64_t columns;
  };

  static void add_products(std::int64_t item, const Shape& shape, Extent tile, std::vector<Tile>& to) {
    for (std::int64_t row = 0; row < shape.rows; row += tile.rows) {
      for (std::int64_t column = 0; column < shape.cols; column += tile.columns) {
        for (std::int64_t factor = 0; factor < shape.rank; factor += kFactors) {
          to.push_back({item, row, column, factor});
        }
      }
    }
  }
  static void add_line(std::int64_t item, std::int64_t count, std::int64_t tile, std::vector<Tile>& to) {
    for (std::int64_t first = 0; first < count; first += tile) to.push_back({item, first, 0, 0});
  }
};

/// What the device has of a plan.
struct Form {
  Tiles tiles;
  std::vector<Shape> shapes;
  std::vector<DeviceLowRank> matrices;
  ScratchBuffer partials;
  Table table;
  Parts rows{};
  Parts columns{};
  Parts sums_of_rows{};
  Parts sums_of_columns{};
  Parts vectors{};
  const Chunk* chunks = nullptr;
  bool is_double = false;
};

/// Numbers that products of all kinds leave for what follows them.
std::int64_t partials_of(const DeviceLowRank& job) {
  const std::int64_t of_rows = job.column_bands > 1 ? job.column_bands * job.rank * job.rows : 0;
  const std::int64_t of_columns = job.row_bands > 1 ? job.row_bands * job.rank * job.cols : 0;
  return std::max({of_rows, of_columns, OwnBand<float>::kPlaces * job.vector_bands * job.rank});
}

bool is_in_fours(const LowRank& job) {
  const std::int64_t bytes = 4 * size_of(job.m.dtype) < 16 ? 4 * size_of(job.m.dtype) : 16;
  const auto is_aligned = [&](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0;
  };
  return job.cols % 4 == 0 && is_aligned(job.m.data) && is_aligned(job.q) && is_aligned(job.result);
}

Form& prepare(const LowRankPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<Form>();
  form.shapes.clear();
  form.matrices.clear();
  std::int64_t partials = 0;
  for (const LowRank& job : plan.matrices) {
    form.is_double = job.m.dtype == DType::f64;
    form.shapes.push_back({job.rows, job.cols, job.rank});
    form.matrices.push_back({job.m.data, job.p, job.q, job.result, job.rows, job.cols, job.rank, nullptr,
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
  const auto chunks = form.table.add(form.tiles.work.chunks().data(), form.tiles.work.chunks().size());
  form.table.send();
  const DeviceLowRank* all = form.table.at(matrices);
  form.rows = {form.table.at(rows), all};
  form.columns = {form.table.at(columns), all};
  form.sums_of_rows = {form.table.at(sums_of_rows), all};
  form.sums_of_columns = {form.table.at(sums_of_columns), all};
  form.vectors = {form.table.at(vectors), all};
  form.chunks = form.table.at(chunks);
  return form;
}

template <class List>
std::int64_t count_of(const List& list) {
  return static_cast<std::int64_t>(list.size());
}

template <class T>
void project_rows_typed(const Form& form, CudaQueue& queue) {
  launch(queue, count_of(form.tiles.rows), ProjectRows<T>{form.rows});
  launch(queue, count_of(form.tiles.sums_of_rows), AddBands<T>{form.sums_of_rows, true});
}

template <class T>
void project_columns_typed(const Form& form, CudaQueue& queue) {
  launch(queue, count_of(form.tiles.columns), ProjectColumns<T>{form.columns});
  launch(queue, count_of(form.tiles.sums_of_columns), AddBands<T>{form.sums_of_columns, false});
}

template <class T>
void orthonormalize_typed(const Form& form, CudaQueue& queue) {
  const std::int64_t blocks = count_of(form.tiles.vectors);
  constexpr std::int64_t kPlaces = OwnBand<T>::kPlaces;
  std::int64_t launches = 0;
  std::int64_t before = 0;
  for (std::int64_t k = 0; k <= form.tiles.rank; ++k) {
    const std::int64_t after = (launches + kPlaces - 1) % kPlaces;
    const std::int64_t place = launches++ % kPlaces;
    launch(queue, blocks, MeasureVectors<T>{form.vectors, k, before, after, place});
    before = place;
    if (k == 0 || k == form.tiles.rank) continue;
    for (const bool is_second : {false, true}) {
      const std::int64_t from = (launches + kPlaces - 1) % kPlaces;
      const std::int64_t to = launches++ % kPlaces;
      launch(queue, blocks, RemoveProjections<T>{form.vectors, k, from, to, is_second});
    }
  }
}

template <class T>
void expand_typed(const Form& form, double factor, CudaQueue& queue) {
  launch(queue, count_of(form.tiles.work.chunks()), Expand<T>{form.chunks, form.rows.matrices, factor});
}

}  // namespace

void project_rows(const LowRankPlan& plan, CudaQueue& queue) {
  const Form& form = prepare(plan, queue);
  form.is_double ? project_rows_typed<double>(form, queue) : project_rows_typed<float>(form, queue);
}

void project_columns(const LowRankPlan& plan, CudaQueue& queue) {
  const Form& form = prepare(plan, queue);
  form.is_double ? project_columns_typed<double>(form, queue) : project_columns_typed<float>(form, queue);
}

void orthonormalize(const LowRankPlan& plan, CudaQueue& queue) {
  const Form& form = prepare(plan, queue);
  form.is_double ? orthonormalize_typed<double>(form, queue) : orthonormalize_typed<float>(form, queue);
}

void expand(const LowRankPlan& plan, double factor, CudaQueue& queue) {
  const Form& form = prepare(plan, queue);
  form.is_double ? expand_typed<double>(form, factor, queue) : expand_typed<float>(form, factor, queue);
}

}  // namespace gradstep::cuda
