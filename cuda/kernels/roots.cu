// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/roots.h"

#include <cmath>

#include "kernels/random.h"
#include "kernels/root_device.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

constexpr int kMaxIterations = 100;
constexpr double kEigenvalueTolerance = 1e-6;

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
      if (!is_finite(value)) strange = 1;
      block.store(y + i, value);
    }
    strange = combine<false>(block, strange, block.shared<Shared>());
    if (block.thread() == 0) block.checked(batch.states + block.index())->finite = strange == 0 ? 1 : 0;
    if (strange == 0) return;
    for (std::int64_t i = block.thread(); i < size; i += kThreads)
      block.store(y + i, i % (batch.n + 1) == 0 ? 1.0 : 0.0);
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
    for (int i = 0; i < kMaxIterations; ++i) {
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
      const double change = next - eigenvalue;
      const bool moves = (change < 0 ? -change : change) > kEigenvalueTolerance;
      eigenvalue = next;
      double* swapped = x;
      x = y;
      y = swapped;
      if (!moves) break;
    }
    if (block.thread() == 0) block.checked(batch.states + block.index())->max_eigenvalue = eigenvalue;
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
    const std::int64_t m = block.index() * kThreads + block.thread();
    if (m >= batch.count) return;
    RootState& state = *block.checked(batch.states + m);
    const double* own = values + m * batch.n;
    if (batch.padded == 0) state.max_eigenvalue = block.load(own + batch.n - 1);
    state.ridge = ridge_of(state);
    state.raised = block.load(own) < 0 ? 1 : 0;
    if (block.load(info + m) != 0) state.ridge = __builtin_nan("");  // and so is all that comes of it
  }
};

struct ScaleVectors {
  static constexpr const char* kName = "scale_vectors";
  static constexpr int kThreads = kRowThreads;

  RootBatch batch;
  const double* vectors;
  const double* values;
  bool raised;
  double* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const RootState& state = *block.checked(batch.states + block.index() / batch.n);
    const double value = block.load(values + block.index());
    const double above = value < 0 ? 0 : value;
    const double f = raised ? above : pow(above + state.ridge, -1.0 / batch.exponent);
    const double scale = kernels::square_root(f);
    const std::int64_t first = block.index() * batch.n;
    for (std::int64_t j = block.thread(); j < batch.n; j += kThreads) {
      block.store(to + first + j, scale * block.load(vectors + first + j));
    }
  }
};

struct MirrorLower {
  static constexpr const char* kName = "mirror_lower";
  static constexpr int kThreads = kRowThreads;

  RootBatch batch;
  double* matrices;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    double* matrix = matrices + block.index() / batch.n * batch.n * batch.n;
    const std::int64_t row = block.index() % batch.n;
    for (std::int64_t j = row + 1 + block.thread(); j < batch.n; j += kThreads) {
      block.store(matrix + row * batch.n + j, block.load(matrix + j * batch.n + row));
    }
  }
};

struct TakeRaised {
  static constexpr const char* kName = "take_raised";
  static constexpr int kThreads = kRowThreads;

  RootBatch batch;
  const double* raised;
  double* statistics;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (block.checked(batch.states + block.index() / batch.n)->raised == 0) return;
    const std::int64_t first = block.index() * batch.n;
    for (std::int64_t j = block.thread(); j < batch.n; j += kThreads) {
      block.store(statistics + first + j, block.load(raised + first + j));
    }
  }
};

GRADSTEP_DEVICE double sign_of_probe(std::int64_t i, std::int64_t probe) {
  const std::uint64_t word = kernels::mix64(static_cast<std::uint64_t>(2 * i + 1) + static_cast<std::uint64_t>(probe));
  return (word & 1U) != 0 ? 1 : -1;
}

/// A block has a probe.
struct WriteProbes {
  static constexpr const char* kName = "write_probes";
  static constexpr int kThreads = kRowThreads;

  RootBatch batch;
  double* probes;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for (std::int64_t i = block.thread(); i < batch.n; i += kThreads) {
      block.store(probes + block.index() * batch.n + i, sign_of_probe(i, block.index() % kProbes));
    }
  }
};

struct AddRidgeToProducts {
  static constexpr const char* kName = "add_ridge_to_products";
  static constexpr int kThreads = kRowThreads;

