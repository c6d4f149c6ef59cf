// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/roots.h"

#include "device/tiles.h"
#include "kernels/root_device.h"

namespace gradstep::cuda {

namespace {

template <class Kept, class T>
struct LoadStatistics {
  static constexpr const char* kName = "load_statistics";

  RootBatch batch;
  const Kept* from;
  T* to;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, const RowRange& rows) const {
    const std::int64_t first = matrix * batch.n * batch.n;
    bool strange = false;
    for_each_place(block, rows, batch.n, [&](std::int64_t i, std::int64_t, std::int64_t) {
      const auto value = static_cast<T>(block.load(from + first + i));
      strange = strange || !__builtin_isfinite(value);
      block.store(to + first + i, value);
    });
    if (strange) block.store(&state_of(block, batch, matrix).strange, 1);
  }
};

/// The identity in the place of what is not finite.
template <class T>
struct ReplaceStrange {
  static constexpr const char* kName = "replace_strange";

  RootBatch batch;
  T* statistics;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, const RowRange& rows) const {
    RootState& state = state_of(block, batch, matrix);
    if (rows.begin == 0 && block.thread() == 0) state.finite = state.strange == 0 ? 1 : 0;
    if (state.strange == 0) return;
    T* own = statistics + matrix * batch.n * batch.n;
    for_each_place(block, rows, batch.n, [&](std::int64_t i, std::int64_t row, std::int64_t column) {
      block.store(own + i, static_cast<T>(row == column ? 1 : 0));
    });
  }
};

template <class T>
struct SetRidges {
  static constexpr const char* kName = "set_ridges";

  RootBatch batch;
  const T* values;
  const int* info;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, RootState& state) const {
    const T* own = values + matrix * batch.n;
    if (batch.padded == 0) state.max_eigenvalue = static_cast<double>(block.load(own + batch.n - 1));
    state.ridge = kernels::root_ridge(batch.epsilon, batch.absolute_ridge, state.max_eigenvalue);
    state.raised = kernels::raise_of_eigenvalue(static_cast<double>(block.load(own)), state.ridge) > 0 ? 1 : 0;
    if (block.load(info + matrix) != 0) state.ridge = __builtin_nan("");  // and so is all that comes of it
  }
};

template <class T>
struct ScaleVectors {
  static constexpr const char* kName = "scale_vectors";

  RootBatch batch;
  const T* vectors;
  const T* values;
  bool raised;
  T* to;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const auto value = static_cast<double>(block.load(values + row.matrix * batch.n + row.index));
    const double ridge = state_of(block, batch, row.matrix).ridge;
    const auto f = static_cast<T>(raised ? kernels::raise_of_eigenvalue(value, ridge)
                                         : kernels::root_eigenvalue(value, ridge, batch.exponent));
    block.store(to + row.first + j, kernels::square_root(f) * block.load(vectors + row.first + j));
  }
};

/// A block has a tile.
template <class T>
struct MirrorLower {
  static constexpr const char* kName = "mirror_lower";
  static constexpr int kThreads = kTileThreads;
  using Shared = Tile<T>;

  T* matrices;
  std::int64_t n;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const TilePlace at(block, n, n);
    if (at.is_above_diagonal()) return;
    T* const own = matrices + at.matrix * n * n;
    mirror_tile<T>(
        block, at, n, block.template shared<Shared>(),
        [&](std::int64_t row, std::int64_t column) { return block.load(own + row * n + column); },
        [&](std::int64_t row, std::int64_t column, T x) {
          if (column > row) block.store(own + row * n + column, x);
        });
  }
};

template <class T>
struct TakeRaised {
  static constexpr const char* kName = "take_raised";

  RootBatch batch;
  const T* raised;
  T* statistics;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    if (state_of(block, batch, row.matrix).raised == 0) return;
    T* statistic = statistics + row.first + j;
    block.store(statistic, block.load(statistic) + block.load(raised + row.first + j));
  }
};

template <class T>
struct WriteProbes {
  static constexpr const char* kName = "write_probes";

  T* probes;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    block.store(probes + row.first + j, static_cast<T>(kernels::sign_of_probe(row.index, j)));
  }
};

template <class T>
struct AddRidgeToProducts {
  static constexpr const char* kName = "add_ridge_to_products";

