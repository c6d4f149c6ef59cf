// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The algorithms of kernels/inverse_root.h over many matrices at once: what distinguishes them is in their RootStates.
#include "roots/roots.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backend/power_iteration.h"
#include "kernels/power_iteration.h"

namespace gradstep::cuda {

namespace {

/// Lists of matrices that a batch needs: the statistics, and six more.
constexpr std::int64_t kListsOfRoots = 7;

auto key_of(const RootJob& job) {
  const RootRecipe& r = job.recipe;
  return std::tuple(job.n, r.method, r.precision, r.exponent, r.matrix_epsilon, r.absolute_ridge, r.padded, r.pad_value,
                    r.source_steps, r.threshold, r.retries, job.is_wide());
}

/// How many numbers a list has: its matrices, or their probes.
std::int64_t numbers_of(std::int64_t n, std::int64_t count) { return count * n * std::max(n, kernels::kProbes); }

/// A batch whose products are not more makes an iteration about as soon as the host could look at the one before.
constexpr std::int64_t kLightWork = std::int64_t{1} << 26;

template <class T>
std::size_t scratch_of(std::int64_t n, std::size_t count) {
  return static_cast<std::size_t>(kListsOfRoots * numbers_of(n, static_cast<std::int64_t>(count))) * sizeof(T);
}

/// Jobs of one extent and recipe, as many as fit into the scratch.
std::vector<std::vector<std::size_t>> batches_of(std::span<const RootJob> jobs) {
  std::map<decltype(key_of(jobs.front())), std::vector<std::size_t>> groups;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    if (jobs[at].action == RootAction::root) groups[key_of(jobs[at])].push_back(at);
  }
  std::vector<std::vector<std::size_t>> batches;
  for (const auto& [key, all] : groups) {
    const std::size_t most = root_batch_limit(static_cast<std::int64_t>(scratch_of<double>(std::get<0>(key), 1)));
    for (std::size_t first = 0; first < all.size(); first += most) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      batches.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(std::min(most, all.size() - first)));
    }
  }
  return batches;
}

RootBatch batch_of(const RootJob& job, std::size_t count, double ridge_factor, RootState* states) {
  const RootRecipe& recipe = job.recipe;
  return {job.n,
          static_cast<std::int64_t>(count),
          recipe.padded,
          recipe.pad_value,
          recipe.exponent,
          recipe.source_steps,
          ridge_factor * recipe.matrix_epsilon,
          recipe.absolute_ridge,
          states};
}

bool is_narrow(const RootJob& job) { return job.recipe.precision == RootPrecision::f32; }

/// body(0 of the type that the job's statistic is kept in). Roots in f32 are of statistics in f32.
template <class T, class Body>
auto with_kept_type(const RootJob& job, Body body) {
  if constexpr (std::is_same_v<T, double>) {
    if (job.is_wide()) return body(double{});
  }
  return body(float{});
}

/// The residual of an eigendecomposition above which it is looked at again.
double doubtful_error(const RootJob& job) {
  if (job.recipe.method != RootMethod::eigh) return std::numeric_limits<double>::infinity();
  return is_narrow(job) ? kernels::kDoubtfulResidual<float> : kernels::kDoubtfulResidual<double>;
}

/// How many iterations of coupled Newton most matrices need. By the source's steps, two more than those that take the
/// ridge to 1.
std::int32_t likely_iterations(const RootJob& job) {
  const RootRecipe& recipe = job.recipe;
  const double norm =
      std::sqrt(static_cast<double>(std::max(job.n, recipe.padded)));  // of D, in its largest eigenvalue
  const kernels::NewtonForm form{.exponent = recipe.exponent, .source_steps = recipe.source_steps};
  const std::int32_t steps = kernels::newton_steps(form, newton_ladder(recipe.exponent), recipe.matrix_epsilon / norm);
  return std::min(steps + (recipe.source_steps ? 2 : 0), kernels::kMaxRootIterations);
}

/// How many iterations are made before the host looks for the first time. Where they take long, one too many costs more
/// than a look.
std::int32_t unseen_iterations(const RootJob& job, std::size_t count) {
  const bool is_light = static_cast<std::int64_t>(count) * job.n * job.n * job.n <= kLightWork;
  return is_light ? likely_iterations(job) : 0;
}

