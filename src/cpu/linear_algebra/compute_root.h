// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Root jobs, one thread each.
#pragma once

#include "backend/preconditioning.h"
#include "cpu/linear_algebra/workspaces.h"

namespace gradstep::cpu {

/// What the processor and the user have to compute roots with.
struct RootTools {
  const Arithmetic* arithmetic = nullptr;
  const Lapack* lapack = nullptr;  ///< NULL = none
};

/// The root of an n x n statistic, with retries; `root` may be where the statistic is, and is written only if accepted.
RootRecord compute_root(const float* statistic, std::int64_t n, const RootRecipe& recipe, const RootTools& tools,
                        Workspace& workspace, float* root);

/// A basis by the job's action, into its result if it is accepted.
RootRecord compute_basis(const RootJob& job, const RootTools& tools, Workspace& workspace);

}  // namespace gradstep::cpu