  RootBatch batch;
  T* products;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const auto ridge = static_cast<T>(state_of(block, batch, row.matrix).ridge);
    T* y = products + row.first + j;
    block.store(y, block.load(y) + ridge * static_cast<T>(kernels::sign_of_probe(row.index, j)));
  }
};

template <class T>
struct MeasureProbes {
  static constexpr const char* kName = "measure_probes";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  const T* products;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    double worst = 0;
    for (std::int64_t i = block.thread(); i < kernels::kProbes * batch.n; i += kThreads) {
      const T y = block.load(products + block.index() * kernels::kProbes * batch.n + i);
      const auto sign = static_cast<T>(kernels::sign_of_probe(i / batch.n, i % batch.n));
      kernels::take_magnitude(static_cast<double>(y - sign), worst);
    }
    worst = combine<false>(block, worst, block.shared<Shared>());
    if (block.thread() == 0) state_of(block, batch, block.index()).error = worst;
  }
};

template <class T>
struct Damp {
  static constexpr const char* kName = "damp";

  RootBatch batch;
  const T* statistics;
  T* to;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const auto added = static_cast<T>(j == row.index ? state_of(block, batch, row.matrix).ridge : 0);
    block.store(to + row.first + j, block.load(statistics + row.first + j) + added);
  }
};

template <class T>
struct MeasureDoubtful {
  static constexpr const char* kName = "measure_doubtful";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  const T* products;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    RootState& state = state_of(block, batch, block.index());
    const double distance = distance_from_identity(block, products + block.index() * batch.n * batch.n, {0, batch.n},
                                                   batch.n, block.shared<Shared>());
    if (block.thread() == 0 && state.error > kernels::kDoubtfulResidual<T>) state.error = distance;
  }
};

template <class T, class Kept>
struct ConvertRoots {
  static constexpr const char* kName = "convert_roots";

  const RootOutcome<T, Kept>* outcomes;
  std::int64_t n;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const RootOutcome<T, Kept>& outcome = *block.checked(outcomes + row.matrix);
    const std::int64_t i = row.index * n + j;
    block.store(outcome.to + i, static_cast<Kept>(block.load(outcome.root + i)));
  }
};

template <class T, class Kept>
struct ConvertSettled {
  static constexpr const char* kName = "convert_settled";

  RootBatch batch;
  ConvertRoots<T, Kept> convert;
  double threshold;
  double doubtful;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    if (is_settled(state_of(block, batch, row.matrix), threshold, doubtful)) convert(block, row, j);
  }
};

}  // namespace

template <class Kept, class T>
void load_statistics(const RootBatch& batch, const Kept* from, T* statistics, const CudaQueue& queue) {
  launch_parts(queue, batch, LoadStatistics<Kept, T>{batch, from, statistics});
  launch_parts(queue, batch, ReplaceStrange<T>{batch, statistics});
}

template <class T>
void set_ridges(const RootBatch& batch, const T* values, const int* info, const CudaQueue& queue) {
  launch_matrices(queue, batch, SetRidges<T>{batch, values, info});
}

template <class T>
void scale_vectors(const RootBatch& batch, const T* vectors, const T* values, bool raised, T* to,
                   const CudaQueue& queue) {
  launch_rows(queue, batch, ScaleVectors<T>{batch, vectors, values, raised, to});
}

template <class T>
void mirror_lower(const RootBatch& batch, T* matrices, const CudaQueue& queue) {
  launch(queue, batch.count * tiles_of(batch.n) * tiles_of(batch.n), MirrorLower<T>{matrices, batch.n});
}

template <class T>
void take_raised(const RootBatch& batch, const T* raised, T* statistics, const CudaQueue& queue) {
  launch_rows(queue, batch, TakeRaised<T>{batch, raised, statistics});
}

template <class T>
void write_probes(const RootBatch& batch, T* probes, const CudaQueue& queue) {
  launch_probes(queue, batch, WriteProbes<T>{probes});
}

template <class T>
void add_ridge_to_products(const RootBatch& batch, T* products, const CudaQueue& queue) {
  launch_probes(queue, batch, AddRidgeToProducts<T>{batch, products});
}

