// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/roots.h"

#include "kernels/root_device.h"

namespace gradstep::cuda {

namespace {

struct LoadStatistics {
  static constexpr const char* kName = "load_statistics";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  const float* from;
  double* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t size = batch.n * batch.n;
    const float* x = from + block.index() * size;
    double* y = to + block.index() * size;
    double strange = 0;
    for (std::int64_t i = block.thread(); i < size; i += kThreads) {
      const auto value = static_cast<double>(block.load(x + i));
      if (!__builtin_isfinite(value)) strange = 1;
      block.store(y + i, value);
    }
    strange = combine<false>(block, strange, block.shared<Shared>());
    if (block.thread() == 0) state_of(block, batch, block.index()).finite = strange == 0 ? 1 : 0;
    if (strange == 0) return;
    for (std::int64_t i = block.thread(); i < size; i += kThreads) {
      block.store(y + i, i % (batch.n + 1) == 0 ? 1.0 : 0.0);
    }
  }
};

struct FindLargest {
  static constexpr const char* kName = "find_largest_eigenvalues";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  const double* statistics;
  const double* start;
  double* vectors;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const std::int64_t n = batch.n;
    const std::int64_t size = n > batch.padded ? n : batch.padded;
    const double* s = statistics + block.index() * n * n;
    double* x = vectors + block.index() * 2 * size;
    double* y = x + size;
    double squares = 0;
    for (std::int64_t j = block.thread(); j < size; j += kThreads) {
      const double value = block.load(start + j);
      block.store(x + j, value);
      squares += value * value;
    }
    double eigenvalue = 0;
    for (int i = 0; i < kernels::kMaxRootIterations; ++i) {
      const double norm = kernels::square_root(combine<true>(block, squares, shared));
      for (std::int64_t j = block.thread(); j < size; j += kThreads) block.store(x + j, block.load(x + j) / norm);
      block.sync();
      double product = 0;
      squares = 0;
      for (std::int64_t j = block.thread(); j < size; j += kThreads) {
        const double value = j < n ? times(block, s, x, j) : batch.pad_value * block.load(x + j);
        block.store(y + j, value);
        product += block.load(x + j) * value;
        squares += value * value;
      }
      const double next = combine<true>(block, product, shared);
      const bool moves = kernels::eigenvalue_moves(next, eigenvalue);
      eigenvalue = next;
      double* swapped = x;
      x = y;
      y = swapped;
      if (!moves) break;
    }
    if (block.thread() == 0) state_of(block, batch, block.index()).max_eigenvalue = eigenvalue;
  }

  /// Element j of the product; down a column of the symmetric matrix, so that neighbours read neighbours.
  GRADSTEP_DEVICE double times(const Block& block, const double* s, const double* x, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t i = 0; i < batch.n; ++i) sum += block.load(s + i * batch.n + j) * block.load(x + i);
    return sum;
  }
};

/// A thread has a matrix.
struct SetRidges {
  static constexpr const char* kName = "set_ridges";
  static constexpr int kThreads = 64;

  RootBatch batch;
  const double* values;
  const int* info;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t m = element_of(block);
    if (m >= batch.count) return;
    RootState& state = state_of(block, batch, m);
    const double* own = values + m * batch.n;
    if (batch.padded == 0) state.max_eigenvalue = block.load(own + batch.n - 1);
    state.ridge = kernels::root_ridge(batch.epsilon, state.max_eigenvalue);
    state.raised = block.load(own) < 0 ? 1 : 0;
    if (block.load(info + m) != 0) state.ridge = __builtin_nan("");  // and so is all that comes of it
  }
};

struct ScaleVectors {
  static constexpr const char* kName = "scale_vectors";

  RootBatch batch;
  const double* vectors;
  const double* values;
  bool raised;
  double* to;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const double value = block.load(values + row.matrix * batch.n + row.index);
    const double ridge = state_of(block, batch, row.matrix).ridge;
    const double f =
        raised ? kernels::raised_eigenvalue(value) : kernels::root_eigenvalue(value, ridge, batch.exponent);
    block.store(to + row.first + j, kernels::square_root(f) * block.load(vectors + row.first + j));
  }
};

struct MirrorLower {
  static constexpr const char* kName = "mirror_lower";

  double* matrices;
  std::int64_t n;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    if (j <= row.index) return;
    block.store(matrices + row.first + j, block.load(matrices + row.first + (j - row.index) * n + row.index));
  }
};

struct TakeRaised {
  static constexpr const char* kName = "take_raised";

  RootBatch batch;
  const double* raised;
  double* statistics;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    if (state_of(block, batch, row.matrix).raised == 0) return;
    block.store(statistics + row.first + j, block.load(raised + row.first + j));
  }
};

struct WriteProbes {
  static constexpr const char* kName = "write_probes";

  double* probes;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    block.store(probes + row.first + j, static_cast<double>(kernels::sign_of_probe(row.index, j)));
  }
};

