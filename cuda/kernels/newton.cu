// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/root_device.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

constexpr int kMaxIterations = 100;
constexpr double kTolerance = 1e-6;  ///< where it stops

/// Whether coupled Newton goes on from where it is.
GRADSTEP_DEVICE bool wants_more(RootState& state) {
  if (state.iterations >= kMaxIterations) return false;
  return state.error > kTolerance || state.polishes-- > 0;
}

/// h made symmetric, into `root`. By all threads.
GRADSTEP_DEVICE void keep_root(const Block& block, const double* h, std::int64_t n, double* root) {
  for (std::int64_t i = block.thread(); i < n * n; i += kMatrixThreads) {
    block.store(root + i, (block.load(h + i) + block.load(h + i % n * n + i / n)) / 2);
  }
}

struct BeginNewton {
  static constexpr const char* kName = "begin_newton";
  static constexpr int kThreads = kMatrixThreads;
  struct Shared {
    Partials partials;
    bool active;
  };

  RootBatch batch;
  const double* statistics;
  NewtonMatrices to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    RootState& state = *block.checked(batch.states + block.index());
    const std::int64_t n = batch.n;
    const std::int64_t first = block.index() * n * n;
    const double* s = statistics + first;
    const double p = batch.exponent;
    const std::int64_t padding = batch.padded > n ? batch.padded - n : 0;
    const double ridge = ridge_of(state);
    if (n == 1 && padding == 0) {
      if (block.thread() != 0) return;
      const double root = pow(block.load(s) + ridge, -1.0 / p);
      block.store(to.root + first, root);
      state.ridge = ridge;
      state.error = is_finite(root) ? 0 : __builtin_nan("");
      state.active = 0;
      return;
    }
    double squares = 0;
    for (std::int64_t i = block.thread(); i < n * n; i += kThreads) {
      const double m = block.load(s + i) + (i % (n + 1) == 0 ? ridge : 0);
      squares += m * m;
    }
    double pad = batch.pad_value + ridge;
    squares = combine<true>(block, squares, shared.partials) + static_cast<double>(padding) * pad * pad;
    const double z = (1 + p) / (2 * kernels::square_root(squares));
    const double h = pow(z, 1.0 / p);
    pad *= z;
    for (std::int64_t i = block.thread(); i < n * n; i += kThreads) {
      const bool is_diagonal = i % (n + 1) == 0;
      block.store(to.m + first + i, (block.load(s + i) + (is_diagonal ? ridge : 0)) * z);
      block.store(to.h + first + i, is_diagonal ? h : 0.0);
    }
    block.sync();
    double error = distance_from_identity(block, to.m + first, n, shared.partials);
    if (padding > 0) error = larger_or_nan(error, pad < 1 ? 1 - pad : pad - 1);
    if (block.thread() == 0) {
      state.ridge = ridge;
      state.error = error;
      state.pad = pad;
      state.rises = 0;
      state.polishes = batch.seed_rules ? 0 : 1;
      shared.active = wants_more(state);
      state.active = shared.active ? 1 : 0;
    }
    block.sync();
    if (!shared.active) keep_root(block, to.h + first, n, to.root + first);
  }
};

struct WriteNewtonFactors {
  static constexpr const char* kName = "write_newton_factors";
  static constexpr int kThreads = kRowThreads;

  RootBatch batch;
  const double* m;
  double* t;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    if (block.checked(batch.states + block.index() / batch.n)->active == 0) return;
    const double inverse = 1.0 / batch.exponent;
    const std::int64_t first = block.index() * batch.n;
    for (std::int64_t j = block.thread(); j < batch.n; j += kThreads) {
      const double added = j == block.index() % batch.n ? 1 + inverse : 0;
      block.store(t + first + j, -inverse * block.load(m + first + j) + added);
    }
  }
};

struct CheckNewton {
  static constexpr const char* kName = "check_newton";
  static constexpr int kThreads = kMatrixThreads;
  struct Shared {
    Partials partials;
    bool active;
    bool takes_previous;
  };

  RootBatch batch;
  NewtonMatrices matrices;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    RootState& state = *block.checked(batch.states + block.index());
    if (state.active == 0) return;
    const std::int64_t n = batch.n;
    const std::int64_t first = block.index() * n * n;
    double next = distance_from_identity(block, matrices.m + first, n, shared.partials);
    if (block.thread() == 0) {
      const double inverse = 1.0 / batch.exponent;
      ++state.iterations;
      state.pad *= pow(1 + inverse - inverse * state.pad, static_cast<double>(batch.exponent));
      if (batch.padded > n) next = larger_or_nan(next, state.pad < 1 ? 1 - state.pad : state.pad - 1);
      bool takes_previous = false;
      if (batch.seed_rules) {
        takes_previous = !(next < state.error * 1.2);
      } else {
        state.rises = next > state.error ? state.rises + 1 : 0;
        takes_previous = state.rises >= 3 || !is_finite(next);
      }
      state.error = next;
      shared.takes_previous = takes_previous;
      shared.active = !takes_previous && wants_more(state);
      state.active = shared.active ? 1 : 0;
    }
    block.sync();
    if (shared.active) return;
    keep_root(block, (shared.takes_previous ? matrices.previous : matrices.h) + first, n, matrices.root + first);
  }
};

}  // namespace

void begin_newton(const RootBatch& batch, const double* statistics, const NewtonMatrices& to, const CudaQueue& queue) {
  launch(queue, batch.count, BeginNewton{batch, statistics, to});
}

void write_newton_factors(const RootBatch& batch, const NewtonMatrices& matrices, const CudaQueue& queue) {
  launch(queue, batch.count * batch.n, WriteNewtonFactors{batch, matrices.m, matrices.t});
}

void check_newton(const RootBatch& batch, const NewtonMatrices& matrices, const CudaQueue& queue) {
  launch(queue, batch.count, CheckNewton{batch, matrices});
}

}  // namespace gradstep::cuda
