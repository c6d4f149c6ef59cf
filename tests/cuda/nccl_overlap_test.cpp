// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Exchanges go on beside what the host puts into its stream, and are ordered with what they need of it.
#include "cuda/nccl_ranks.h"

namespace gradstep::test {
namespace {

constexpr std::size_t kSize = 5000;
const std::vector<std::int64_t> kShape = {kSize};
constexpr float kValue = 0.5F;
constexpr std::size_t kForward[] = {0, 1};
constexpr std::size_t kBackward[] = {1, 0};  // as gradients come

/// A reducer of two parameters in a bucket each.
class Reducing {
 public:
  Reducing(NcclRank& rank, Carrier carrier) : rank_(rank) {
    std::vector<gradstep_parameter> parameters(2);
    for (gradstep_parameter& parameter : parameters) {
      parameter.struct_size = sizeof parameter;
      parameter.shape = kShape.data();
      parameter.ndim = 1;
      parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
      parameter.device = rank.device().id();
      grads_.push_back(rank.tensor(kShape));
      results_.push_back(rank.tensor(kShape));
    }
    gradstep_reducer_options options{};
    TestDevice::check(gradstep_reducer_options_init(&options, sizeof options));
    options.fuse_threshold = 4;
    options.average = GRADSTEP_AVERAGE_SUM;
    TestDevice::check(gradstep_reducer_create(rank.device().context(), rank.comm(carrier), &options, parameters.data(),
                                              parameters.size(), &reducer_));
  }
  ~Reducing() { gradstep_reducer_destroy(reducer_); }
  Reducing(const Reducing&) = delete;
  Reducing& operator=(const Reducing&) = delete;

  void fill(std::size_t i, float value) { rank_.write(grads_[i], std::vector<float>(kSize, value)); }
  void push(std::size_t i) { TestDevice::check(gradstep_reducer_push(reducer_, i, &grads_[i], rank_.stream())); }
  gradstep_status wait() { return gradstep_reducer_wait(reducer_, results_.data(), results_.size(), rank_.stream()); }
  std::vector<float> result(std::size_t i) { return rank_.read(results_[i]); }

 private:
  NcclRank& rank_;
  gradstep_reducer* reducer_ = nullptr;
  std::vector<gradstep_tensor> grads_;
  std::vector<gradstep_tensor> results_;
};

TEST(CudaNcclOverlap, WhatTheHostPutsIntoItsStreamDoesNotWaitForAnExchange) {
  run_nccl_ranks(2, [&](NcclRank& rank) {
    Reducing reducing(rank, Carrier::nccl);
    for (const std::size_t i : kForward) reducing.fill(i, kValue);
    rank.meet();
    EmulatedCuda::control().hang_nccl(true);
    rank.meet();
    for (const std::size_t i : kBackward) {
      reducing.push(i);
      reducing.fill(i, -1);  // what is pushed may be overwritten in the order of the stream
      rank.device().queue(rank.stream()).finish();
    }
    rank.meet();
    EmulatedCuda::control().hang_nccl(false);
    TestDevice::check(reducing.wait());
    for (const std::size_t i : kForward) EXPECT_EQ(reducing.result(i), std::vector<float>(kSize, 2 * kValue));
  });
}

// Each window overwrites what the one before it has used.
TEST(CudaNcclOverlap, WindowsFollowEachOtherInTheOrderOfTheHostsStream) {
  for (const Carrier carrier : {Carrier::nccl, Carrier::staging, Carrier::lent}) {
    run_nccl_ranks(3, [&](NcclRank& rank) {
      Reducing reducing(rank, carrier);
      for (int window = 1; window <= 6; ++window) {
        for (const std::size_t i : kBackward) {
          reducing.fill(i, static_cast<float>(window));
          reducing.push(i);
        }
        TestDevice::check(reducing.wait());
        for (const std::size_t i : kForward) {
          EXPECT_EQ(reducing.result(i), std::vector<float>(kSize, 3.0F * static_cast<float>(window)));
        }
      }
    });
  }
}

TEST(CudaNcclOverlap, ExchangesAreRefusedInACapture) {
  run_nccl_ranks(2, [&](NcclRank& rank) {
    Reducing reducing(rank, Carrier::nccl);
    for (const std::size_t i : kForward) reducing.fill(i, kValue);
    for (const std::size_t i : kBackward) reducing.push(i);
    TestDevice::check(reducing.wait());
    rank.device().queue(rank.stream()).finish();
    rank.meet();
    if (rank.rank() == 0) {
      EmulatedCuda::control().begin_capture(rank.stream());
      EXPECT_NE(reducing.wait(), GRADSTEP_OK);
      EXPECT_NE(std::string(gradstep_last_error()).find("is being captured"), std::string::npos)
          << gradstep_last_error();
      EmulatedCuda::control().end_capture(rank.stream());
    }
    rank.meet();
  });
}

}  // namespace
}  // namespace gradstep::test
