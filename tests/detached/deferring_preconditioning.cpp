// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "detached/deferring_preconditioning.h"

#include <utility>
#include <vector>

namespace gradstep::test {

namespace {

struct KeptStep {
  explicit KeptStep(const PreconditioningStep& shown)
      : tensors(shown.tensors.begin(), shown.tensors.end()),
        groups(shown.groups.begin(), shown.groups.end()),
        rounding_step(shown.rounding_step) {}
  PreconditioningStep step() const { return {tensors, groups, rounding_step}; }

  std::vector<TensorStep> tensors;
  std::vector<rules::ShampooConstants> groups;
  std::int64_t rounding_step;
};

struct KeptJobs {
  KeptJobs(std::span<const RootJob> jobs_shown, std::span<const RootRecord> records_shown)
      : jobs(jobs_shown.begin(), jobs_shown.end()), records(records_shown.begin(), records_shown.end()) {}

  std::vector<RootJob> jobs;
  std::vector<RootRecord> records;
};

/// In the background of the device the host sees no difference: what counts is what the statistics are at begin().
class DeferringRun final : public RootRun {
 public:
  DeferringRun(std::unique_ptr<RootRun> inner, PutInto put_into)
      : inner_(std::move(inner)), put_into_(std::move(put_into)) {}
  ~DeferringRun() override { DeferringRun::stop(); }

  void begin(std::span<const RootJob> jobs, std::span<RootRecord> records, bool /*in_background*/,
             Queue& queue) override {
    queue_ = &queue;
    put_into_(queue, [this, jobs, records] { inner_->begin(jobs, records, /*in_background=*/false, host_); });
  }
  void finish(Queue& queue) override {
    put_into_(queue, [this] { inner_->finish(host_); });
    queue.finish();
    queue_ = nullptr;
  }
  void stop() override {
    if (queue_ == nullptr) return;
    put_into_(*queue_, [this] { inner_->stop(); });
    queue_->finish();
    queue_ = nullptr;
  }

 private:
  std::unique_ptr<RootRun> inner_;
  PutInto put_into_;
  HostQueue host_;
  Queue* queue_ = nullptr;  // of a run that was begun
};

class DeferringPreconditioning final : public Preconditioning {
 public:
  DeferringPreconditioning(std::unique_ptr<Preconditioning> inner, PutInto put_into)
      : inner_(std::move(inner)), put_into_(std::move(put_into)) {}

  const char* arithmetic() const override { return inner_->arithmetic(); }
  std::int64_t bytes() const override { return inner_->bytes(); }

  void plan(PreconditioningPlan plan, Queue& queue) override {
    put_into_(queue, [this, work = std::make_shared<WorkList>(*plan.work), plan = std::move(plan)]() mutable {
      plan.work = work.get();
      work_ = work;
      inner_->plan(std::move(plan), host_);
    });
  }
  void follow_masters(const PreconditioningStep& step, Queue& queue) override {
    in_step(step, queue, [this](const PreconditioningStep& s) { inner_->follow_masters(s, host_); });
  }
  void update_statistics(const PreconditioningStep& step, bool only_new, Queue& queue) override {
    in_step(step, queue, [=, this](const PreconditioningStep& s) { inner_->update_statistics(s, only_new, host_); });
  }
  void precondition(const PreconditioningStep& step, bool with_statistics, Queue& queue) override {
    in_step(step, queue, [=, this](const PreconditioningStep& s) { inner_->precondition(s, with_statistics, host_); });
  }
  void spread_exchanged(const PreconditioningStep& step, Queue& queue) override {
    in_step(step, queue, [this](const PreconditioningStep& s) { inner_->spread_exchanged(s, host_); });
  }
  void graft(const PreconditioningStep& step, Queue& queue) override {
    in_step(step, queue, [this](const PreconditioningStep& s) { inner_->graft(s, host_); });
  }
  void finish(const PreconditioningStep& step, Queue& queue) override {
    in_step(step, queue, [this](const PreconditioningStep& s) { inner_->finish(s, host_); });
  }
  void step_in_bases(const PreconditioningStep& step, Queue& queue) override {
    in_step(step, queue, [this](const PreconditioningStep& s) { inner_->step_in_bases(s, host_); });
  }
  void finish_in_bases(const PreconditioningStep& step, Queue& queue) override {
    in_step(step, queue, [this](const PreconditioningStep& s) { inner_->finish_in_bases(s, host_); });
  }

  void refresh_roots(std::span<const RootJob> jobs, std::span<RootRecord> records, Queue& queue) override {
    put_into_(queue, [this, jobs, records] { inner_->refresh_roots(jobs, records, host_); });
    queue.finish();
  }
  std::unique_ptr<RootRun> make_root_run() override {
    return std::make_unique<DeferringRun>(inner_->make_root_run(), put_into_);
  }
  void install_roots(std::span<const RootJob> jobs, std::span<const RootRecord> records, Queue& queue) override {
    put_into_(queue, [this, kept = std::make_shared<KeptJobs>(jobs, records)] {
      inner_->install_roots(kept->jobs, kept->records, host_);
    });
  }
  void install_bases(const PreconditioningStep& step, std::span<const RootJob> jobs,
                     std::span<const RootRecord> records, Queue& queue) override {
    in_step(step, queue, [this, kept = std::make_shared<KeptJobs>(jobs, records)](const PreconditioningStep& s) {
      inner_->install_bases(s, kept->jobs, kept->records, host_);
    });
  }

 private:
  template <class Body>
  void in_step(const PreconditioningStep& step, Queue& queue, Body body) {
    put_into_(queue, [kept = std::make_shared<KeptStep>(step), body] { body(kept->step()); });
  }

  std::unique_ptr<Preconditioning> inner_;
  PutInto put_into_;
  HostQueue host_;
  std::shared_ptr<WorkList> work_;  // of the plan
};

}  // namespace

std::unique_ptr<Preconditioning> defer(std::unique_ptr<Preconditioning> inner, PutInto put_into) {
  return std::make_unique<DeferringPreconditioning>(std::move(inner), std::move(put_into));
}

}  // namespace gradstep::test
