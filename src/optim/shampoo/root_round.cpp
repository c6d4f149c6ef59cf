// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/root_round.h"

#include <cmath>

namespace gradstep {

namespace {

template <class T>
RootResult try_root(RootSolver<T>& solver, const float* statistic, std::int64_t n, const RootRecipe& recipe,
                    const RootOptions& options, float* root) {
  const RootResult result = solver.inverse_root(statistic, n, options);
  if (result.error < recipe.threshold) {
    for (std::int64_t k = 0; k < n * n; ++k) root[k] = static_cast<float>(solver.root()[k]);
  }
  return result;
}

}  // namespace

RootOutcome compute_root(const float* statistic, std::int64_t n, const RootRecipe& recipe, Workspace& workspace,
                         float* root) {
  RootOutcome outcome;
  outcome.computed = true;
  RootOptions options = recipe.options;
  for (std::int32_t attempt = 0; attempt <= recipe.retries; ++attempt) {
    const bool narrow = options.precision == RootPrecision::f32;
    const RootResult result = narrow ? try_root(workspace.narrow_roots, statistic, n, recipe, options, root)
                                     : try_root(workspace.roots, statistic, n, recipe, options, root);
    outcome.error = result.error;
    outcome.max_eigenvalue = result.max_eigenvalue;
    outcome.iterations = result.iterations;
    outcome.retries = attempt;
    outcome.accepted = result.error < recipe.threshold;
    if (outcome.accepted || std::isnan(result.max_eigenvalue)) break;  // no ridge helps against NaN
    // A root that f32 cannot give is worth f64 before it is worth a larger ridge.
    if (narrow) {
      options.precision = RootPrecision::f64;
    } else {
      options.ridge_factor *= 10;
    }
  }
  return outcome;
}

}  // namespace gradstep
