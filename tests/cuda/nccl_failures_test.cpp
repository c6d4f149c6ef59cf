// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ends an exchange that NCCL carries ends in the statuses of every engine, by the deadline, and leaves nothing
// behind: no work that waits for ever, no step on what did not arrive.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cuda/nccl_updating.h"
#include "libraries/nccl.h"

namespace gradstep::test {
namespace {

using cuda::NcclResult;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kTimeoutMs = 300;
const std::vector<std::int64_t> kShape = {70000};

/// After one window that succeeds, what a second one returns that `trouble` makes fail: on every rank, with nothing
/// stepped, and the same again in a third one.
std::vector<gradstep_status> fail_second_window(std::int32_t ranks, const std::function<void(NcclRank&)>& trouble,
                                                std::int64_t timeout_ms = kTimeoutMs) {
  const NcclTrouble well_again;
  std::vector<gradstep_status> found(static_cast<std::size_t>(ranks));
  run_nccl_ranks(
      ranks,
      [&](NcclRank& rank) {
        Updating updating(rank, rank.comm(Carrier::nccl));
        TestDevice::check(updating.push());
        const std::vector<float> before = updating.param();
        rank.meet();
        trouble(rank);
        rank.meet();
        const auto begin = Clock::now();
        found[static_cast<std::size_t>(rank.rank())] = updating.push();
        EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(timeout_ms + 1000));
        EXPECT_NE(updating.push(), GRADSTEP_OK);
        EXPECT_EQ(updating.param(), before) << "rank " << rank.rank() << " has stepped on what did not arrive";
        EXPECT_EQ(updating.steps(), 1);
      },
      timeout_ms);
  return found;
}

TEST(CudaNcclFailures, ExchangesThatHangEndByTheDeadline) {
  for (const std::int32_t ranks : {2, 3}) {
    const auto found = fail_second_window(ranks, [](NcclRank& rank) {
      if (rank.rank() == 0) EmulatedCuda::control().hang_nccl(true);
    });
    for (const gradstep_status status : found) EXPECT_EQ(status, GRADSTEP_ERR_TIMEOUT);
  }
}

TEST(CudaNcclFailures, WhatNcclReportsByItselfIsTheStatusOfTheNextCall) {
  const std::pair<NcclResult, gradstep_status> kinds[] = {{NcclResult::remote_error, GRADSTEP_ERR_PEER_LOST},
                                                          {NcclResult::system_error, GRADSTEP_ERR_IO},
                                                          {NcclResult::internal_error, GRADSTEP_ERR_DEVICE}};
  for (const auto& [result, status] : kinds) {
    const auto found = fail_second_window(2, [result = result](NcclRank& rank) {
      EmulatedCuda::control().fail_nccl(rank.rank(), static_cast<int>(result));
    });
    EXPECT_EQ(found, std::vector<gradstep_status>(2, status));
  }
}

// The others wait for a rank that does not come.
TEST(CudaNcclFailures, ARankThatNcclHasGivenUpTakesTheOthersWithItByTheDeadline) {
  const auto found = fail_second_window(3, [](NcclRank& rank) {
    if (rank.rank() == 1) EmulatedCuda::control().fail_nccl(1, static_cast<int>(NcclResult::remote_error));
  });
  EXPECT_EQ(found[1], GRADSTEP_ERR_PEER_LOST);
  EXPECT_NE(found[0], GRADSTEP_OK);
  EXPECT_NE(found[2], GRADSTEP_OK);
}

TEST(CudaNcclFailures, ARankWhoseDeviceFailsTakesTheOthersWithItByTheDeadline) {
  const NcclTrouble well_again;
  run_nccl_ranks(
      2,
      [&](NcclRank& rank) {
        Updating updating(rank, rank.comm(Carrier::nccl));
        TestDevice::check(updating.push());
        const std::vector<float> before = updating.param();
        rank.meet();
        if (rank.rank() == 0) {
          EmulatedCuda::control().fail_kernel(1);
          EXPECT_EQ(updating.step(), GRADSTEP_OK);
          std::int64_t steps = 0;
          EXPECT_EQ(updating.ask_steps(&steps), GRADSTEP_ERR_DEVICE);
        }
        rank.meet();
        const auto begin = Clock::now();
        const gradstep_status status = updating.push();
        EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(kTimeoutMs + 1000));
        if (rank.rank() == 0) {
          EXPECT_EQ(status, GRADSTEP_ERR_DEVICE) << gradstep_last_error();
          EXPECT_NE(std::string(gradstep_last_error()).find("cudaErrorIllegalAddress"), std::string::npos)
              << gradstep_last_error();
        } else {
          EXPECT_NE(status, GRADSTEP_OK);
          EXPECT_EQ(updating.param(), before);
        }
      },
      kTimeoutMs);
}

