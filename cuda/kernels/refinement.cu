// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/refinement.h"

#include <limits>

#include "kernels/eigenbasis.h"
#include "kernels/root_device.h"

namespace gradstep::cuda {

namespace {

struct MarkUnconverged {
  static constexpr const char* kName = "mark_unconverged";

  const int* info;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, RootState& state) const {
    if (block.load(info + matrix) != 0) state.finite = 0;
  }
};

struct LoadBases {
  static constexpr const char* kName = "load_bases";

  const BasisItem* items;
  std::int64_t n;
  double* vectors;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const float* basis = block.checked(items + row.matrix)->basis;
    block.store(vectors + row.first + j, static_cast<double>(block.load(basis + j * n + row.index)));
  }
};

/// A block has a vector.
struct FindQuotients {
  static constexpr const char* kName = "find_quotients";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  const double* vectors;
  const double* products;
  std::int64_t n;
  double* quotients;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t first = block.index() * n;
    double sum = 0;
    for (std::int64_t j = block.thread(); j < n; j += kThreads) {
      sum += block.load(vectors + first + j) * block.load(products + first + j);
    }
    sum = combine<true>(block, sum, block.shared<Shared>());
    // Among NaNs there is no order, and each place is to be taken once.
    if (sum != sum) sum = -std::numeric_limits<double>::infinity();
    if (block.thread() == 0) block.store(quotients + block.index(), sum);
  }
};

/// A block has a vector, and counts those before it.
struct SortProducts {
  static constexpr const char* kName = "sort_products";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  const BasisItem* items;
  const double* products;
  const double* quotients;
  std::int64_t n;
  double* sorted;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t matrix = block.index() / n;
    const std::int64_t own = block.index() % n;
    const double quotient = block.load(quotients + block.index());
    double before = 0;
    for (std::int64_t k = block.thread(); k < n; k += kThreads) {
      if (kernels::comes_before(block.load(quotients + matrix * n + k), k, quotient, own)) before += 1;
    }
    const auto place = static_cast<std::int64_t>(combine<true>(block, before, block.shared<Shared>()));
    for (std::int64_t j = block.thread(); j < n; j += kThreads) {
      block.store(sorted + (matrix * n + place) * n + j, block.load(products + block.index() * n + j));
    }
    if (block.thread() == 0) {
      block.store(block.checked(items + matrix)->result + n * n + place, static_cast<float>(own));
    }
  }
};

struct WriteBases {
  static constexpr const char* kName = "write_bases";

  const BasisItem* items;
  const double* vectors;
  std::int64_t n;
  bool ascending;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const std::int64_t vector = row.matrix * n + (ascending ? n - 1 - j : j);
    block.store(block.checked(items + row.matrix)->result + row.index * n + j,
                static_cast<float>(block.load(vectors + vector * n + row.index)));
  }
};

}  // namespace

void mark_unconverged(const RootBatch& batch, const int* info, const CudaQueue& queue) {
  launch_matrices(queue, batch, MarkUnconverged{info});
}

void load_bases(const BasisItem* items, std::int64_t count, std::int64_t n, double* vectors, const CudaQueue& queue) {
  launch(queue, count * n, ForEachOfRows<LoadBases>{n, n, {items, n, vectors}});
}

void find_quotients(const double* vectors, const double* products, std::int64_t count, std::int64_t n,
                    double* quotients, const CudaQueue& queue) {
  launch(queue, count * n, FindQuotients{vectors, products, n, quotients});
}

void sort_products(const BasisItem* items, const double* products, const double* quotients, std::int64_t count,
                   std::int64_t n, double* sorted, const CudaQueue& queue) {
  launch(queue, count * n, SortProducts{items, products, quotients, n, sorted});
}

void write_bases(const BasisItem* items, const double* vectors, std::int64_t count, std::int64_t n, bool ascending,
                 const CudaQueue& queue) {
  launch(queue, count * n, ForEachOfRows<WriteBases>{n, n, {items, vectors, n, ascending}});
}

}  // namespace gradstep::cuda
