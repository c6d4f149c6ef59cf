// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix with a few vectors, and back, in the order of every other device: dot products in f64 in 16
// lanes, element i in lane i mod 16, folded in one tree; sums over rows in f64, down the rows. All matrices of a plan
// are one launch.
#include <vector>

#include "device/reduce.h"
#include "kernels/orthonormal.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

constexpr int kRowThreads = 256;

/// The dot product of a group of 16 threads, in each of them. All threads of a warp take part.
template <class T>
GRADSTEP_DEVICE double dot(Block& block, const T* x, const T* y, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = block.thread() % kLanes; i < count; i += kLanes) {
    sum += static_cast<double>(block.load(x + i)) * static_cast<double>(block.load(y + i));
  }
  return fold_lanes(block, sum);
}

/// A matrix as kernels see it, and the first of its blocks in each of them.
struct DeviceLowRank {
  void* m;
  void* p;
  void* q;
  void* result;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t rank;
  std::int64_t first_of_rows;
  std::int64_t first_of_columns;
  std::int64_t first_of_expand;
};

/// A block has one matrix, and a place among those that have it.
struct Place {
  DeviceLowRank matrix;
  std::int64_t block;
};

struct Matrices {
  const DeviceLowRank* all;
  std::int64_t count;

  /// first(matrix) is the first block of it.
  template <class First>
  GRADSTEP_DEVICE Place place(const Block& block, First first) const {
    std::int64_t low = 0;
    for (std::int64_t high = count; high - low > 1;) {
      const std::int64_t middle = low + (high - low) / 2;
      (first(*block.checked(all + middle)) <= block.index() ? low : high) = middle;
    }
    const DeviceLowRank& matrix = *block.checked(all + low);
    return {matrix, block.index() - first(matrix)};
  }
};

/// p = m q^T: 16 threads have an element of it.
template <class T>
struct ProjectRows {
  static constexpr const char* kName = "project_rows";
  static constexpr int kThreads = kRowThreads;
  static constexpr bool kWaits = true;

  Matrices matrices;

  static std::int64_t blocks(const LowRank& job) { return parts_of(job.rows * job.rank, kThreads / kLanes); }

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const auto [job, own] = matrices.place(block, [](const DeviceLowRank& one) { return one.first_of_rows; });
    const std::int64_t element = own * (kThreads / kLanes) + block.thread() / kLanes;
    const bool is_own = element < job.rows * job.rank;
    const std::int64_t row = is_own ? element % job.rows : 0;
    const std::int64_t k = is_own ? element / job.rows : 0;
    const double result = dot(block, static_cast<const T*>(job.m) + row * job.cols,
                              static_cast<const T*>(job.q) + k * job.cols, is_own ? job.cols : 0);
    if (is_own && block.thread() % kLanes == 0) block.store(static_cast<T*>(job.p) + element, static_cast<T>(result));
  }
};

/// q = p m: a thread has an element of it.
template <class T>
struct ProjectColumns {
  static constexpr const char* kName = "project_columns";
  static constexpr int kThreads = 128;

  Matrices matrices;

  static std::int64_t blocks(const LowRank& job) { return parts_of(job.cols * job.rank, kThreads); }

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const auto [job, own] = matrices.place(block, [](const DeviceLowRank& one) { return one.first_of_columns; });
    const std::int64_t element = own * kThreads + block.thread();
    if (element >= job.cols * job.rank) return;
    const std::int64_t column = element % job.cols;
    const std::int64_t k = element / job.cols;
    const T* m = static_cast<const T*>(job.m) + column;
    const T* p = static_cast<const T*>(job.p) + k * job.rows;
    double sum = 0;
    for (std::int64_t i = 0; i < job.rows; ++i) {
      sum += static_cast<double>(block.load(p + i)) * static_cast<double>(block.load(m + i * job.cols));
    }
    block.store(static_cast<T*>(job.q) + element, static_cast<T>(sum));
  }
};

/// Gram and Schmidt, twice over: once leaves errors of the size of the projections that cancel. A block has a matrix.
template <class T>
struct Orthonormalize {
  static constexpr const char* kName = "orthonormalize";
  static constexpr int kThreads = 256;
  struct Shared {
    double result;
  };