void write_record(const RootState& state, double threshold, RootRecord& record) {
  const bool finite = state.finite != 0;
  record.computed = true;
  record.error = finite ? state.error : std::nan("");
  record.max_eigenvalue = finite ? state.max_eigenvalue : std::nan("");
  record.iterations = state.newton.iterations;
  record.accepted = record.error < threshold;
}

template <class T>
MatrixBatch<T> squares(T* first, std::int64_t n) {
  return {first, n, n, n * n};
}

template <class T>
MatrixBatch<T> probes(T* first, std::int64_t n) {
  return {first, kernels::kProbes, n, kernels::kProbes * n};
}

}  // namespace

template <class T>
struct Roots::Attempt {
  Buffer memory;
  Buffer measures;  ///< of coupled Newton
  RootBatch device;
  NewtonMatrices<T> newton;
  bool is_stepped = false;   ///< coupled Newton has made a step, and M is what it was before
  const T* roots = nullptr;  ///< in what comes behind the statistics

  T* statistics() const { return memory.as<T>(); }
  T* scratch() const { return statistics() + numbers_of(device.n, device.count); }
};

void Roots::compute(std::span<const RootJob> jobs, std::span<RootRecord> records, bool into_results, CudaQueue& queue) {
  std::fill(records.begin(), records.end(), RootRecord{});
  queue.check_not_capturing("roots are due, whose numbers the host looks at");
  std::vector<Batch> batches;
  for (std::vector<std::size_t>& own : batches_of(jobs)) {
    if (batches.size() == tables_.size()) tables_.push_back(std::make_unique<RootTables>());
    RootTables* const tables = tables_[batches.size()].get();
    batches.push_back({jobs, records, std::move(own), tables, /*ridge_factor=*/1, into_results});
  }
  for (std::size_t first = 0, last = 0; first < batches.size(); first = last) {
    std::size_t bytes = 0;
    do {
      bytes += scratch_of<double>(batches[last].n(), batches[last].own.size());
      ++last;
    } while (last < batches.size() &&
             bytes + scratch_of<double>(batches[last].n(), batches[last].own.size()) <= kRootBatchBytes);
    run_group(std::span(batches).subspan(first, last - first), queue);
  }
}

/// Batches that fit into the scratch together, at which the host looks together.
void Roots::run_group(std::span<Batch> group, CudaQueue& queue) {
  for (std::int32_t attempt = 0;; ++attempt) {
    std::vector<Batch*> narrow;
    std::vector<Batch*> wide;
    for (Batch& batch : group) {
      if (batch.own.empty() || attempt > batch.front().recipe.retries) continue;
      for (const std::size_t at : batch.own) batch.records[at].retries = attempt;
      // A root that f32 cannot give is worth f64 before it is worth a larger ridge.
      (attempt == 0 && is_narrow(batch.front()) ? narrow : wide).push_back(&batch);
    }
    if (narrow.empty() && wide.empty()) return;
    try_batches<float>(narrow, queue);
    try_batches<double>(wide, queue);
    for (Batch* batch : wide) batch->ridge_factor *= kernels::kRidgeGrowth;
  }
}

void Roots::put(std::span<const RootJob> jobs, QueuedRoots& queued, CudaQueue& queue) {
  auto* states = queued.states.of<RootState>(queue, static_cast<std::int64_t>(jobs.size()));
  queue.zero(states, jobs.size() * sizeof(RootState));
  std::size_t number = 0;
  for (const std::vector<std::size_t>& own : batches_of(jobs)) {
    if (number == queued.tables.size()) queued.tables.push_back(std::make_unique<RootTables>());
    RootTables& tables = *queued.tables[number++];
    const RootJob& front = jobs[own.front()];
    if (is_narrow(front)) {
      put_batch<float, float>(jobs, own, states, tables, queue);
    } else {
      with_kept_type<double>(front,
                             [&](auto type) { put_batch<double, decltype(type)>(jobs, own, states, tables, queue); });
    }
    states += own.size();
  }
}

