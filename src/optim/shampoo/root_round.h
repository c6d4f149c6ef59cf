// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A refresh of preconditioners under way: the statistics of one step are kept, roots take their places, and some steps
// later all are installed at once. When the roots are computed, and by which thread or rank, changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/background_lane.h"
#include "core/memory.h"
#include "optim/shampoo/roots.h"
#include "optim/shampoo/workspaces.h"

namespace gradstep {

/// What the computation of a matrix says beside the matrix.
struct RootOutcome {
  double error = 0;
  double max_eigenvalue = 0;
  std::int32_t iterations = 0;
  std::int32_t retries = 0;
  bool computed = false;  ///< false: its parameter had no gradient
  bool accepted = false;  ///< false: the old matrix stays
};

struct RootRecipe {
  RootOptions options;
  double threshold = 0.1;
  std::int32_t retries = 0;
};

/// The root of an n x n statistic, with retries; `root` may be where the statistic is, and is written only if accepted.
RootOutcome compute_root(const float* statistic, std::int64_t n, const RootRecipe& recipe, Workspace& workspace,
                         float* root);

/// One matrix of a round.
struct RootTask {
  std::size_t parameter = 0;
  std::size_t factor = 0;
  std::int64_t n = 0;
  double cost = 0;
  std::int32_t owner = 0;   ///< the rank that computes it
  std::int64_t offset = 0;  ///< of its numbers
  bool wanted = true;
  RootRecipe recipe = {};    // NOLINT(readability-redundant-member-init): lists may leave it out
  RootOutcome outcome = {};  // NOLINT(readability-redundant-member-init)
};

struct RootRound {
  static constexpr std::int64_t kFree = -1;

  RootRound() = default;
  RootRound(const RootRound&) = delete;
  RootRound& operator=(const RootRound&) = delete;
  ~RootRound() { stop(); }

  bool is_free() const { return step == kFree; }
  void stop() {
    if (job) job->cancel();
    job.reset();
  }

  std::int64_t step = kFree;    ///< the one whose statistics these are
  std::vector<RootTask> tasks;  ///< by owner, the longest first
  Buffer numbers;               ///< f32
  std::shared_ptr<BackgroundJob> job;
  bool complete = false;  ///< all matrices are here
};

}  // namespace gradstep
