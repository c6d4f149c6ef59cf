// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "roots/background_roots.h"

namespace gradstep::cuda {

void BackgroundRoots::begin(std::span<const RootJob> jobs, std::span<RootRecord> records, CudaQueue& queue) {
  queue.check_not_capturing("roots are due, which another stream is to compute");
  jobs_.clear();
  places_.clear();
  records_ = records;
  kept_.begin();
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    records[at] = {};
    if (jobs[at].action != RootAction::root || jobs[at].result == nullptr) continue;
    kept_.add(jobs[at].statistic, jobs[at].result);
    RootJob job = jobs[at];
    job.statistic = {job.n, job.n, kernels::Coding::none, job.result, nullptr, nullptr, job.statistic.dtype};
    jobs_.push_back(job);
    places_.push_back(at);
  }
  kept_.read(queue);
  stream_.queue.follow(queue);
  pending_ = true;
  try {
    stream_.roots.put(jobs_, queued_, stream_.queue);
  } catch (...) {  // some statistics have given way to their roots: the round has none to install
    stop();
    throw;
  }
}

void BackgroundRoots::finish(CudaQueue& queue) {
  if (!pending_) return;
  queue.check_not_capturing("roots are due, whose numbers the host looks at");
  std::vector<RootRecord> found(jobs_.size());
  stream_.roots.take(jobs_, found, queued_, stream_.queue);
  for (std::size_t k = 0; k < found.size(); ++k) records_[places_[k]] = found[k];
  queue.follow(stream_.queue);
  pending_ = false;
}

void BackgroundRoots::stop() noexcept {
  if (!pending_) return;
  pending_ = false;
  try {
    stream_.queue.finish();
  } catch (...) {  // on a device that is gone nothing is under way
  }
}

}  // namespace gradstep::cuda
