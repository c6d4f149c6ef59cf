// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The algorithms of kernels/inverse_root.h over many matrices at once: what distinguishes them is in their RootStates.
#include "roots/roots.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "backend/power_iteration.h"

namespace gradstep::cuda {

namespace {

/// Lists of matrices that a batch needs: the statistics, and six more.
constexpr std::int64_t kLists = 7;

auto key_of(const RootJob& job) {
  const RootRecipe& r = job.recipe;
  return std::tuple(job.n, r.method, r.exponent, r.matrix_epsilon, r.padded, r.pad_value, r.seed_rules, r.threshold,
                    r.retries);
}

/// Of a list: its matrices, or their probes.
std::int64_t numbers_of(std::int64_t n, std::int64_t count) { return count * n * std::max(n, kernels::kProbes); }

template <class T>
MatrixBatch<T> squares(T* first, std::int64_t n) {
  return {first, n, n, n * n};
}

template <class T>
MatrixBatch<T> probes(T* first, std::int64_t n) {
  return {first, kernels::kProbes, n, kernels::kProbes * n};
}

}  // namespace

void Roots::compute(std::span<const RootJob> jobs, std::span<RootRecord> records, bool into_results, CudaQueue& queue) {
  std::map<decltype(key_of(jobs.front())), std::vector<std::size_t>> groups;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    records[at] = {};
    if (jobs[at].action == RootAction::root) groups[key_of(jobs[at])].push_back(at);
  }
  queue.check_not_capturing("roots are due, whose numbers the host looks at");
  for (const auto& [key, all] : groups) {
    const std::int64_t n = std::get<0>(key);
    const auto most =
        static_cast<std::size_t>(std::max<std::int64_t>(1, kRootBatchBytes / (kLists * 8 * numbers_of(n, 1))));
    for (std::size_t first = 0; first < all.size(); first += most) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      Batch batch{jobs, records, {begin, begin + static_cast<std::ptrdiff_t>(std::min(most, all.size() - first))}};
      batch.into_results = into_results;
      for (std::int32_t attempt = 0; attempt <= batch.jobs[all.front()].recipe.retries && !batch.own.empty();
           ++attempt) {
        for (const std::size_t at : batch.own) records[at].retries = attempt;
        try_batch(batch, queue);
        batch.ridge_factor *= kernels::kRidgeGrowth;
      }
    }
  }
}

/// What it leaves in batch.own is worth another attempt.
void Roots::try_batch(Batch& batch, CudaQueue& queue) {
  const RootRecipe& recipe = batch.front().recipe;
  const std::int64_t n = batch.n();
  const auto count = static_cast<std::int64_t>(batch.own.size());
  const Buffer memory(queue.scratch(), static_cast<std::size_t>(kLists * numbers_of(n, count)) * sizeof(double));
  const Buffer states_memory(queue.scratch(), static_cast<std::size_t>(count) * sizeof(RootState));
  auto* const statistics = memory.as<double>();
  double* const scratch = statistics + numbers_of(n, count);
  const RootBatch device{n,
                         count,
                         recipe.padded,
                         recipe.pad_value,
                         recipe.exponent,
                         recipe.seed_rules,
                         batch.ridge_factor * recipe.matrix_epsilon,
                         states_memory.as<RootState>()};
  queue.zero(device.states, states_memory.bytes());
  statistics_.begin();
  for (std::size_t k = 0; k < batch.own.size(); ++k) {
    statistics_.add(batch.jobs[batch.own[k]].statistic,
                    reinterpret_cast<float*>(scratch) + static_cast<std::int64_t>(k) * n * n);
  }
  statistics_.read(queue);
  load_statistics(device, reinterpret_cast<float*>(scratch), statistics, queue);

  const double* roots = recipe.method == RootMethod::eigh ? eigh(device, statistics, scratch, queue)
                                                          : newton(device, statistics, scratch, queue);
  std::vector<RootState> states = download(device, queue);
  const auto is_doubtful = [](const RootState& s) { return s.error > kernels::kDoubtfulResidual<double>; };
  if (recipe.method == RootMethod::eigh && std::ranges::any_of(states, is_doubtful)) {
    measure_residuals(device, statistics, roots, scratch, queue);
    states = download(device, queue);
  }

  std::vector<std::size_t> failed;
  for (std::size_t k = 0; k < batch.own.size(); ++k) {
    RootRecord& record = batch.records[batch.own[k]];
    const bool finite = states[k].finite != 0;
    record.computed = true;
    record.error = finite ? states[k].error : std::nan("");
    record.max_eigenvalue = finite ? states[k].max_eigenvalue : std::nan("");
    record.iterations = states[k].newton.iterations;
    record.accepted = record.error < recipe.threshold;
    if (record.is_worth_another()) failed.push_back(batch.own[k]);
  }
  keep(batch, states, roots, queue);
  batch.own = std::move(failed);
}

/// The accepted ones, in f32, where they go.
void Roots::keep(const Batch& batch, std::span<const RootState> states, const double* roots, CudaQueue& queue) {
  const std::int64_t n = batch.n();
  const Buffer narrow(queue.scratch(), batch.into_results ? 0 : states.size() * static_cast<std::size_t>(n * n) * 4);
  std::vector<RootOutcome> outcomes;
  outcomes_.begin();
  for (std::size_t k = 0; k < batch.own.size(); ++k) {
    const RootJob& job = batch.jobs[batch.own[k]];
    if (!batch.records[batch.own[k]].accepted || (batch.into_results && job.result == nullptr)) continue;
    const std::int64_t first = static_cast<std::int64_t>(k) * n * n;
    float* to = batch.into_results ? job.result : narrow.as<float>() + first;
    outcomes.push_back({roots + first, to});
    if (!batch.into_results) outcomes_.add(job.preconditioner, to);
  }
  outcome_table_.begin(queue);
  const auto section = outcome_table_.add(outcomes);
  outcome_table_.send();
  narrow_roots(outcome_table_.at(section), static_cast<std::int64_t>(outcomes.size()), n, queue);
  outcomes_.write(queue);
}

