// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/root_device.h"

namespace gradstep::cuda {

namespace {

kernels::NewtonForm form_of(const RootBatch& batch) {
  return {batch.exponent, batch.padded > batch.n, batch.seed_rules};
}

/// What the threads of a block learn from the one that has decided.
struct Decision {
  Partials partials;
  bool goes_on;
  bool takes_previous;
};

/// By one thread, from where the iteration stands.
template <class T>
GRADSTEP_DEVICE void decide(const kernels::NewtonForm& form, const kernels::NewtonState& now, RootState& state,
                            Decision& decision) {
  state.newton = now;
  decision.goes_on = kernels::goes_on<T>(form, state.newton);
  decision.takes_previous = now.takes_previous;
  state.active = decision.goes_on ? 1 : 0;
  state.error = now.error;
}

/// h made symmetric, into `root`. By all threads.
template <class T>
GRADSTEP_DEVICE void keep_root(const Block& block, const T* h, std::int64_t n, T* root) {
  for_each_place(block, n, [&](std::int64_t i, std::int64_t row, std::int64_t column) {
    block.store(root + i, (block.load(h + i) + block.load(h + column * n + row)) / 2);
  });
}

template <class T>
struct BeginNewton {
  static constexpr const char* kName = "begin_newton";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Decision;

  RootBatch batch;
  kernels::NewtonForm form;
  const T* statistics;
  NewtonMatrices<T> to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    RootState& state = state_of(block, batch, block.index());
    const std::int64_t n = batch.n;
    const std::int64_t first = block.index() * n * n;
    const T* s = statistics + first;
    const double ridge = kernels::root_ridge(batch.epsilon, state.max_eigenvalue);
    if (n == 1 && !form.is_extended) {
      if (block.thread() != 0) return;
      const auto root =
          static_cast<T>(kernels::inverse_root(static_cast<double>(block.load(s)) + ridge, form.exponent));
      block.store(to.root + first, root);
      state.error = __builtin_isfinite(root) ? 0 : __builtin_nan("");
      state.active = 0;
      return;
    }
    const auto damped = [&](std::int64_t i, bool is_diagonal) {
      return static_cast<double>(block.load(s + i) + static_cast<T>(is_diagonal ? ridge : 0));
    };
    kernels::NewtonMeasures measures;
    for_each_place(block, n, [&](std::int64_t i, std::int64_t row, std::int64_t column) {
      const double m = damped(i, row == column);
      if (row == column) measures.trace += m;
      measures.squares += m * m;
    });
    measures.trace = combine<true>(block, measures.trace, shared.partials);
    measures.squares = combine<true>(block, measures.squares, shared.partials);
    measures.rows = static_cast<double>(n);
    measures.padding = static_cast<double>(form.is_extended ? batch.padded - n : 0);
    measures.pad = batch.pad_value + ridge;
    measures.ridge = ridge;
    measures.largest = state.max_eigenvalue;
    measures.smallest = state.min_eigenvalue;
    const kernels::NewtonStart begin = kernels::newton_start(form, measures);
    const double h = std::pow(begin.z, 1.0 / form.exponent);
    for_each_place(block, n, [&](std::int64_t i, std::int64_t row, std::int64_t column) {
      block.store(to.m + first + i, static_cast<T>(damped(i, row == column) * begin.z));
      block.store(to.h + first + i, static_cast<T>(row == column ? h : 0));
    });
    block.sync();
    const double distance = distance_from_identity(block, to.m + first, n, shared.partials);
    if (block.thread() == 0) decide<T>(form, kernels::begin_newton(form, distance, begin), state, shared);
    block.sync();
    if (!shared.goes_on) keep_root(block, to.h + first, n, to.root + first);
  }
};

template <class T>
struct WriteNewtonFactors {
  static constexpr const char* kName = "write_newton_factors";

  RootBatch batch;
  const T* m;
  T* t;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    const RootState& state = state_of(block, batch, row.matrix);
    if (state.active == 0) return;
    const auto [diagonal, scale] = state.newton.step;
    const auto scaled = static_cast<T>(-scale * static_cast<double>(block.load(m + row.first + j)));
    block.store(t + row.first + j, scaled + static_cast<T>(j == row.index ? diagonal : 0));
  }
};

template <class T>
struct CheckNewton {
  static constexpr const char* kName = "check_newton";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Decision;

  RootBatch batch;
  kernels::NewtonForm form;
  NewtonMatrices<T> matrices;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    RootState& state = state_of(block, batch, block.index());
    if (state.active == 0) return;
    const std::int64_t first = block.index() * batch.n * batch.n;
    const double distance = distance_from_identity(block, matrices.m + first, batch.n, shared.partials);
    if (block.thread() == 0) {
      kernels::NewtonState next = state.newton;
      kernels::end_iteration(form, distance, next);
      decide<T>(form, next, state, shared);
    }
    block.sync();
    if (shared.goes_on) return;
    keep_root(block, (shared.takes_previous ? matrices.previous : matrices.h) + first, batch.n, matrices.root + first);
  }
};

}  // namespace

template <class T>
void begin_newton(const RootBatch& batch, const T* statistics, const NewtonMatrices<T>& to, const CudaQueue& queue) {
  launch(queue, batch.count, BeginNewton<T>{batch, form_of(batch), statistics, to});
}

template <class T>
void write_newton_factors(const RootBatch& batch, const NewtonMatrices<T>& matrices, const CudaQueue& queue) {
  launch_rows(queue, batch, WriteNewtonFactors<T>{batch, matrices.m, matrices.t});
}

template <class T>
void check_newton(const RootBatch& batch, const NewtonMatrices<T>& matrices, const CudaQueue& queue) {
  launch(queue, batch.count, CheckNewton<T>{batch, form_of(batch), matrices});
}

template void begin_newton(const RootBatch& batch, const float* statistics, const NewtonMatrices<float>& to,
                           const CudaQueue& queue);
template void write_newton_factors(const RootBatch& batch, const NewtonMatrices<float>& matrices,
                                   const CudaQueue& queue);
template void check_newton(const RootBatch& batch, const NewtonMatrices<float>& matrices, const CudaQueue& queue);
template void begin_newton(const RootBatch& batch, const double* statistics, const NewtonMatrices<double>& to,
                           const CudaQueue& queue);
template void write_newton_factors(const RootBatch& batch, const NewtonMatrices<double>& matrices,
                                   const CudaQueue& queue);
template void check_newton(const RootBatch& batch, const NewtonMatrices<double>& matrices, const CudaQueue& queue);

}  // namespace gradstep::cuda
