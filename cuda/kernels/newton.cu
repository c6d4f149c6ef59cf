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
GRADSTEP_DEVICE void decide(const kernels::NewtonState& now, RootState& state, Decision& decision) {
  state.newton = now;
  decision.goes_on = kernels::goes_on<double>(state.newton);
  decision.takes_previous = now.takes_previous;
  state.active = decision.goes_on ? 1 : 0;
  state.error = now.error;
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
  using Shared = Decision;

  RootBatch batch;
  kernels::NewtonForm form;
  const double* statistics;
  NewtonMatrices to;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    RootState& state = state_of(block, batch, block.index());
    const std::int64_t n = batch.n;
    const std::int64_t first = block.index() * n * n;
    const double* s = statistics + first;
    const double ridge = kernels::root_ridge(batch.epsilon, state.max_eigenvalue);
    if (n == 1 && !form.is_extended) {
      if (block.thread() != 0) return;
      const double root = kernels::inverse_root(block.load(s) + ridge, form.exponent);
      block.store(to.root + first, root);
      state.error = __builtin_isfinite(root) ? 0 : __builtin_nan("");
      state.active = 0;
      return;
    }
    double squares = 0;
    for (std::int64_t i = block.thread(); i < n * n; i += kThreads) {
      const double m = block.load(s + i) + (i % (n + 1) == 0 ? ridge : 0);
      squares += m * m;
    }
    const double pad = batch.pad_value + ridge;
    const auto padding = static_cast<double>(form.is_extended ? batch.padded - n : 0);
    squares = combine<true>(block, squares, shared.partials) + padding * pad * pad;
    const double z = kernels::newton_scale(form.exponent, squares);
    const double h = std::pow(z, 1.0 / form.exponent);
    for (std::int64_t i = block.thread(); i < n * n; i += kThreads) {
      const bool is_diagonal = i % (n + 1) == 0;
      block.store(to.m + first + i, (block.load(s + i) + (is_diagonal ? ridge : 0)) * z);
      block.store(to.h + first + i, is_diagonal ? h : 0.0);
    }
    block.sync();
    const double distance = distance_from_identity(block, to.m + first, n, shared.partials);
    if (block.thread() == 0) decide(kernels::begin_newton(form, distance, pad * z), state, shared);
    block.sync();
    if (!shared.goes_on) keep_root(block, to.h + first, n, to.root + first);
  }
};

struct WriteNewtonFactors {
  static constexpr const char* kName = "write_newton_factors";

  RootBatch batch;
  const double* m;
  double* t;

  GRADSTEP_DEVICE void operator()(const Block& block, const Row& row, std::int64_t j) const {
    if (state_of(block, batch, row.matrix).active == 0) return;
    const double inverse = 1.0 / batch.exponent;
    const double added = j == row.index ? 1 + inverse : 0;
    block.store(t + row.first + j, -inverse * block.load(m + row.first + j) + added);
  }
};

struct CheckNewton {
  static constexpr const char* kName = "check_newton";
  static constexpr int kThreads = kMatrixThreads;
  using Shared = Decision;

  RootBatch batch;
  kernels::NewtonForm form;
  NewtonMatrices matrices;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    RootState& state = state_of(block, batch, block.index());
    if (state.active == 0) return;
    const std::int64_t first = block.index() * batch.n * batch.n;
    const double distance = distance_from_identity(block, matrices.m + first, batch.n, shared.partials);
    if (block.thread() == 0) {
      kernels::NewtonState next = state.newton;
      kernels::end_iteration(form, distance, next);
      decide(next, state, shared);
    }
    block.sync();
    if (shared.goes_on) return;
    keep_root(block, (shared.takes_previous ? matrices.previous : matrices.h) + first, batch.n, matrices.root + first);
  }
};

}  // namespace

void begin_newton(const RootBatch& batch, const double* statistics, const NewtonMatrices& to, const CudaQueue& queue) {
  launch(queue, batch.count, BeginNewton{batch, form_of(batch), statistics, to});
}

void write_newton_factors(const RootBatch& batch, const NewtonMatrices& matrices, const CudaQueue& queue) {
  launch_rows(queue, batch, WriteNewtonFactors{batch, matrices.m, matrices.t});
}

void check_newton(const RootBatch& batch, const NewtonMatrices& matrices, const CudaQueue& queue) {
  launch(queue, batch.count, CheckNewton{batch, form_of(batch), matrices});
}

}  // namespace gradstep::cuda
