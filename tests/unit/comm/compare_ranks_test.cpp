// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/compare_ranks.h"

#include <array>
#include <string>

#include "unit/ranks.h"

namespace gradstep::test {
namespace {

const auto word = [](std::size_t i) -> std::string { return i == 0 ? "the first fact" : "the second fact"; };

TEST(CompareRanks, AllAreToldTheFirstDifferenceFromRankZero) {
  run_ranks(4, [](Communicator& comm) {
    std::array<std::uint64_t, 2> own{7, 8};
    EXPECT_NO_THROW(compare_ranks(comm, own, word, comm.deadline()));
    if (comm.rank() == 2) own = {7, 9};
    if (comm.rank() == 3) own = {6, 8};
    expect_error(GRADSTEP_ERR_MISMATCH, "rank 2 and rank 0 disagree on the second fact",
                 [&] { compare_ranks(comm, own, word, comm.deadline()); });
    EXPECT_TRUE(comm.vote(true, comm.deadline())) << "nothing is broken";
  });
}

}  // namespace
}  // namespace gradstep::test
