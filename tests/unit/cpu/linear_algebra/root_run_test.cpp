// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "unit/support.h"

namespace gradstep::test {
namespace {

/// Roots of 2 x 2 diagonal statistics, one for each value.
class RootRunTest : public testing::Test {
 protected:
  void prepare(const std::vector<float>& values) {
    statistics_.assign(values.size(), {});
    preconditioners_.assign(values.size(), {1, 0, 0, 1});
    results_.assign(values.size(), {});
    records_.assign(values.size(), {});
    jobs_.clear();
    for (std::size_t k = 0; k < values.size(); ++k) {
      statistics_[k] = {values[k], 0, 0, values[k]};
      RootJob job;
      job.action = RootAction::root;
      job.recipe.exponent = 2;
      job.n = 2;
      job.statistic = {2, 2, kernels::Coding::none, statistics_[k].data(), nullptr, nullptr};
      job.preconditioner = {2, 2, kernels::Coding::none, preconditioners_[k].data(), nullptr, nullptr};
      job.result = results_[k].data();
      jobs_.push_back(job);
    }
  }

  std::shared_ptr<Context> context_ = make_context(2);
  HostQueue queue_;
  std::unique_ptr<Preconditioning> preconditioning_ = context_->cpu().make_preconditioning({});
  std::vector<std::array<float, 4>> statistics_;
  std::vector<std::array<float, 4>> preconditioners_;
  std::vector<std::array<float, 4>> results_;
  std::vector<RootJob> jobs_;
  std::vector<RootRecord> records_;
};

TEST_F(RootRunTest, RootsAreOfTheStatisticsAtItsBeginning) {
  for (const bool in_background : {false, true}) {
    prepare({4, 16});
    const auto run = preconditioning_->make_root_run();
    run->begin(jobs_, records_, in_background, queue_);
    for (auto& statistic : statistics_) statistic.fill(1e6F);
    run->finish(queue_);
    preconditioning_->install_roots(jobs_, records_, queue_);
    EXPECT_NEAR(preconditioners_[0][0], 0.5, 1e-6);
    EXPECT_NEAR(preconditioners_[1][3], 0.25, 1e-6);
    EXPECT_TRUE(records_[0].computed && records_[1].accepted);
  }
}

TEST_F(RootRunTest, WhatIsNotAskedForOrNotAcceptedLeavesThePreconditioner) {
  prepare({4, 4, 4});
  jobs_[0].action = RootAction::none;
  statistics_[1][0] = std::numeric_limits<float>::quiet_NaN();
  jobs_[2].recipe.threshold = 0;
  const auto run = preconditioning_->make_root_run();
  run->begin(jobs_, records_, /*in_background=*/false, queue_);
  run->finish(queue_);
  preconditioning_->install_roots(jobs_, records_, queue_);
  for (const auto& preconditioner : preconditioners_) EXPECT_EQ(preconditioner, (std::array<float, 4>{1, 0, 0, 1}));
  EXPECT_FALSE(records_[0].computed);
  EXPECT_TRUE(records_[1].computed && !records_[1].accepted);
  EXPECT_TRUE(records_[2].computed && !records_[2].accepted);
}

TEST_F(RootRunTest, CanBeStoppedAndBegunAnew) {
  prepare(std::vector<float>(50, 4.0F));
  const auto run = preconditioning_->make_root_run();
  for (int k = 0; k < 20; ++k) {
    run->begin(jobs_, records_, /*in_background=*/true, queue_);
    run->stop();
  }
  run->finish(queue_);  // nothing is under way
  run->begin(jobs_, records_, /*in_background=*/true, queue_);
  run->finish(queue_);
  for (const RootRecord& record : records_) EXPECT_TRUE(record.accepted);
}

TEST_F(RootRunTest, AtOnceGivesTheSameRoots) {
  prepare({4, 16, 0.25F});
  const auto run = preconditioning_->make_root_run();
  run->begin(jobs_, records_, /*in_background=*/true, queue_);
  run->finish(queue_);
  preconditioning_->install_roots(jobs_, records_, queue_);
  const auto installed = preconditioners_;
  prepare({4, 16, 0.25F});
  preconditioning_->refresh_roots(jobs_, records_, queue_);
  EXPECT_EQ(preconditioners_, installed);
}

}  // namespace
}  // namespace gradstep::test
