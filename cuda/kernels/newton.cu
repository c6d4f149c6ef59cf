// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the blocks of a matrix have measured is folded by the one thread that decides.
#include <cmath>

#include "device/tiles.h"
#include "kernels/root_device.h"

namespace gradstep::cuda {

namespace {

kernels::NewtonForm form_of(const RootBatch& batch) {
  const auto padding = static_cast<double>(batch.padded > batch.n ? batch.padded - batch.n : 0);
  return {batch.exponent, static_cast<double>(batch.n), padding, batch.source_steps};
}

/// Sums over rows of D, or of M.
struct NewtonSums {
  double trace;
  double squares;
  double distance;
};

/// And what each has measured.
struct Parts : MatrixParts {
  NewtonSums* sums;

  Parts(const RootBatch& batch, void* memory) : MatrixParts(batch), sums(static_cast<NewtonSums*>(memory)) {}

  GRADSTEP_DEVICE NewtonSums* own(const Block& block) const { return block.checked(sums + block.index()); }
  /// By one thread: of a whole matrix.
  GRADSTEP_DEVICE NewtonSums fold(const Block& block, std::int64_t matrix) const {
    NewtonSums all = {0, 0, 0};
    for (std::int64_t k = 0; k < count; ++k) {
      const NewtonSums& part = *block.checked(sums + matrix * count + k);
      all.trace += part.trace;
      all.squares += part.squares;
      kernels::take_magnitude(part.distance, all.distance);
    }
    return all;
  }
};

/// A number of D = S + ridge I.
template <class T>
GRADSTEP_DEVICE double damped(const Block& block, const T* s, double ridge) {
  return static_cast<double>(block.load(s) + static_cast<T>(ridge));
}

/// Trace and squares of D.
template <class T>
struct MeasureDamped {
  static constexpr const char* kName = "measure_damped";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  Parts parts;
  const T* statistics;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t matrix = parts.matrix(block);
    const T* s = statistics + matrix * batch.n * batch.n;
    const double ridge =
        kernels::root_ridge(batch.epsilon, batch.absolute_ridge, state_of(block, batch, matrix).max_eigenvalue);
    double trace = 0;
    double squares = 0;
    for_each_place(block, parts.range(block), batch.n, [&](std::int64_t i, std::int64_t row, std::int64_t column) {
      const double d = damped(block, s + i, row == column ? ridge : 0);
      if (row == column) trace += d;
      squares += d * d;
    });
    trace = combine<true>(block, trace, block.shared<Shared>());
    squares = combine<true>(block, squares, block.shared<Shared>());
    if (block.thread() == 0) *parts.own(block) = {trace, squares, 0};
  }
};

struct StartNewton {
  static constexpr const char* kName = "start_newton";

  RootBatch batch;
  kernels::NewtonForm form;
  kernels::NewtonLadder ladder;
  Parts parts;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, RootState& state) const {
    const NewtonSums sums = parts.fold(block, matrix);
    kernels::NewtonMeasures measures;
    measures.trace = sums.trace;
    measures.squares = sums.squares;
    measures.ridge = kernels::root_ridge(batch.epsilon, batch.absolute_ridge, state.max_eigenvalue);
    measures.pad = batch.pad_value + measures.ridge;
    measures.largest = state.max_eigenvalue;
    measures.smallest = state.min_eigenvalue;
    state.ridge = measures.ridge;
    state.begin = kernels::newton_start(form, ladder, measures);
    state.active = 1;
  }
};

/// M_0 and H_0.
template <class T>
struct WriteNewtonStart {
  static constexpr const char* kName = "write_newton_start";

  RootBatch batch;
  const T* statistics;
  NewtonMatrices<T> to;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, const RowRange& rows) const {
    const RootState& state = state_of(block, batch, matrix);
    const std::int64_t first = matrix * batch.n * batch.n;
    const double ridge = state.ridge;
    const double z = state.begin.z;
    const double h = std::pow(z, 1.0 / batch.exponent);
    for_each_place(block, rows, batch.n, [&](std::int64_t i, std::int64_t row, std::int64_t column) {
      const bool is_diagonal = row == column;
      const double d = damped(block, statistics + first + i, is_diagonal ? ridge : 0);
      block.store(to.m + first + i, static_cast<T>(d * z));
      block.store(to.h + first + i, static_cast<T>(is_diagonal ? h : 0));
    });
  }
};

