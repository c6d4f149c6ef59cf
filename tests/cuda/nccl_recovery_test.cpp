// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Survivors of a failure go on over a new communicator of NCCL's, with the parameters that they would have over one
// that goes through the host.
#include "cuda/nccl_updating.h"
#include "libraries/nccl.h"

namespace gradstep::test {
namespace {

using cuda::NcclResult;

constexpr std::int64_t kSize = 5000;

/// How rank 2 ends: the others learn it at once, or wait for it until their deadline.
enum class End { is_noticed, is_silent };

struct Survivors {
  std::vector<gradstep_comm*> hosts;

  Survivors() {
    gradstep_context* context = nullptr;
    TestDevice::check(gradstep_context_create(nullptr, &context));
    hosts.resize(2);
    TestDevice::check(gradstep_comm_create_local(context, 2, hosts.data()));
    gradstep_context_destroy(context);
  }
  ~Survivors() {
    for (gradstep_comm* comm : hosts) gradstep_comm_destroy(comm);
  }
  Survivors(const Survivors&) = delete;
  Survivors& operator=(const Survivors&) = delete;

  /// Collective, between ranks 0 and 1; for the caller to destroy.
  gradstep_comm* connect(NcclRank& rank, Carrier carrier) const {
    gradstep_comm* const host = hosts[static_cast<std::size_t>(rank.rank())];
    gradstep_comm* comm = nullptr;
    TestDevice::check(carrier == Carrier::staging
                          ? gradstep_comm_dup(host, &comm)
                          : gradstep_comm_attach_nccl(host, rank.device().id().device_id, nullptr, &comm));
    return comm;
  }
};

std::vector<float> gradient(const NcclRank& rank, std::uint32_t index) {
  return random_values<float>(kSize, 100 * static_cast<std::uint32_t>(rank.rank()) + index);
}

/// What ends the exchanges of a rank over `carrier`: NCCL says so, or it was aborted.
void end_exchanges(NcclRank& rank, Carrier carrier) {
  if (carrier == Carrier::staging) return TestDevice::check(gradstep_comm_abort(rank.comm(carrier)));
  EmulatedCuda::control().fail_nccl(rank.rank(), static_cast<int>(NcclResult::remote_error));
}

/// Three ranks lose rank 2 in the exchange of their second window, and go on as two, of which one may first make
/// windows alone. Returns their parameters at the end.
std::vector<std::vector<float>> lose_a_rank(Carrier carrier, End end, std::int32_t mode, bool one_goes_ahead) {
  const NcclTrouble well_again;
  const Survivors survivors;
  std::vector<std::vector<float>> ends(2);
  run_nccl_ranks(
      3,
      [&](NcclRank& rank) {
        Updating updating(rank, rank.comm(carrier), {.size = kSize, .steps = 2, .mode = mode});
        const auto push = [&](std::uint32_t index) {
          updating.set_gradient(gradient(rank, index));
          return updating.push();
        };
        for (const std::uint32_t index : {0U, 1U, 2U}) TestDevice::check(push(index));
        EXPECT_EQ(updating.steps(), 1);
        const std::vector<float> before = updating.param();
        rank.meet();
        if (rank.rank() == 2) {
          if (end == End::is_silent) TestDevice::check(gradstep_comm_abort(rank.comm(carrier)));
          return;
        }
        if (end == End::is_noticed) end_exchanges(rank, carrier);
        const gradstep_status lost = carrier == Carrier::staging ? GRADSTEP_ERR_ABORTED : GRADSTEP_ERR_PEER_LOST;
        EXPECT_EQ(push(3), end == End::is_silent ? GRADSTEP_ERR_TIMEOUT : lost) << gradstep_last_error();
        EmulatedCuda::control().fail_nccl(rank.rank(), 0);
        EXPECT_EQ(updating.param(), before) << "a failed exchange leaves parameters alone";
        EXPECT_EQ(updating.steps(), 1);
        EXPECT_EQ(push(3), GRADSTEP_ERR_INVALID_STATE) << "the window is there, and to be flushed";

        std::int64_t steps = 2;
        if (one_goes_ahead) {
          if (rank.rank() == 1) {
            TestDevice::check(updating.recover(nullptr));
            TestDevice::check(updating.flush());
            for (const std::uint32_t index : {4U, 5U}) TestDevice::check(push(index));
            EXPECT_EQ(updating.steps(), 3);
          }
          steps = 3;
        }
        gradstep_comm* comm = survivors.connect(rank, carrier);
        TestDevice::check(updating.recover(comm));
        if (!one_goes_ahead) TestDevice::check(updating.flush());
        EXPECT_EQ(updating.steps(), steps);
        for (const std::uint32_t index : {6U, 7U}) TestDevice::check(push(index));
        EXPECT_EQ(updating.steps(), steps + 1);
        EXPECT_NE(updating.param(), before);
        ends[static_cast<std::size_t>(rank.rank())] = updating.param();
        gradstep_comm_destroy(comm);
      },
      /*timeout_ms=*/end == End::is_silent ? 1500 : 20000);
  return ends;
}

void expect_the_parameters_of_a_staged_recovery(End end, std::int32_t mode, bool one_goes_ahead) {
  const auto staged = lose_a_rank(Carrier::staging, End::is_noticed, mode, one_goes_ahead);
  const auto found = lose_a_rank(Carrier::nccl, end, mode, one_goes_ahead);
  EXPECT_EQ(found[0], found[1]) << "mode " << mode;
  EXPECT_EQ(found, staged) << "mode " << mode;
}

TEST(CudaNcclRecovery, SurvivorsRetryTheWindowOverANewCommunicator) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_REDUCER_POWERSGD}) {
    expect_the_parameters_of_a_staged_recovery(End::is_noticed, mode, /*one_goes_ahead=*/false);
  }
}

TEST(CudaNcclRecovery, SurvivorsWhoseDeadlineHasPassedRetryTheWindow) {
  expect_the_parameters_of_a_staged_recovery(End::is_silent, GRADSTEP_REDUCER_DENSE, /*one_goes_ahead=*/false);
}

TEST(CudaNcclRecovery, TheOneThatIsFurthestGivesItsParametersAndStateOverNccl) {
  expect_the_parameters_of_a_staged_recovery(End::is_noticed, GRADSTEP_REDUCER_DENSE, /*one_goes_ahead=*/true);
}

}  // namespace
}  // namespace gradstep::test