template <class T>
void measure_probes(const RootBatch& batch, const T* products, const CudaQueue& queue) {
  launch(queue, batch.count, MeasureProbes<T>{batch, products});
}

template <class T>
void damp(const RootBatch& batch, const T* statistics, T* to, const CudaQueue& queue) {
  launch_rows(queue, batch, Damp<T>{batch, statistics, to});
}

template <class T>
void measure_doubtful(const RootBatch& batch, const T* products, const CudaQueue& queue) {
  launch(queue, batch.count, MeasureDoubtful<T>{batch, products});
}

template <class T, class Kept>
void convert_roots(const RootOutcome<T, Kept>* outcomes, std::int64_t count, std::int64_t n, const CudaQueue& queue) {
  launch(queue, count * n, ForEachOfRows<ConvertRoots<T, Kept>>{n, n, {outcomes, n}});
}

template <class T, class Kept>
void convert_settled(const RootBatch& batch, const RootOutcome<T, Kept>* outcomes, double threshold, double doubtful,
                     const CudaQueue& queue) {
  launch_rows(queue, batch, ConvertSettled<T, Kept>{batch, {outcomes, batch.n}, threshold, doubtful});
}

template void load_statistics(const RootBatch& batch, const float* from, float* statistics, const CudaQueue& queue);
template void set_ridges(const RootBatch& batch, const float* values, const int* info, const CudaQueue& queue);
template void scale_vectors(const RootBatch& batch, const float* vectors, const float* values, bool raised, float* to,
                            const CudaQueue& queue);
template void mirror_lower(const RootBatch& batch, float* matrices, const CudaQueue& queue);
template void take_raised(const RootBatch& batch, const float* raised, float* statistics, const CudaQueue& queue);
template void write_probes(const RootBatch& batch, float* probes, const CudaQueue& queue);
template void add_ridge_to_products(const RootBatch& batch, float* products, const CudaQueue& queue);
template void measure_probes(const RootBatch& batch, const float* products, const CudaQueue& queue);
template void damp(const RootBatch& batch, const float* statistics, float* to, const CudaQueue& queue);
template void measure_doubtful(const RootBatch& batch, const float* products, const CudaQueue& queue);
template void convert_roots(const RootOutcome<float, float>* outcomes, std::int64_t count, std::int64_t n,
                            const CudaQueue& queue);
template void convert_settled(const RootBatch& batch, const RootOutcome<float, float>* outcomes, double threshold,
                              double doubtful, const CudaQueue& queue);
template void load_statistics(const RootBatch& batch, const float* from, double* statistics, const CudaQueue& queue);
template void load_statistics(const RootBatch& batch, const double* from, double* statistics, const CudaQueue& queue);
template void set_ridges(const RootBatch& batch, const double* values, const int* info, const CudaQueue& queue);
template void scale_vectors(const RootBatch& batch, const double* vectors, const double* values, bool raised,
                            double* to, const CudaQueue& queue);
template void mirror_lower(const RootBatch& batch, double* matrices, const CudaQueue& queue);
template void take_raised(const RootBatch& batch, const double* raised, double* statistics, const CudaQueue& queue);
template void write_probes(const RootBatch& batch, double* probes, const CudaQueue& queue);
template void add_ridge_to_products(const RootBatch& batch, double* products, const CudaQueue& queue);
template void measure_probes(const RootBatch& batch, const double* products, const CudaQueue& queue);
template void damp(const RootBatch& batch, const double* statistics, double* to, const CudaQueue& queue);
template void measure_doubtful(const RootBatch& batch, const double* products, const CudaQueue& queue);
template void convert_roots(const RootOutcome<double, float>* outcomes, std::int64_t count, std::int64_t n,
                            const CudaQueue& queue);
template void convert_settled(const RootBatch& batch, const RootOutcome<double, float>* outcomes, double threshold,
                              double doubtful, const CudaQueue& queue);
template void convert_roots(const RootOutcome<double, double>* outcomes, std::int64_t count, std::int64_t n,
                            const CudaQueue& queue);
template void convert_settled(const RootBatch& batch, const RootOutcome<double, double>* outcomes, double threshold,
                              double doubtful, const CudaQueue& queue);

}  // namespace gradstep::cuda
