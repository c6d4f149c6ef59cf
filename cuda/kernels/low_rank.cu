// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix with a few vectors, and back, in the order of every other device: dot products in f64 in 16
// lanes, element i in lane i mod 16, folded in one tree; sums over rows in f64, down the rows.
#include "device/reduce.h"
#include "kernels/orthonormal.h"
#include "operations.h"
#include "runtime/launch.h"

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

/// p = m q^T: 16 threads have an element of it.
template <class T>
struct ProjectRows {
  static constexpr const char* kName = "project_rows";
  static constexpr int kThreads = kRowThreads;
  static constexpr bool kWaits = true;

  LowRank job;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t element = block.index() * (kThreads / kLanes) + block.thread() / kLanes;
    const bool is_own = element < job.rows * job.rank;
    const std::int64_t row = is_own ? element % job.rows : 0;
    const std::int64_t k = is_own ? element / job.rows : 0;
    const double result = dot(block, static_cast<const T*>(job.m.data) + row * job.cols,
                              static_cast<const T*>(job.q) + k * job.cols, is_own ? job.cols : 0);
    if (is_own && block.thread() % kLanes == 0) block.store(static_cast<T*>(job.p) + element, static_cast<T>(result));
  }
};

/// q = p m: a thread has an element of it.
template <class T>
struct ProjectColumns {
  static constexpr const char* kName = "project_columns";
  static constexpr int kThreads = 128;

  LowRank job;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t element = element_of(block);
    if (element >= job.cols * job.rank) return;
    const std::int64_t column = element % job.cols;
    const std::int64_t k = element / job.cols;
    const T* m = static_cast<const T*>(job.m.data) + column;
    const T* p = static_cast<const T*>(job.p) + k * job.rows;
    double sum = 0;
    for (std::int64_t i = 0; i < job.rows; ++i) {
      sum += static_cast<double>(block.load(p + i)) * static_cast<double>(block.load(m + i * job.cols));
    }
    block.store(static_cast<T*>(job.q) + element, static_cast<T>(sum));
  }
};

/// Gram and Schmidt, twice over: once leaves errors of the size of the projections that cancel. One block does it all.
template <class T>
struct Orthonormalize {
  static constexpr const char* kName = "orthonormalize";
  static constexpr int kThreads = 256;
  struct Shared {
    double result;
  };

  LowRank job;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    T* p = static_cast<T*>(job.p);
    for (std::int64_t k = 0; k < job.rank; ++k) {
      T* column = p + k * job.rows;
      const double before = dot_in_block(block, column, column);
      for (int pass = 0; pass < 2; ++pass) {
        for (std::int64_t other = 0; other < k; ++other) {
          const T* base = p + other * job.rows;
          const double along = dot_in_block(block, column, base);
          for (std::int64_t i = block.thread(); i < job.rows; i += kThreads) {
            const double x = static_cast<double>(block.load(column + i));
            block.store(column + i, static_cast<T>(x - along * static_cast<double>(block.load(base + i))));
          }
        }
      }
      const double after = dot_in_block(block, column, column);
      const double scale = kernels::unit_scale<T>(before, after);
      for (std::int64_t i = block.thread(); i < job.rows; i += kThreads) {
        block.store(column + i, static_cast<T>(scale * static_cast<double>(block.load(column + i))));
      }
    }
  }

  /// In all threads, of what all threads have written.
  GRADSTEP_DEVICE double dot_in_block(Block& block, const T* x, const T* y) const {
    auto& shared = block.shared<Shared>();
    block.sync();
    if (block.thread() < kWarp) {
      const double result = dot(block, x, y, block.thread() < kLanes ? job.rows : 0);
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

  LowRank job;
  T* result;
  double factor;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t element = element_of(block);
    if (element >= job.rows * job.cols) return;
    const T* p = static_cast<const T*>(job.p) + element / job.cols;
    const T* q = static_cast<const T*>(job.q) + element % job.cols;
    double sum = 0;
    for (std::int64_t k = 0; k < job.rank; ++k) {
      sum += static_cast<double>(block.load(p + k * job.rows)) * static_cast<double>(block.load(q + k * job.cols));
    }
    T* m = static_cast<T*>(job.m.data) + element;
    block.store(result + element, static_cast<T>(factor * sum));
    block.store(m, static_cast<T>(static_cast<double>(block.load(m)) - sum));
  }
};

bool is_double(const LowRank& job) { return job.m.dtype == DType::f64; }

}  // namespace

void project_rows(const LowRank& job, CudaQueue& queue) {
  const std::int64_t blocks = parts_of(job.rows * job.rank, kRowThreads / kLanes);
  if (is_double(job)) return launch(queue, blocks, ProjectRows<double>{job});
  launch(queue, blocks, ProjectRows<float>{job});
}

void project_columns(const LowRank& job, CudaQueue& queue) {
  const std::int64_t elements = job.cols * job.rank;
  if (is_double(job)) return launch_each(queue, elements, ProjectColumns<double>{job});
  launch_each(queue, elements, ProjectColumns<float>{job});
}

void orthonormalize(const LowRank& job, CudaQueue& queue) {
  if (is_double(job)) return launch(queue, 1, Orthonormalize<double>{job});
  launch(queue, 1, Orthonormalize<float>{job});
}

void expand(const LowRank& job, const Array& result, double factor, CudaQueue& queue) {
  const std::int64_t elements = job.rows * job.cols;
  if (is_double(job))
    return launch_each(queue, elements, Expand<double>{job, static_cast<double*>(result.data), factor});
  launch_each(queue, elements, Expand<float>{job, static_cast<float*>(result.data), factor});
}

}  // namespace gradstep::cuda