struct AddRidgeToProducts {
  static constexpr const char* kName = "add_ridge_to_products";

  RootBatch batch;
  double* products;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const double ridge = state_of(block, batch, row.matrix).ridge;
    double* y = products + row.first + j;
    block.store(y, block.load(y) + ridge * kernels::sign_of_probe(row.index, j));
  }
};

struct MeasureProbes {
  static constexpr const char* kName = "measure_probes";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  const double* products;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    double worst = 0;
    for (std::int64_t i = block.thread(); i < kernels::kProbes * batch.n; i += kThreads) {
      const double y = block.load(products + block.index() * kernels::kProbes * batch.n + i);
      kernels::take_magnitude(y - kernels::sign_of_probe(i / batch.n, i % batch.n), worst);
    }
    worst = combine<false>(block, worst, block.shared<Shared>());
    if (block.thread() == 0) state_of(block, batch, block.index()).error = worst;
  }
};

struct Damp {
  static constexpr const char* kName = "damp";

  RootBatch batch;
  const double* statistics;
  double* to;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const double added = j == row.index ? state_of(block, batch, row.matrix).ridge : 0;
    block.store(to + row.first + j, block.load(statistics + row.first + j) + added);
  }
};

struct MeasureDoubtful {
  static constexpr const char* kName = "measure_doubtful";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  const double* products;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    RootState& state = state_of(block, batch, block.index());
    const double distance =
        distance_from_identity(block, products + block.index() * batch.n * batch.n, batch.n, block.shared<Shared>());
    if (block.thread() == 0 && state.error > kernels::kDoubtfulResidual<double>) state.error = distance;
  }
};

struct NarrowRoots {
  static constexpr const char* kName = "narrow_roots";

  const RootOutcome* outcomes;
  std::int64_t n;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const RootOutcome& outcome = *block.checked(outcomes + row.matrix);
    const std::int64_t i = row.index * n + j;
    block.store(outcome.to + i, static_cast<float>(block.load(outcome.root + i)));
  }
};

struct NarrowSettled {
  static constexpr const char* kName = "narrow_settled";

  RootBatch batch;
  NarrowRoots narrow;
  double threshold;
  double doubtful;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    if (is_settled(state_of(block, batch, row.matrix), threshold, doubtful)) narrow(block, row, j);
  }
};

}  // namespace

void load_statistics(const RootBatch& batch, const float* from, double* statistics, const CudaQueue& queue) {
  launch(queue, batch.count, LoadStatistics{batch, from, statistics});
}

void find_largest_eigenvalues(const RootBatch& batch, const double* statistics, const double* start, double* vectors,
                              const CudaQueue& queue) {
  launch(queue, batch.count, FindLargest{batch, statistics, start, vectors});
}

void set_ridges(const RootBatch& batch, const double* values, const int* info, const CudaQueue& queue) {
  launch_each(queue, batch.count, SetRidges{batch, values, info});
}

void scale_vectors(const RootBatch& batch, const double* vectors, const double* values, bool raised, double* to,
                   const CudaQueue& queue) {
  launch_rows(queue, batch, ScaleVectors{batch, vectors, values, raised, to});
}

void mirror_lower(const RootBatch& batch, double* matrices, const CudaQueue& queue) {
  launch_rows(queue, batch, MirrorLower{matrices, batch.n});
}

void take_raised(const RootBatch& batch, const double* raised, double* statistics, const CudaQueue& queue) {
  launch_rows(queue, batch, TakeRaised{batch, raised, statistics});
}

void write_probes(const RootBatch& batch, double* probes, const CudaQueue& queue) {
  launch_probes(queue, batch, WriteProbes{probes});
}

void add_ridge_to_products(const RootBatch& batch, double* products, const CudaQueue& queue) {
  launch_probes(queue, batch, AddRidgeToProducts{batch, products});
}

void measure_probes(const RootBatch& batch, const double* products, const CudaQueue& queue) {
  launch(queue, batch.count, MeasureProbes{batch, products});
}

void damp(const RootBatch& batch, const double* statistics, double* to, const CudaQueue& queue) {
  launch_rows(queue, batch, Damp{batch, statistics, to});
}

void measure_doubtful(const RootBatch& batch, const double* products, const CudaQueue& queue) {
  launch(queue, batch.count, MeasureDoubtful{batch, products});
}

void narrow_roots(const RootOutcome* outcomes, std::int64_t count, std::int64_t n, const CudaQueue& queue) {
  launch(queue, count * n, ForEachOfRows<NarrowRoots>{n, n, {outcomes, n}});
}

void narrow_settled(const RootBatch& batch, const RootOutcome* outcomes, double threshold, double doubtful,
                    const CudaQueue& queue) {
  launch_rows(queue, batch, NarrowSettled{batch, {outcomes, batch.n}, threshold, doubtful});
}

}  // namespace gradstep::cuda