/// By the eigendecomposition of S: S and S + ridge I share their vectors.
const double* Roots::eigh(const RootBatch& batch, double* statistics, double* scratch, CudaQueue& queue) {
  const std::int64_t all = numbers_of(batch.n, batch.count);
  double* vectors = scratch;
  double* scaled = scratch + all;
  double* roots = scratch + 2 * all;
  double* raised = scratch + 3 * all;
  const Buffer small(queue.scratch(), static_cast<std::size_t>(batch.count) *
                                          (static_cast<std::size_t>(batch.n) * sizeof(double) + sizeof(std::int32_t)));
  auto* values = small.as<double>();
  auto* info = reinterpret_cast<std::int32_t*>(values + batch.count * batch.n);
  if (batch.padded > 0) find_largest(batch, statistics, queue);
  queue.copy(vectors, statistics, static_cast<std::size_t>(batch.count * batch.n * batch.n) * sizeof(double));
  libraries_.cusolver().decompose(vectors, batch.n, batch.count, values, info, queue);
  set_ridges(batch, values, info, queue);

  const auto recompose = [&](bool is_raised, double* to) {
    scale_vectors(batch, vectors, values, is_raised, scaled, queue);
    const auto half = squares<const double>(scaled, batch.n);
    libraries_.cublas().multiply<double>(transposed(half), half, squares(to, batch.n), batch.count, queue);
    mirror_lower(batch, to, queue);
  };
  recompose(/*is_raised=*/false, roots);
  recompose(/*is_raised=*/true, raised);
  take_raised(batch, raised, statistics, queue);

  double* x = vectors;
  double* y = scaled;
  write_probes(batch, x, queue);
  const auto apply = [&](const double* matrices) {  // as they are: what comes of codes is not symmetric
    libraries_.cublas().multiply<double>(probes<const double>(x, batch.n),
                                         transposed(squares<const double>(matrices, batch.n)), probes(y, batch.n),
                                         batch.count, queue);
    std::swap(x, y);
  };
  apply(statistics);
  add_ridge_to_products(batch, x, queue);
  for (std::int32_t k = 0; k < batch.exponent; ++k) apply(roots);
  measure_probes(batch, x, queue);
  return roots;
}

/// max |H^p D - I|.
void Roots::measure_residuals(const RootBatch& batch, const double* statistics, const double* roots, double* scratch,
                              CudaQueue& queue) {
  double* x = scratch;
  double* y = scratch + numbers_of(batch.n, batch.count);
  damp(batch, statistics, x, queue);
  for (std::int32_t k = 0; k < batch.exponent; ++k) {
    multiply(batch, roots, x, y, queue);
    std::swap(x, y);
  }
  measure_doubtful(batch, x, queue);
}

/// Those that have come to their end are multiplied along with the others until none is left; their roots have been
/// kept.
const double* Roots::newton(const RootBatch& batch, const double* statistics, double* scratch, CudaQueue& queue) {
  const std::int64_t all = numbers_of(batch.n, batch.count);
  NewtonMatrices at{scratch, scratch + all, scratch + 2 * all, scratch + 3 * all, scratch + 4 * all, scratch + 5 * all};
  find_largest(batch, statistics, queue);
  begin_newton(batch, statistics, at, queue);
  const auto is_active = [](const RootState& state) { return state.active != 0; };
  while (std::ranges::any_of(download(batch, queue), is_active)) {
    write_newton_factors(batch, at, queue);
    multiply(batch, at.h, at.t, at.previous, queue);
    std::swap(at.h, at.previous);
    // M <- T^p M by repeated squaring of T, which has served H already.
    for (std::int32_t bits = batch.exponent; bits > 0; bits /= 2) {
      if (bits % 2 == 1) {
        multiply(batch, at.t, at.m, at.spare, queue);
        std::swap(at.m, at.spare);
      }
      if (bits > 1) {
        multiply(batch, at.t, at.t, at.spare, queue);
        std::swap(at.t, at.spare);
      }
    }
    check_newton(batch, at, queue);
  }
  return at.root;
}

void Roots::find_largest(const RootBatch& batch, const double* statistics, CudaQueue& queue) {
  const std::int64_t size = std::max(batch.n, batch.padded);
  PowerIterationStart numbers;
  std::vector<double> start(static_cast<std::size_t>(size));
  for (double& number : start) number = numbers.next();
  const Buffer vectors(queue.scratch(), static_cast<std::size_t>((2 * batch.count + 1) * size) * sizeof(double));
  queue.upload(vectors.data(), start.data(), start.size() * sizeof(double));
  find_largest_eigenvalues(batch, statistics, vectors.as<double>(), vectors.as<double>() + size, queue);
}

std::vector<RootState> Roots::download(const RootBatch& batch, CudaQueue& queue) {
  std::vector<RootState> states(static_cast<std::size_t>(batch.count));
  queue.download(states.data(), batch.states, states.size() * sizeof(RootState));
  return states;
}

void Roots::multiply(const RootBatch& batch, const double* a, const double* b, double* c, CudaQueue& queue) {
  libraries_.cublas().multiply<double>(squares(a, batch.n), squares(b, batch.n), squares(c, batch.n), batch.count,
                                       queue);
}

}  // namespace gradstep::cuda
