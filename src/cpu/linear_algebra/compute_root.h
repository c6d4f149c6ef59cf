// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Root jobs: a thread has one, or all threads share one where there are few.
#pragma once

#include "backend/preconditioning.h"
#include "cpu/linear_algebra/workspaces.h"

namespace gradstep::cpu {

/// What the processor and the user have to compute roots with.
struct RootTools {
  const Arithmetic* arithmetic = nullptr;
  const Lapack* lapack = nullptr;  ///< NULL = none
  Context* threads = nullptr;      ///< that share a job's work; NULL = the calling thread works alone

  RootTools with_threads(Context* shared) const { return {arithmetic, lapack, shared}; }
};

/// How many jobs there are, and whether all threads share one after the other.
struct JobSharing {
  std::size_t due = 0;
  bool is_shared = false;
};

template <class IsDue>
JobSharing sharing_of(const Context& context, std::span<const RootJob> jobs, IsDue is_due) {
  constexpr std::int64_t kSmallestShared = 512;
  JobSharing sharing;
  bool are_large = true;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    if (!is_due(at)) continue;
    ++sharing.due;
    are_large = are_large && jobs[at].n >= kSmallestShared;
  }
  sharing.is_shared = are_large && 2 * sharing.due <= context.width();
  return sharing;
}

/// body(position, tools) for the jobs of which is_due(position). A thread has a job; but where jobs are large, and no
/// more than half as many as threads, all threads share one after the other. (Not all of a job can be shared.)
template <class IsDue, class Body>
void for_each_due_job(Context& context, std::span<const RootJob> jobs, const RootTools& tools, IsDue is_due,
                      Body body) {
  const bool share = sharing_of(context, jobs, is_due).is_shared;
  const RootTools chosen = tools.with_threads(share ? &context : nullptr);
  const auto run = [&](std::int64_t at) {
    if (is_due(static_cast<std::size_t>(at))) body(static_cast<std::size_t>(at), chosen);
  };
  const auto count = static_cast<std::int64_t>(jobs.size());
  if (!share) return context.parallel_for(count, run);
  for (std::int64_t at = 0; at < count; ++at) run(at);
}

/// The root of an n x n statistic in f32 or f64, with retries; `root` may be where the statistic is, and is written
/// only if accepted.
template <class T>
RootRecord compute_root(const T* statistic, std::int64_t n, const RootRecipe& recipe, const RootTools& tools,
                        Workspace& workspace, T* root);

/// Takes the scratch that these jobs need. All but that of a root in f32 which turns out to be worth f64.
void reserve_roots(Context& context, std::span<const RootJob> jobs, const RootTools& tools, Workspaces& workspaces);

/// A basis by the job's action, into its result if it is accepted.
RootRecord compute_basis(const RootJob& job, const RootTools& tools, Workspace& workspace);

}  // namespace gradstep::cpu