TEST(CudaNcclFailures, AnAbortFromAnotherThreadEndsAnExchangeThatHangs) {
  const NcclTrouble well_again;
  run_nccl_ranks(2, [&](NcclRank& rank) {
    gradstep_comm* comm = rank.comm(Carrier::nccl);
    Updating updating(rank, comm);
    rank.meet();
    EmulatedCuda::control().hang_nccl(true);
    rank.meet();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      TestDevice::check(gradstep_comm_abort(comm));
    });
    const auto begin = Clock::now();
    EXPECT_EQ(updating.push(), GRADSTEP_ERR_ABORTED);
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
    other.join();
    EXPECT_EQ(updating.steps(), 0);
    EXPECT_EQ(updating.param(), std::vector<float>(70000, 1.0F));
  });
}

TEST(CudaNcclFailures, AnExchangeThatNobodyWaitsForEndsByTheDeadlineOfItsPush) {
  const NcclTrouble well_again;
  run_nccl_ranks(
      2,
      [&](NcclRank& rank) {
        gradstep_parameter parameter{};
        parameter.struct_size = sizeof parameter;
        parameter.shape = kShape.data();
        parameter.ndim = 1;
        parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
        parameter.device = rank.device().id();
        gradstep_reducer* reducer = nullptr;
        TestDevice::check(gradstep_reducer_create(rank.device().context(), rank.comm(Carrier::nccl), nullptr,
                                                  &parameter, 1, &reducer));
        const gradstep_tensor grad = rank.tensor(kShape);
        rank.meet();
        EmulatedCuda::control().hang_nccl(true);
        rank.meet();
        TestDevice::check(gradstep_reducer_push(reducer, 0, &grad, rank.stream()));
        std::this_thread::sleep_for(std::chrono::milliseconds(kTimeoutMs + 500));
        const auto begin = Clock::now();
        EXPECT_EQ(gradstep_reducer_wait(reducer, nullptr, 0, rank.stream()), GRADSTEP_ERR_TIMEOUT)
            << gradstep_last_error();
        EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(kTimeoutMs / 2));
        gradstep_reducer_destroy(reducer);
      },
      kTimeoutMs);
}

// As where the stream is full of what waits for the first one.
TEST(CudaNcclFailures, AnExchangeThatIsBlockedByOneThatHangsEndsByTheDeadlineOfThat) {
  const NcclTrouble well_again;
  run_nccl_ranks(
      2,
      [&](NcclRank& rank) {
        gradstep_parameter parameters[2] = {};
        gradstep_tensor grads[2] = {};
        for (std::size_t i = 0; i < 2; ++i) {
          parameters[i].struct_size = sizeof(gradstep_parameter);
          parameters[i].shape = kShape.data();
          parameters[i].ndim = 1;
          parameters[i].dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
          parameters[i].device = rank.device().id();
          grads[i] = rank.tensor(kShape);
        }
        gradstep_reducer_options options{};
        TestDevice::check(gradstep_reducer_options_init(&options, sizeof options));
        options.fuse_threshold = 1;  // each has its own bucket
        gradstep_reducer* reducer = nullptr;
        TestDevice::check(gradstep_reducer_create(rank.device().context(), rank.comm(Carrier::nccl), &options,
                                                  parameters, 2, &reducer));
        rank.meet();
        EmulatedCuda::control().hang_nccl(true);
        rank.meet();
        TestDevice::check(gradstep_reducer_push(reducer, 1, &grads[1], rank.stream()));
        rank.meet();
        EmulatedCuda::control().block_nccl(true);
        rank.meet();
        const auto begin = Clock::now();
        EXPECT_EQ(gradstep_reducer_push(reducer, 0, &grads[0], rank.stream()), GRADSTEP_ERR_TIMEOUT)
            << gradstep_last_error();
        EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(kTimeoutMs + 1000));
        gradstep_reducer_destroy(reducer);
      },
      kTimeoutMs);
}

