// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong while buckets are exchanged behind the host's back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/processes.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kElements = 600000;

/// A reducer of two parameters in two buckets, and this rank's gradients.
struct Reduction {
  explicit Reduction(const Rank& rank) {
    gradstep_reducer_options options;
    gradstep_reducer_options_init(&options, sizeof options);
    options.fuse_threshold = 1000;
    for (std::size_t i = 0; i < 2; ++i) {
      values[i].resize(static_cast<std::size_t>(shape[0] * shape[1]));
      gradstep_parameter& parameter = parameters[i];
      parameter.struct_size = sizeof parameter;
      parameter.shape = shape;
      parameter.ndim = 2;
      parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
      parameter.device = {GRADSTEP_DEVICE_CPU, 0};
      gradients[i].data = values[i].data();
      gradients[i].device = parameter.device;
      gradients[i].ndim = 2;
      gradients[i].dtype = parameter.dtype;
      gradients[i].shape = shape;
    }
    status = gradstep_reducer_create(rank.context, rank.comm, &options, parameters, 2, &reducer);
  }
  ~Reduction() { gradstep_reducer_destroy(reducer); }
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  void fill(int call) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t k = 0; k < values[i].size(); ++k) {
        values[i][k] = static_cast<float>((k * 7919 + static_cast<std::size_t>(call)) % 1001) - 500.0F;
      }
    }
  }
  gradstep_status push() {
    for (std::size_t i = 2; i-- > 0;) {
      const gradstep_status pushed = gradstep_reducer_push(reducer, i, &gradients[i], nullptr);
      if (pushed != GRADSTEP_OK) return pushed;
    }
    return GRADSTEP_OK;
  }
  gradstep_status wait() { return gradstep_reducer_wait(reducer, gradients, 2, nullptr); }

  std::int64_t shape[2] = {600, kElements / 600};
  std::vector<float> values[2];
  gradstep_parameter parameters[2] = {};
  gradstep_tensor gradients[2] = {};
  gradstep_reducer* reducer = nullptr;
  gradstep_status status = GRADSTEP_OK;
};

class OverlapFaults : public testing::TestWithParam<std::string> {};

TEST_P(OverlapFaults, APeerKilledDuringAnExchangeBehindTheHostIsAnErrorOfWait) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int number, Report& report) {
    const Rank rank(rank_options(GetParam(), number, 2, 20000, directory.path()));
    Reduction reduction(rank);
    reduction.fill(number);
    const std::vector<float> gradient = reduction.values[0];
    const Stopwatch watch;
    if (reduction.status != GRADSTEP_OK || number == 1) {
      announce();
      for (;;) ::pause();
    }
    const gradstep_status pushed = reduction.push();
    announce();
    put(report, pushed == GRADSTEP_OK ? reduction.wait() : pushed, watch);
    report.numbers[0] = reduction.values[0] == gradient ? 1 : 0;
  });
  ranks.await_announcement(0);
  ranks.await_announcement(1);
  ranks.signal(1, SIGKILL);
  const Report report = ranks.report(0);
  ASSERT_EQ(report.reported, 1);
  EXPECT_EQ(report.status, GRADSTEP_ERR_PEER_LOST) << report.text.data();
  EXPECT_LT(report.milliseconds, 5000);
  EXPECT_EQ(report.numbers[0], 1) << "gradients changed";
}

TEST_P(OverlapFaults, AForkedChildDropsTheWindowAndTheParentFinishesIt) {
  const TemporaryDirectory directory;
  Processes ranks(2, [&](int number, Report& report) {
    const Rank rank(rank_options(GetParam(), number, 2, 20000, directory.path()));
    Reduction reduction(rank);
    reduction.fill(0);
    const Stopwatch watch;
    // Rank 1 comes late, so that rank 0's exchange is in progress when it forks.
    if (number == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    if (reduction.status != GRADSTEP_OK || reduction.push() != GRADSTEP_OK) {
      return put(report, GRADSTEP_ERR_INTERNAL, watch);
    }
    report_forked_child(report, [&] { return reduction.wait(); }, [&] { gradstep_reducer_destroy(reduction.reducer); });
    const std::vector<float> gradient = reduction.values[0];
    put(report, reduction.wait(), watch);
    report.numbers[3] = reduction.values[0] == gradient ? 1 : 0;
  });
  for (int number = 0; number < 2; ++number) {
    const Report report = ranks.report(number);
    EXPECT_EQ(report.status, GRADSTEP_OK) << report.text.data();
    expect_child_was_told(report);
    EXPECT_EQ(report.numbers[3], 1) << "the mean of two equal gradients";
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, OverlapFaults, testing::ValuesIn(process_engines()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace gradstep::test