template <class T, class Kept>
void Roots::put_batch(std::span<const RootJob> jobs, std::span<const std::size_t> own, RootState* states,
                      RootTables& tables, CudaQueue& queue) {
  const RootJob& front = jobs[own.front()];
  const Attempt<T> attempt =
      begin<T, Kept>(jobs, own, /*ridge_factor=*/1, states, tables, likely_iterations(front), queue);
  std::vector<RootOutcome<T, Kept>> outcomes;
  for (std::size_t k = 0; k < own.size(); ++k) {
    outcomes.push_back(
        {attempt.roots + static_cast<std::int64_t>(k) * front.n * front.n, static_cast<Kept*>(jobs[own[k]].result)});
  }
  tables.outcome_table.begin(queue);
  const auto section = tables.outcome_table.add(outcomes);
  tables.outcome_table.send();
  convert_settled(attempt.device, tables.outcome_table.at(section), front.recipe.threshold, doubtful_error(front),
                  queue);
}

void Roots::take(std::span<const RootJob> jobs, std::span<RootRecord> records, QueuedRoots& queued, CudaQueue& queue) {
  std::vector<RootState> states(jobs.size());
  queue.download(states.data(), queued.states.of<RootState>(queue, static_cast<std::int64_t>(jobs.size())),
                 states.size() * sizeof(RootState));
  std::vector<RootJob> left;
  std::vector<std::size_t> places;
  auto state = states.begin();
  for (const std::vector<std::size_t>& own : batches_of(jobs)) {
    for (const std::size_t at : own) {
      const RootJob& job = jobs[at];
      records[at] = {};
      write_record(*state, job.recipe.threshold, records[at]);
      const bool is_done = state->finite == 0 || is_settled(*state, job.recipe.threshold, doubtful_error(job));
      ++state;
      if (is_done) continue;
      left.push_back(job);
      places.push_back(at);
    }
  }
  if (left.empty()) return;
  std::vector<RootRecord> found(left.size());
  compute(left, found, /*into_results=*/true, queue);
  for (std::size_t k = 0; k < left.size(); ++k) records[places[k]] = found[k];
}

/// Coupled Newton makes so many iterations.
template <class T, class Kept>
Roots::Attempt<T> Roots::begin(std::span<const RootJob> jobs, std::span<const std::size_t> own, double ridge_factor,
                               RootState* states, RootTables& tables, std::int32_t iterations, CudaQueue& queue) {
  const RootJob& front = jobs[own.front()];
  const std::int64_t n = front.n;
  Attempt<T> attempt;
  attempt.memory = Buffer(queue.scratch(), scratch_of<T>(n, own.size()));
  attempt.device = batch_of(front, own.size(), ridge_factor, states);
  T* const statistics = attempt.statistics();
  T* const scratch = attempt.scratch();
  auto* const stored = reinterpret_cast<Kept*>(scratch);
  tables.statistics.begin();
  for (std::size_t k = 0; k < own.size(); ++k) {
    tables.statistics.add(jobs[own[k]].statistic, stored + static_cast<std::int64_t>(k) * n * n);
  }
  tables.statistics.read(queue);
  load_statistics<Kept>(attempt.device, stored, statistics, queue);
  if (front.recipe.method == RootMethod::eigh) {
    attempt.roots = eigh(attempt.device, statistics, scratch, tables, queue);
    return attempt;
  }
  const std::int64_t all = numbers_of(n, attempt.device.count);
  attempt.measures = Buffer(queue.scratch(), newton_measures_bytes(attempt.device));
  attempt.newton = {scratch,           scratch + all,     scratch + 2 * all,      scratch + 3 * all,
                    scratch + 4 * all, scratch + 5 * all, attempt.measures.data()};
  attempt.roots = attempt.newton.root;
  find_eigenvalues(attempt.device, statistics, /*and_smallest=*/!attempt.device.source_steps, tables, queue);
  begin_newton(attempt.device, statistics, attempt.newton, queue);
  for (std::int32_t k = 0; k < iterations; ++k) iterate(attempt, queue);
  return attempt;
}

