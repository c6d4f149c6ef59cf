// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/root_run.h"

#include <algorithm>

#include "core/trace.h"
#include "cpu/linear_algebra/stored_matrix.h"

namespace gradstep::cpu {

void CpuRootRun::begin(std::span<const RootJob> jobs, std::span<RootRecord> records, bool in_background,
                       Queue& /*queue*/) {
  const auto count = static_cast<std::int64_t>(jobs.size());
  jobs_ = jobs;
  records_ = records;
  for (RootRecord& record : records_) record = {};
  const auto is_root = [](const RootJob& job) { return job.action == RootAction::root; };
  if (std::any_of(jobs.begin(), jobs.end(), is_root)) {
    context_.parallel_for(count, [&](std::int64_t at) {
      const RootJob& job = jobs[static_cast<std::size_t>(at)];
      if (!is_root(job)) return;
      with_arithmetic(job.is_wide(), [&](auto type) {
        using T = decltype(type);
        const StoredMatrix copy{job.n, job.n, kernels::Coding::none, job.result, nullptr, nullptr, job.statistic.dtype};
        write_matrix<T>(loops_, read_matrix(loops_, job.statistic, static_cast<T*>(job.result)), copy);
      });
    });
  }
  pending_ = true;
  if (!in_background) return;
  try {
    job_ =
        std::make_shared<BackgroundJob>(count, [this](std::int64_t at) { run(static_cast<std::size_t>(at), tools_); });
    context_.background().submit(job_);
  } catch (const std::bad_alloc&) {
    job_.reset();  // finish() does it
  }
}

/// On any thread: touches nothing but the job's result and record.
void CpuRootRun::run(std::size_t at, const RootTools& tools) {
  const RootJob& job = jobs_[at];
  if (job.action == RootAction::none) return;
  const Phase phase("roots", {{"rows", job.n}});
  const Workspaces::Lent workspace(workspaces_);
  if (job.action != RootAction::root) {
    records_[at] = compute_basis(job, tools, *workspace);
    return;
  }
  with_arithmetic(job.is_wide(), [&](auto type) {
    auto* root = static_cast<decltype(type)*>(job.result);
    records_[at] = compute_root(root, job.n, job.recipe, tools, *workspace, root);
  });
}

void CpuRootRun::finish(Queue& /*queue*/) {
  if (!pending_) return;
  if (job_ != nullptr) {
    context_.parallel_for(static_cast<std::int64_t>(jobs_.size()), [&](std::int64_t /*at*/) { job_->run_one(); });
    job_->wait();
  }
  // What is not for the background; and what failed there for want of memory, here where it can be reported.
  for_each_due_job(
      context_, jobs_, tools_,
      [&](std::size_t at) { return jobs_[at].action != RootAction::none && !records_[at].computed; },
      [&](std::size_t at, const RootTools& tools) { run(at, tools); });
  stop();
}

void CpuRootRun::stop() {
  if (job_ != nullptr) job_->cancel();
  job_.reset();
  pending_ = false;
}

}  // namespace gradstep::cpu