TEST(CudaNcclFailures, RanksThatDoNotConnectEndByTheDeadline) {
  const NcclTrouble well_again;
  run_nccl_ranks(
      2,
      [&](NcclRank& rank) {
        rank.meet();
        EmulatedCuda::control().hang_nccl(true);
        rank.meet();
        gradstep_comm* comm = nullptr;
        const auto begin = Clock::now();
        const gradstep_status status =
            gradstep_comm_attach_nccl(rank.host(), rank.device().id().device_id, nullptr, &comm);
        EXPECT_EQ(status, GRADSTEP_ERR_TIMEOUT) << gradstep_last_error();
        EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(kTimeoutMs + 1000));
        EXPECT_EQ(comm, nullptr);
      },
      kTimeoutMs);
}

TEST(CudaNcclFailures, ADeviceThatIsNotThereIsNamedOnItsRankAndNobodyWaits) {
  run_nccl_ranks(2, [&](NcclRank& rank) {
    gradstep_comm* comm = nullptr;
    const gradstep_status status = gradstep_comm_attach_nccl(rank.host(), rank.rank() == 0 ? 7 : 0, nullptr, &comm);
    EXPECT_EQ(status, rank.rank() == 0 ? GRADSTEP_ERR_BACKEND_UNAVAILABLE : GRADSTEP_ERR_ABORTED);
    if (rank.rank() == 0) {
      EXPECT_NE(std::string(gradstep_last_error()).find("none with number 7"), std::string::npos)
          << gradstep_last_error();
    }
  });
}

TEST(CudaNcclFailures, EveryConnectionOfNcclsIsGivenBack) {
  run_nccl_ranks(3, [&](NcclRank& rank) {
    gradstep_comm* comm = rank.comm(Carrier::nccl);
    gradstep_comm* copy = nullptr;
    gradstep_comm* part = nullptr;
    TestDevice::check(gradstep_comm_dup(comm, &copy));
    TestDevice::check(gradstep_comm_split(comm, rank.rank() / 2, 0, &part));
    Updating updating(rank, part);
    TestDevice::check(updating.push());
    EXPECT_EQ(updating.steps(), 1);
    gradstep_comm_destroy(part);
    gradstep_comm_destroy(copy);
  });
  EXPECT_EQ(connections_left(), 0);
}

/// Ends the program: with 0 if connections that it has just destroyed are given back by then.
[[noreturn]] void exit_after_an_exchange() {
  emulated_cuda();
  std::atexit([] { std::_Exit(EmulatedCuda::control().nccl_communicators() == 0 ? 0 : 1); });
  run_nccl_ranks(2, [](NcclRank& rank) {
    Updating updating(rank, rank.comm(Carrier::nccl));
    TestDevice::check(updating.push());
  });
  std::exit(EmulatedCuda::control().nccl_communicators() > 0 ? 2 : 3);  // 3 = nothing was left to wait for
}

TEST(CudaNcclDeathTest, TheEndOfTheProcessWaitsForConnectionsThatAreGivenBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_after_an_exchange(), testing::ExitedWithCode(0), "");
}

/// Ends the program: with 0 if NCCL is named where it is missing.
[[noreturn]] void attach_without_nccl() {
  EmulatedCuda device(1);
  void* plugin = dlopen(GRADSTEP_TEST_PLUGIN_DIR "/libgradstep_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  const auto hide = reinterpret_cast<void (*)(const char*)>(dlsym(plugin, "gradstep_cuda_emulation_hide"));
  hide("libnccl.so.2");
  gradstep_comm_options options{};
  gradstep_comm_options_init(&options, sizeof options);
  options.engine = "self";
  gradstep_comm* comm = nullptr;
  gradstep_comm* out = nullptr;
  gradstep_comm_create(device.context(), &options, &comm);
  const gradstep_status status = gradstep_comm_attach_nccl(comm, 0, nullptr, &out);
  const std::string text = gradstep_last_error();
  std::fprintf(stderr, "%s\n", text.c_str());
  const bool is_named = text.find("NCCL") != std::string::npos && text.find("libnccl.so.2") != std::string::npos;
  const bool is_known = gradstep_backend_available("nccl") != 0;
  std::_Exit(status == GRADSTEP_ERR_BACKEND_UNAVAILABLE && is_named && !is_known ? 0 : 1);
}

TEST(CudaNcclDeathTest, ALibraryThatIsMissingIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in this process it may be open
  EXPECT_EXIT(attach_without_nccl(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gradstep::test