/// What is left in their `own` is worth another attempt.
template <class T>
void Roots::try_batches(std::span<Batch* const> batches, CudaQueue& queue) {
  if (batches.empty()) return;
  std::size_t count = 0;
  for (const Batch* batch : batches) count += batch->own.size();
  const Buffer memory(queue.scratch(), count * sizeof(RootState));
  queue.zero(memory.data(), memory.bytes());
  std::vector<RootState> states(count);
  const auto look = [&] { queue.download(states.data(), memory.data(), memory.bytes()); };
  std::vector<Attempt<T>> attempts;
  std::vector<std::span<const RootState>> seen;
  std::size_t first = 0;
  for (const Batch* batch : batches) {
    with_kept_type<T>(batch->front(), [&](auto type) {
      attempts.push_back(begin<T, decltype(type)>(batch->jobs, batch->own, batch->ridge_factor,
                                                  memory.as<RootState>() + first, *batch->tables,
                                                  unseen_iterations(batch->front(), batch->own.size()), queue));
    });
    seen.emplace_back(states.data() + first, batch->own.size());
    first += batch->own.size();
  }
  look();

  const auto is_active = [](const RootState& s) { return s.active != 0; };
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      if (std::ranges::none_of(seen[b], is_active)) continue;
      iterate(attempts[b], queue);
      goes_on = true;
    }
    if (goes_on) look();
  }
  const auto is_doubtful = [](const RootState& s) { return s.error > kernels::kDoubtfulResidual<T>; };
  bool are_doubtful = false;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    if (batches[b]->front().recipe.method != RootMethod::eigh || std::ranges::none_of(seen[b], is_doubtful)) continue;
    const Attempt<T>& attempt = attempts[b];
    measure_residuals(attempt.device, attempt.statistics(), attempt.roots, attempt.scratch(), queue);
    are_doubtful = true;
  }
  if (are_doubtful) look();

  for (std::size_t b = 0; b < batches.size(); ++b) {
    Batch& batch = *batches[b];
    std::vector<std::size_t> failed;
    for (std::size_t k = 0; k < batch.own.size(); ++k) {
      RootRecord& record = batch.records[batch.own[k]];
      write_record(seen[b][k], batch.front().recipe.threshold, record);
      if (record.is_worth_another()) failed.push_back(batch.own[k]);
    }
    with_kept_type<T>(batch.front(), [&](auto type) { keep<T, decltype(type)>(batch, attempts[b].roots, queue); });
    batch.own = std::move(failed);
  }
}

/// The accepted ones, in Kept, where they go.
template <class T, class Kept>
void Roots::keep(const Batch& batch, const T* roots, CudaQueue& queue) {
  const std::int64_t n = batch.n();
  RootTables& tables = *batch.tables;
  const Buffer kept(queue.scratch(),
                    batch.into_results ? 0 : batch.own.size() * static_cast<std::size_t>(n * n) * sizeof(Kept));
  std::vector<RootOutcome<T, Kept>> outcomes;
  tables.outcomes.begin();
  for (std::size_t k = 0; k < batch.own.size(); ++k) {
    const RootJob& job = batch.jobs[batch.own[k]];
    if (!batch.records[batch.own[k]].accepted || (batch.into_results && job.result == nullptr)) continue;
    const std::int64_t first = static_cast<std::int64_t>(k) * n * n;
    Kept* to = batch.into_results ? static_cast<Kept*>(job.result) : kept.as<Kept>() + first;
    outcomes.push_back({roots + first, to});
    if (!batch.into_results) tables.outcomes.add(job.preconditioner, to);
  }
  tables.outcome_table.begin(queue);
  const auto section = tables.outcome_table.add(outcomes);
  tables.outcome_table.send();
  convert_roots(tables.outcome_table.at(section), static_cast<std::int64_t>(outcomes.size()), n, queue);
  tables.outcomes.write(queue);
}