/// The roots of matrices of one number, which need no iteration.
template <class T>
struct RootsOfNumbers {
  static constexpr const char* kName = "roots_of_numbers";

  RootBatch batch;
  const T* statistics;
  T* roots;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, RootState& state) const {
    const double ridge = kernels::root_ridge(batch.epsilon, batch.absolute_ridge, state.max_eigenvalue);
    const auto number = static_cast<double>(block.load(statistics + matrix));
    const auto root = static_cast<T>(kernels::inverse_root(number + ridge, batch.exponent));
    block.store(roots + matrix, root);
    state.error = __builtin_isfinite(root) ? 0 : __builtin_nan("");
    state.active = 0;
  }
};

template <class T>
struct WriteNewtonFactors {
  static constexpr const char* kName = "write_newton_factors";

  RootBatch batch;
  NewtonMatrices<T> matrices;
  bool is_first;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const RootState& state = state_of(block, batch, row.matrix);
    if (state.active == 0 && state.keeps != RootToKeep::next_h) return;
    const kernels::NewtonStep& step = state.newton.step;
    const std::int64_t i = row.first + j;
    T t = static_cast<T>(step.linear) * block.load(matrices.m + i);
    if (step.square != 0) t += static_cast<T>(step.square) * block.load(matrices.spare + i);
    if (j == row.index) t += static_cast<T>(step.constant);
    block.store(matrices.t + i, t);
    if (!is_first) return;
    const T diagonal = block.load(matrices.h + row.matrix * batch.n * batch.n);  // of H_0
    block.store(matrices.previous + i, diagonal * t);
  }
};

/// Measures M - I: the sum of squares, and the largest.
template <class T>
struct MeasureDistance {
  static constexpr const char* kName = "measure_distance";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Partials;

  RootBatch batch;
  Parts parts;
  const T* m;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t matrix = parts.matrix(block);
    if (state_of(block, batch, matrix).active == 0) return;
    const T* own = m + matrix * batch.n * batch.n;
    const RowRange rows = parts.range(block);
    double value = 0;
    if (batch.source_steps) {
      value = distance_from_identity(block, own, rows, batch.n, block.shared<Shared>());
    } else {
      for_each_place(block, rows, batch.n, [&](std::int64_t i, std::int64_t row, std::int64_t column) {
        const double x = static_cast<double>(block.load(own + i)) - (row == column ? 1 : 0);
        value += x * x;
      });
      value = combine<true>(block, value, block.shared<Shared>());
    }
    if (block.thread() == 0) *parts.own(block) = {0, batch.source_steps ? 0 : value, batch.source_steps ? value : 0};
  }
};

/// Whether a step is to come, also at the beginning; and which root is to be kept.
template <class T>
struct DecideNewton {
  static constexpr const char* kName = "decide_newton";

  kernels::NewtonForm form;
  kernels::NewtonLadder ladder;
  Parts parts;
  bool begins;

  GRADSTEP_DEVICE void operator()(const Block& block, std::int64_t matrix, RootState& state) const {
    state.keeps = RootToKeep::none;
    if (state.active == 0) return;
    const NewtonSums sums = parts.fold(block, matrix);
    const double distance = form.source_steps ? sums.distance : sums.squares;
    if (begins) {
      state.newton = kernels::begin_newton(form, distance, state.begin);
    } else {
      kernels::end_iteration(form, distance, state.newton);
    }
    const bool goes_on = kernels::goes_on<T>(form, ladder, state.newton);
    state.error = state.newton.error;
    if (goes_on && !state.newton.is_last) return;
    state.active = 0;
    state.keeps = goes_on ? RootToKeep::next_h : state.newton.takes_previous ? RootToKeep::previous : RootToKeep::h;
  }
};

/// H made symmetric. A block has a tile, and its mirror image.
template <class T>
struct KeepRoots {
  static constexpr const char* kName = "keep_roots";
  static constexpr int kThreads = kTileThreads;
  using Shared = Tile<T>;