  Matrices matrices;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const DeviceLowRank& job = *block.checked(matrices.all + block.index());
    const std::int64_t rows = job.rows;
    const std::int64_t rank = job.rank;
    T* p = static_cast<T*>(job.p);
    for (std::int64_t k = 0; k < rank; ++k) {
      T* column = p + k * rows;
      const double before = dot_in_block(block, column, column, rows);
      for (int pass = 0; pass < 2; ++pass) {
        for (std::int64_t other = 0; other < k; ++other) {
          const T* base = p + other * rows;
          const double along = dot_in_block(block, column, base, rows);
          for (std::int64_t i = block.thread(); i < rows; i += kThreads) {
            const double x = static_cast<double>(block.load(column + i));
            block.store(column + i, static_cast<T>(x - along * static_cast<double>(block.load(base + i))));
          }
        }
      }
      const double after = dot_in_block(block, column, column, rows);
      const double scale = kernels::unit_scale<T>(before, after);
      for (std::int64_t i = block.thread(); i < rows; i += kThreads) {
        block.store(column + i, static_cast<T>(scale * static_cast<double>(block.load(column + i))));
      }
    }
  }

  /// In all threads, of what all threads have written.
  GRADSTEP_DEVICE double dot_in_block(Block& block, const T* x, const T* y, std::int64_t rows) const {
    auto& shared = block.shared<Shared>();
    block.sync();
    if (block.thread() < kWarp) {
      const double result = dot(block, x, y, block.thread() < kLanes ? rows : 0);
      if (block.thread() == 0) shared.result = result;
    }
    block.sync();
    return shared.result;
  }
};

/// result = factor * p^T q, m = m - p^T q: a thread has an element.
template <class T>
struct Expand {
  static constexpr const char* kName = "expand";
  static constexpr int kThreads = 256;

  Matrices matrices;
  double factor;

  static std::int64_t blocks(const LowRank& job) { return parts_of(job.rows * job.cols, kThreads); }

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const auto [job, own] = matrices.place(block, [](const DeviceLowRank& one) { return one.first_of_expand; });
    const std::int64_t element = own * kThreads + block.thread();
    if (element >= job.rows * job.cols) return;
    const T* p = static_cast<const T*>(job.p) + element / job.cols;
    const T* q = static_cast<const T*>(job.q) + element % job.cols;
    double sum = 0;
    for (std::int64_t k = 0; k < job.rank; ++k) {
      sum += static_cast<double>(block.load(p + k * job.rows)) * static_cast<double>(block.load(q + k * job.cols));
    }
    T* m = static_cast<T*>(job.m) + element;
    block.store(static_cast<T*>(job.result) + element, static_cast<T>(factor * sum));
    block.store(m, static_cast<T>(static_cast<double>(block.load(m)) - sum));
  }
};

/// What the device has of a plan, and how many blocks it is in each kernel.
struct Form {
  Table table;
  Matrices matrices{};
  bool is_double = false;
  std::int64_t of_rows = 0;
  std::int64_t of_columns = 0;
  std::int64_t of_expand = 0;
};

Form& prepare(const LowRankPlan& plan, CudaQueue& queue) {
  auto& form = plan.prepared.get<Form>();
  form.of_rows = form.of_columns = form.of_expand = 0;
  std::vector<DeviceLowRank> matrices;
  for (const LowRank& job : plan.matrices) {
    form.is_double = job.m.dtype == DType::f64;
    matrices.push_back({job.m.data, job.p, job.q, job.result, job.rows, job.cols, job.rank, form.of_rows,
                        form.of_columns, form.of_expand});
    // Of both dtypes they are as many.
    form.of_rows += ProjectRows<float>::blocks(job);
    form.of_columns += ProjectColumns<float>::blocks(job);
    form.of_expand += Expand<float>::blocks(job);
  }
  form.table.begin(queue);
  const auto section = form.table.add(matrices);
  form.table.send();
  form.matrices = {form.table.at(section), static_cast<std::int64_t>(matrices.size())};
  return form;
}

}  // namespace

void project_rows(const LowRankPlan& plan, CudaQueue& queue) {
  const Form& form = prepare(plan, queue);
  if (form.is_double) return launch(queue, form.of_rows, ProjectRows<double>{form.matrices});
  launch(queue, form.of_rows, ProjectRows<float>{form.matrices});
}

void project_columns(const LowRankPlan& plan, CudaQueue& queue) {
  const Form& form = prepare(plan, queue);
  if (form.is_double) return launch(queue, form.of_columns, ProjectColumns<double>{form.matrices});
  launch(queue, form.of_columns, ProjectColumns<float>{form.matrices});
}

void orthonormalize(const LowRankPlan& plan, CudaQueue& queue) {
  const Form& form = prepare(plan, queue);
  if (form.is_double) return launch(queue, form.matrices.count, Orthonormalize<double>{form.matrices});
  launch(queue, form.matrices.count, Orthonormalize<float>{form.matrices});
}

void expand(const LowRankPlan& plan, double factor, CudaQueue& queue) {
  const Form& form = prepare(plan, queue);
  if (form.is_double) return launch(queue, form.of_expand, Expand<double>{form.matrices, factor});
  launch(queue, form.of_expand, Expand<float>{form.matrices, factor});
}

}  // namespace gradstep::cuda