/// By the eigendecomposition of S: S and S + ridge I share their vectors.
template <class T>
const T* Roots::eigh(const RootBatch& batch, T* statistics, T* scratch, RootTables& tables, CudaQueue& queue) {
  const std::int64_t all = numbers_of(batch.n, batch.count);
  T* vectors = scratch;
  T* scaled = scratch + all;
  T* roots = scratch + 2 * all;
  T* raised = scratch + 3 * all;
  const Buffer small(queue.scratch(), static_cast<std::size_t>(batch.count) *
                                          (static_cast<std::size_t>(batch.n) * sizeof(T) + sizeof(std::int32_t)));
  auto* values = small.as<T>();
  auto* info = reinterpret_cast<std::int32_t*>(values + batch.count * batch.n);
  if (batch.padded > 0) find_eigenvalues(batch, statistics, /*and_smallest=*/false, tables, queue);
  queue.copy(vectors, statistics, static_cast<std::size_t>(batch.count * batch.n * batch.n) * sizeof(T));
  libraries_.cusolver().decompose(vectors, batch.n, batch.count, values, info, queue);
  set_ridges(batch, values, info, queue);

  const auto recompose = [&](bool is_raised, T* to) {
    scale_vectors(batch, vectors, values, is_raised, scaled, queue);
    const auto half = squares<const T>(scaled, batch.n);
    libraries_.cublas().multiply<T>(transposed(half), half, squares(to, batch.n), batch.count, queue);
    mirror_lower(batch, to, queue);
  };
  recompose(/*is_raised=*/false, roots);
  recompose(/*is_raised=*/true, raised);
  take_raised(batch, raised, statistics, queue);

  T* x = vectors;
  T* y = scaled;
  write_probes(batch, x, queue);
  const auto apply = [&](const T* matrices) {  // as they are: what comes of codes is not symmetric
    libraries_.cublas().multiply<T>(probes<const T>(x, batch.n), transposed(squares<const T>(matrices, batch.n)),
                                    probes(y, batch.n), batch.count, queue);
    std::swap(x, y);
  };
  apply(statistics);
  add_ridge_to_products(batch, x, queue);
  for (std::int32_t k = 0; k < batch.exponent; ++k) apply(roots);
  measure_probes(batch, x, queue);
  return roots;
}

/// max |H^p D - I|.
template <class T>
void Roots::measure_residuals(const RootBatch& batch, const T* statistics, const T* roots, T* scratch,
                              CudaQueue& queue) {
  T* x = scratch;
  T* y = scratch + numbers_of(batch.n, batch.count);
  damp(batch, statistics, x, queue);
  for (std::int32_t k = 0; k < batch.exponent; ++k) {
    multiply<T>(batch, roots, x, y, queue);
    std::swap(x, y);
  }
  measure_doubtful(batch, x, queue);
}

/// A step of coupled Newton, but for M, which is of no use after the last one and so is made by the next. Matrices that
/// have come to their end are multiplied along with the others; their roots have been kept.
template <class T>
void Roots::iterate(Attempt<T>& attempt, CudaQueue& queue) {
  const RootBatch& batch = attempt.device;
  NewtonMatrices<T>& at = attempt.newton;
  const bool is_first = !attempt.is_stepped;
  if (!is_first) {
    // M <- T^p M by repeated squaring of T, which has served H already.
    for (std::int32_t bits = batch.exponent; bits > 0; bits /= 2) {
      if (bits % 2 == 1) {
        multiply<T>(batch, at.t, at.m, at.spare, queue);
        std::swap(at.m, at.spare);
      }
      if (bits > 1) {
        multiply<T>(batch, at.t, at.t, at.spare, queue);
        std::swap(at.t, at.spare);
      }
    }
    check_newton(batch, at, queue);
  }
  if (!batch.source_steps) multiply<T>(batch, at.m, at.m, at.spare, queue);
  write_newton_factors(batch, at, is_first, queue);
  if (!is_first) multiply<T>(batch, at.h, at.t, at.previous, queue);
  std::swap(at.h, at.previous);
  keep_last_roots(batch, at, queue);
  attempt.is_stepped = true;
}

template <class T>
void Roots::find_eigenvalues(const RootBatch& batch, const T* statistics, bool and_smallest, RootTables& tables,
                             CudaQueue& queue) {
  const std::int64_t size = std::max(batch.n, batch.padded);
  PowerIterationStart numbers;
  std::vector<double> start(static_cast<std::size_t>(size));
  for (double& number : start) number = numbers.next();
  tables.start.begin(queue);
  const auto section = tables.start.add(start);
  tables.start.send();
  const Buffer memory(queue.scratch(), power_iteration_bytes<T>(batch));
  cuda::find_eigenvalues(batch, statistics, and_smallest, tables.start.at(section), memory.data(), queue);
}

template <class T>
void Roots::multiply(const RootBatch& batch, const T* a, const T* b, T* c, CudaQueue& queue) {
  libraries_.cublas().multiply<T>(squares(a, batch.n), squares(b, batch.n), squares(c, batch.n), batch.count, queue);
}

}  // namespace gradstep::cuda