  RootBatch batch;
  NewtonMatrices<T> matrices;
  bool is_stepped;  ///< h is what it was to become

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t n = batch.n;
    const TilePlace at(block, n, n);
    const RootToKeep keeps = state_of(block, batch, at.matrix).keeps;
    if (keeps == RootToKeep::none || (keeps == RootToKeep::next_h) != is_stepped || at.is_above_diagonal()) return;
    const T* h = (keeps == RootToKeep::previous ? matrices.previous : matrices.h) + at.matrix * n * n;
    T* root = matrices.root + at.matrix * n * n;
    auto& shared = block.template shared<Shared>();
    // What the mirror image of the tile has, by its rows.
    for_each_of_tile(block, [&](int r, int c) {
      if (at.left + r < n && at.top + c < n) shared[c][r] = block.load(h + (at.left + r) * n + at.top + c);
    });
    block.sync();
    mirror_tile<T>(
        block, at, n, shared,
        [&](std::int64_t row, std::int64_t column) {
          return (block.load(h + row * n + column) + shared[row - at.top][column - at.left]) / 2;
        },
        [&](std::int64_t row, std::int64_t column, T x) { block.store(root + row * n + column, x); });
  }
};

template <class T>
void keep_roots(const RootBatch& batch, const NewtonMatrices<T>& matrices, bool is_stepped, const CudaQueue& queue) {
  launch(queue, batch.count * tiles_of(batch.n) * tiles_of(batch.n), KeepRoots<T>{batch, matrices, is_stepped});
}

template <class T>
void measure_and_decide(const RootBatch& batch, const NewtonMatrices<T>& matrices, bool begins,
                        const CudaQueue& queue) {
  const Parts parts(batch, matrices.measures);
  launch(queue, parts.blocks(), MeasureDistance<T>{batch, parts, matrices.m});
  launch_matrices(queue, batch, DecideNewton<T>{form_of(batch), newton_ladder(batch.exponent), parts, begins});
  keep_roots(batch, matrices, /*is_stepped=*/false, queue);
}

}  // namespace

std::size_t newton_measures_bytes(const RootBatch& batch) {
  return static_cast<std::size_t>(MatrixParts(batch).blocks()) * sizeof(NewtonSums);
}

template <class T>
void begin_newton(const RootBatch& batch, const T* statistics, const NewtonMatrices<T>& to, const CudaQueue& queue) {
  const kernels::NewtonForm form = form_of(batch);
  if (batch.n == 1 && form.padding == 0) {
    return launch_matrices(queue, batch, RootsOfNumbers<T>{batch, statistics, to.root});
  }
  const Parts parts(batch, to.measures);
  launch(queue, parts.blocks(), MeasureDamped<T>{batch, parts, statistics});
  launch_matrices(queue, batch, StartNewton{batch, form, newton_ladder(batch.exponent), parts});
  launch_parts(queue, batch, WriteNewtonStart<T>{batch, statistics, to});
  measure_and_decide(batch, to, /*begins=*/true, queue);
}

template <class T>
void write_newton_factors(const RootBatch& batch, const NewtonMatrices<T>& matrices, bool is_first,
                          const CudaQueue& queue) {
  launch_rows(queue, batch, WriteNewtonFactors<T>{batch, matrices, is_first});
}

template <class T>
void keep_last_roots(const RootBatch& batch, const NewtonMatrices<T>& matrices, const CudaQueue& queue) {
  keep_roots(batch, matrices, /*is_stepped=*/true, queue);
}

template <class T>
void check_newton(const RootBatch& batch, const NewtonMatrices<T>& matrices, const CudaQueue& queue) {
  measure_and_decide(batch, matrices, /*begins=*/false, queue);
}

template void begin_newton(const RootBatch& batch, const float* statistics, const NewtonMatrices<float>& to,
                           const CudaQueue& queue);
template void write_newton_factors(const RootBatch& batch, const NewtonMatrices<float>& matrices, bool is_first,
                                   const CudaQueue& queue);
template void keep_last_roots(const RootBatch& batch, const NewtonMatrices<float>& matrices, const CudaQueue& queue);
template void check_newton(const RootBatch& batch, const NewtonMatrices<float>& matrices, const CudaQueue& queue);
template void begin_newton(const RootBatch& batch, const double* statistics, const NewtonMatrices<double>& to,
                           const CudaQueue& queue);
template void write_newton_factors(const RootBatch& batch, const NewtonMatrices<double>& matrices, bool is_first,
                                   const CudaQueue& queue);
template void keep_last_roots(const RootBatch& batch, const NewtonMatrices<double>& matrices, const CudaQueue& queue);
template void check_newton(const RootBatch& batch, const NewtonMatrices<double>& matrices, const CudaQueue& queue);

}  // namespace gradstep::cuda
