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

template <class Kept>
struct LoadBases {
  static constexpr const char* kName = "load_bases";

  const BasisItem<Kept>* items;
  std::int64_t n;
  double* vectors;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const Kept* basis = block.checked(items + row.matrix)->basis;
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
template <class Kept>
struct SortProducts {
  static constexpr const char* kName = "sort_products";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  const BasisItem<Kept>* items;
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
      block.store(block.checked(items + matrix)->result + n * n + place, static_cast<Kept>(own));
    }
  }
};

template <class Kept>
struct WriteBases {
  static constexpr const char* kName = "write_bases";

  const BasisItem<Kept>* items;
  const double* vectors;
  std::int64_t n;
  bool ascending;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const std::int64_t vector = row.matrix * n + (ascending ? n - 1 - j : j);
    block.store(block.checked(items + row.matrix)->result + row.index * n + j,
                static_cast<Kept>(block.load(vectors + vector * n + row.index)));
  }
};

}  // namespace

void mark_unconverged(const RootBatch& batch, const int* info, const CudaQueue& queue) {
  launch_matrices(queue, batch, MarkUnconverged{info});
}

template <class Kept>
void load_bases(const BasisItem<Kept>* items, std::int64_t count, std::int64_t n, double* vectors,
                const CudaQueue& queue) {
  launch(queue, count * n, ForEachOfRows<LoadBases<Kept>>{n, n, {items, n, vectors}});
}

void find_quotients(const double* vectors, const double* products, std::int64_t count, std::int64_t n,
                    double* quotients, const CudaQueue& queue) {
  launch(queue, count * n, FindQuotients{vectors, products, n, quotients});
}

template <class Kept>
void sort_products(const BasisItem<Kept>* items, const double* products, const double* quotients, std::int64_t count,
                   std::int64_t n, double* sorted, const CudaQueue& queue) {
  launch(queue, count * n, SortProducts<Kept>{items, products, quotients, n, sorted});
}

template <class Kept>
void write_bases(const BasisItem<Kept>* items, const double* vectors, std::int64_t count, std::int64_t n,
                 bool ascending, const CudaQueue& queue) {
  launch(queue, count * n, ForEachOfRows<WriteBases<Kept>>{n, n, {items, vectors, n, ascending}});
}

template void load_bases(const BasisItem<float>* items, std::int64_t count, std::int64_t n, double* vectors,
                         const CudaQueue& queue);
template void sort_products(const BasisItem<float>* items, const double* products, const double* quotients,
                            std::int64_t count, std::int64_t n, double* sorted, const CudaQueue& queue);
template void write_bases(const BasisItem<float>* items, const double* vectors, std::int64_t count, std::int64_t n,
                          bool ascending, const CudaQueue& queue);
template void load_bases(const BasisItem<double>* items, std::int64_t count, std::int64_t n, double* vectors,
                         const CudaQueue& queue);
template void sort_products(const BasisItem<double>* items, const double* products, const double* quotients,
                            std::int64_t count, std::int64_t n, double* sorted, const CudaQueue& queue);
template void write_bases(const BasisItem<double>* items, const double* vectors, std::int64_t count, std::int64_t n,
                          bool ascending, const CudaQueue& queue);

}  // namespace gradstep::cuda
