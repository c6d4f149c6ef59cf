// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/compute_root.h"

#include <algorithm>

#include "backend/newton_ladder.h"
#include "kernels/inverse_root.h"

namespace gradstep::cpu {

namespace {

RootOptions options_of(const RootRecipe& recipe, const RootTools& tools) {
  RootOptions options;
  options.arithmetic = tools.arithmetic;
  options.lapack = tools.lapack;
  options.threads = tools.threads;
  options.method = recipe.method;
  options.precision = recipe.precision;
  options.exponent = recipe.exponent;
  options.matrix_epsilon = recipe.matrix_epsilon;
  options.absolute_ridge = recipe.absolute_ridge;
  options.padded = recipe.padded;
  options.pad_value = recipe.pad_value;
  options.source_steps = recipe.source_steps;
  return options;
}

template <class Solver, class T>
RootResult try_root(Solver& solver, const T* statistic, std::int64_t n, double threshold, const RootOptions& options,
                    T* root) {
  const RootResult result = solver.inverse_root(statistic, n, options);
  if (result.error < threshold) {
    for (std::int64_t k = 0; k < n * n; ++k) root[k] = static_cast<T>(solver.root()[k]);
  }
  return result;
}

template <class T>
RootRecord compute_basis_in(const RootJob& job, const RootTools& tools, Workspace& workspace) {
  const std::int64_t n = job.n;
  const T* statistic = job.statistic.as<T>();
  const RootOptions options = options_of(job.recipe, tools);
  RootSolver<double>& solver = workspace.roots;
  auto* result = static_cast<T*>(job.result);
  RootRecord record;
  record.computed = true;
  record.accepted = job.action == RootAction::refine
                        ? solver.refine_basis<T>(statistic, job.preconditioner.as<T>(), n, options, result + n * n)
                        : solver.eigenvectors(statistic, n, options);
  if (!record.accepted) return record;
  for (std::int64_t k = 0; k < n * n; ++k) result[k] = static_cast<T>(solver.root()[k]);
  return record;
}

}  // namespace

template <class T>
RootRecord compute_root(const T* statistic, std::int64_t n, const RootRecipe& recipe, const RootTools& tools,
                        Workspace& workspace, T* root) {
  RootRecord record;
  record.computed = true;
  RootOptions options = options_of(recipe, tools);
  for (std::int32_t attempt = 0; attempt <= recipe.retries; ++attempt) {
    const bool narrow = options.precision == RootPrecision::f32;
    const auto attempt_by = [&](auto& solver) {
      return try_root(solver, statistic, n, recipe.threshold, options, root);
    };
    const RootResult result = narrow ? attempt_by(workspace.narrow_roots) : attempt_by(workspace.roots);
    record.error = result.error;
    record.max_eigenvalue = result.max_eigenvalue;
    record.iterations = result.iterations;
    record.retries = attempt;
    record.accepted = result.error < recipe.threshold;
    if (!record.is_worth_another()) break;
    // A root that f32 cannot give is worth f64 before it is worth a larger ridge.
    if (narrow) {
      options.precision = RootPrecision::f64;
    } else {
      options.ridge_factor *= kernels::kRidgeGrowth;
    }
  }
  return record;
}

template RootRecord compute_root(const float* statistic, std::int64_t n, const RootRecipe& recipe,
                                 const RootTools& tools, Workspace& workspace, float* root);
template RootRecord compute_root(const double* statistic, std::int64_t n, const RootRecipe& recipe,
                                 const RootTools& tools, Workspace& workspace, double* root);

void reserve_roots(Context& context, std::span<const RootJob> jobs, const RootTools& tools, Workspaces& workspaces) {
  const auto is_due = [&](std::size_t at) { return jobs[at].action != RootAction::none; };
  const JobSharing sharing = sharing_of(context, jobs, is_due);
  if (sharing.due == 0) return;
  const RootTools chosen = tools.with_threads(sharing.is_shared ? &context : nullptr);
  // The largest matrix of each kind, by action and arithmetic; epsilons and exponents differ by group and by axes.
  struct Kind {
    std::int64_t n = 0;
    RootOptions options;
  };
  Kind kinds[4][2];
  std::int64_t coded = 0;
  for (const RootJob& job : jobs) {
    if (job.action == RootAction::none) continue;
    Kind& kind = kinds[static_cast<std::size_t>(job.action)][job.is_wide() ? 1 : 0];
    const double least =
        kind.n > 0 ? std::min(kind.options.matrix_epsilon, job.recipe.matrix_epsilon) : job.recipe.matrix_epsilon;
    kind.options = options_of(job.recipe, chosen);
    kind.options.matrix_epsilon = least;
    kind.n = std::max(kind.n, job.n);
    if (job.statistic.is_coded() || job.preconditioner.is_coded()) coded = std::max(coded, job.n);
    if (job.action == RootAction::root && job.recipe.method != RootMethod::eigh) newton_ladder(job.recipe.exponent);
  }
  const std::size_t tasks = sharing.is_shared ? 1 : std::min(context.width(), sharing.due);
  workspaces.prepare(tasks, [&](Workspace& workspace) {
    Workspace::resized(workspace.f32.first, coded * coded);
    Workspace::resized(workspace.f32.second, coded * coded);
    for (const RootAction action : {RootAction::root, RootAction::eigenvectors, RootAction::refine}) {
      for (const bool is_wide : {false, true}) {
        const auto& [n, options] = kinds[static_cast<std::size_t>(action)][is_wide ? 1 : 0];
        if (n == 0) continue;
        // Bases are in f64.
        if (action == RootAction::root && options.precision == RootPrecision::f32) {
          workspace.narrow_roots.reserve(action, n, options);
        } else {
          workspace.roots.reserve(action, n, options);
        }
      }
    }
  });
}

RootRecord compute_basis(const RootJob& job, const RootTools& tools, Workspace& workspace) {
  return with_arithmetic(job.is_wide(),
                         [&](auto type) { return compute_basis_in<decltype(type)>(job, tools, workspace); });
}

}  // namespace gradstep::cpu
