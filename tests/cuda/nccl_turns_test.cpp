// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads that give work to communicators of one device take turns, each of which lasts until NCCL has taken the work:
// the emulated one ends the program where they do not.
#include <chrono>

#include "cuda/nccl_updating.h"

namespace gradstep::test {
namespace {

using Clock = std::chrono::steady_clock;

const std::vector<std::int64_t> kShape = {1000};
constexpr std::chrono::milliseconds kLater{150};  // when another thread's call has come

/// Two communicators of a rank's device, each with a thread and a stream.
class TwoCalls {
 public:
  TwoCalls(NcclRank& rank, void* other_stream) : rank_(rank), streams_{rank.stream(), other_stream} {
    for (std::size_t k = 0; k < 2; ++k) {
      TestDevice::check(gradstep_comm_dup(rank.comm(Carrier::nccl), &comms_[k]));
      tensors_[k] = rank.tensor(kShape);
      rank.write(tensors_[k], std::vector<float>(1000, 1.0F));
    }
    rank.device().queue(rank.stream()).finish();
  }
  ~TwoCalls() {
    join(0);
    join(1);
    for (gradstep_comm* comm : comms_) gradstep_comm_destroy(comm);
  }
  TwoCalls(const TwoCalls&) = delete;
  TwoCalls& operator=(const TwoCalls&) = delete;

  void begin(std::size_t k) {
    threads_[k] = std::thread(
        [this, k] { found_[k] = gradstep_comm_all_reduce(comms_[k], &tensors_[k], GRADSTEP_REDUCE_SUM, streams_[k]); });
  }
  void abort(std::size_t k) { TestDevice::check(gradstep_comm_abort(comms_[k])); }
  gradstep_status join(std::size_t k) {
    if (threads_[k].joinable()) threads_[k].join();
    return found_[k];
  }
  std::vector<float> result(std::size_t k) {
    rank_.device().queue(streams_[k]).finish();
    return rank_.read(tensors_[k]);
  }

 private:
  NcclRank& rank_;
  void* streams_[2];
  gradstep_comm* comms_[2] = {};
  gradstep_tensor tensors_[2] = {};
  std::thread threads_[2];
  gradstep_status found_[2] = {GRADSTEP_ERR_INTERNAL, GRADSTEP_ERR_INTERNAL};
};

/// body(rank, its two calls), while NCCL keeps what has begun in progress.
void run_two_calls(const std::function<void(NcclRank&, TwoCalls&)>& body, std::int64_t timeout_ms) {
  const NcclTrouble well_again;
  emulated_cuda();
  void* others[2];
  for (void*& stream : others) stream = EmulatedCuda::control().make_stream();
  run_nccl_ranks(
      2,
      [&](NcclRank& rank) {
        TwoCalls calls(rank, others[rank.rank()]);
        rank.meet();
        EmulatedCuda::control().keep_nccl_busy(true);
        rank.meet();
        calls.begin(0);
        std::this_thread::sleep_for(kLater);
        calls.begin(1);
        std::this_thread::sleep_for(kLater);
        rank.meet();
        body(rank, calls);
      },
      timeout_ms);
}

TEST(CudaNcclTurns, ACallThatIsInProgressKeepsItsTurn) {
  run_two_calls(
      [](NcclRank& /*rank*/, TwoCalls& calls) {
        EmulatedCuda::control().keep_nccl_busy(false);
        for (const std::size_t k : {0U, 1U}) {
          EXPECT_EQ(calls.join(k), GRADSTEP_OK);
          EXPECT_EQ(calls.result(k), std::vector<float>(1000, 2.0F));
        }
      },
      /*timeout_ms=*/20000);
}

TEST(CudaNcclTurns, AnAbortEndsACallThatWaitsForItsTurnAndOneThatHasIt) {
  run_two_calls(
      [](NcclRank& rank, TwoCalls& calls) {
        for (const std::size_t k : {1U, 0U}) {
          const auto begin = Clock::now();
          calls.abort(k);
          EXPECT_EQ(calls.join(k), GRADSTEP_ERR_ABORTED);
          EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
          rank.meet();
        }
      },
      /*timeout_ms=*/20000);
}

TEST(CudaNcclTurns, TheDeadlineEndsACallThatWaitsForItsTurnAndOneThatHasIt) {
  const auto begin = Clock::now();
  run_two_calls(
      [](NcclRank& /*rank*/, TwoCalls& calls) {
        for (const std::size_t k : {0U, 1U}) EXPECT_EQ(calls.join(k), GRADSTEP_ERR_TIMEOUT);
      },
      /*timeout_ms=*/500);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace gradstep::test