  RootBatch batch;
  double* products;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const double ridge = block.checked(batch.states + block.index() / kProbes)->ridge;
    for (std::int64_t i = block.thread(); i < batch.n; i += kThreads) {
      double* y = products + block.index() * batch.n + i;
      block.store(y, block.load(y) + ridge * sign_of_probe(i, block.index() % kProbes));
    }
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
    for (std::int64_t i = block.thread(); i < kProbes * batch.n; i += kThreads) {
      const double y = block.load(products + block.index() * kProbes * batch.n + i);
      const double difference = y - sign_of_probe(i % batch.n, i / batch.n);
      worst = larger_or_nan(difference < 0 ? -difference : difference, worst);
    }
    worst = combine<false>(block, worst, block.shared<Shared>());
    if (block.thread() == 0) block.checked(batch.states + block.index())->error = worst;
  }
};

struct Damp {
  static constexpr const char* kName = "damp";
  static constexpr int kThreads = kRowThreads;

  RootBatch batch;
  const double* statistics;
  double* to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const double ridge = block.checked(batch.states + block.index() / batch.n)->ridge;
    const std::int64_t first = block.index() * batch.n;
    for (std::int64_t j = block.thread(); j < batch.n; j += kThreads) {
      const double added = j == block.index() % batch.n ? ridge : 0;
      block.store(to + first + j, block.load(statistics + first + j) + added);
    }
  }
};

struct MeasureDoubtful {
  static constexpr const char* kName = "measure_doubtful";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  const double* products;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    RootState& state = *block.checked(batch.states + block.index());
    const double distance =
        distance_from_identity(block, products + block.index() * batch.n * batch.n, batch.n, block.shared<Shared>());
    if (block.thread() == 0 && state.error > kDoubtfulResidual) state.error = distance;
  }
};

struct NarrowRoots {
  static constexpr const char* kName = "narrow_roots";
  static constexpr int kThreads = kRowThreads;

  const RootOutcome* outcomes;
  std::int64_t n;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const RootOutcome& outcome = *block.checked(outcomes + block.index() / n);
    const std::int64_t first = block.index() % n * n;
    for (std::int64_t j = block.thread(); j < n; j += kThreads) {
      block.store(outcome.to + first + j, static_cast<float>(block.load(outcome.root + first + j)));
    }
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
  launch(queue, (batch.count + SetRidges::kThreads - 1) / SetRidges::kThreads, SetRidges{batch, values, info});
}

void scale_vectors(const RootBatch& batch, const double* vectors, const double* values, bool raised, double* to,
                   const CudaQueue& queue) {
  launch(queue, batch.count * batch.n, ScaleVectors{batch, vectors, values, raised, to});
}

void mirror_lower(const RootBatch& batch, double* matrices, const CudaQueue& queue) {
  launch(queue, batch.count * batch.n, MirrorLower{batch, matrices});
}

void take_raised(const RootBatch& batch, const double* raised, double* statistics, const CudaQueue& queue) {
  launch(queue, batch.count * batch.n, TakeRaised{batch, raised, statistics});
}

void write_probes(const RootBatch& batch, double* probes, const CudaQueue& queue) {
  launch(queue, batch.count * kProbes, WriteProbes{batch, probes});
}

void add_ridge_to_products(const RootBatch& batch, double* products, const CudaQueue& queue) {
  launch(queue, batch.count * kProbes, AddRidgeToProducts{batch, products});
}

void measure_probes(const RootBatch& batch, const double* products, const CudaQueue& queue) {
  launch(queue, batch.count, MeasureProbes{batch, products});
}

void damp(const RootBatch& batch, const double* statistics, double* to, const CudaQueue& queue) {
  launch(queue, batch.count * batch.n, Damp{batch, statistics, to});
}

void measure_doubtful(const RootBatch& batch, const double* products, const CudaQueue& queue) {
  launch(queue, batch.count, MeasureDoubtful{batch, products});
}

void narrow_roots(const RootOutcome* outcomes, std::int64_t count, std::int64_t n, const CudaQueue& queue) {
  launch(queue, count * n, NarrowRoots{outcomes, n});
}

}  // namespace gradstep::cuda
