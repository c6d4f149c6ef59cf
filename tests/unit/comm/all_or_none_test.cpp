// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/all_or_none.h"

#include <gtest/gtest.h>

#include <new>

#include "core/error.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep {
namespace {

using test::make_world;
using test::run_outcomes;

TEST(AllOrNone, TheOthersAreToldTheFirstRankThatFailedAndItsWords) {
  const test::World world = make_world("local", 4);
  const auto outcomes = run_outcomes(world, [](Communicator& comm) {
    all_or_none(&comm, "read", [&] {
      if (comm.rank() == 1) fail(GRADSTEP_ERR_CORRUPT, "the file has 0 bytes");
      if (comm.rank() == 2) throw std::bad_alloc();
    });
  });
  EXPECT_EQ(outcomes[1].status, GRADSTEP_ERR_CORRUPT);
  EXPECT_EQ(outcomes[1].text, "the file has 0 bytes");
  for (const std::size_t rank : {0U, 3U}) {
    EXPECT_EQ(outcomes[rank].status, GRADSTEP_ERR_ABORTED);
    EXPECT_EQ(outcomes[rank].text, "another rank could not read: rank 1: the file has 0 bytes");
  }
  // The channel is whole.
  for (const auto& outcome : run_outcomes(world, [](Communicator& comm) { all_or_none(&comm, "read", [] {}); })) {
    EXPECT_EQ(outcome.status, GRADSTEP_OK);
  }
}

TEST(AllOrNone, ALongTextIsCutBetweenTwoLetters) {
  std::string text = "a";
  for (int i = 0; i < 400; ++i) text += "\u00e4";
  const auto outcomes = run_outcomes(make_world("local", 2), [&](Communicator& comm) {
    all_or_none(&comm, "read", [&] {
      if (comm.rank() == 0) fail(GRADSTEP_ERR_IO, "{}", text);
    });
  });
  const std::string told = outcomes[1].text.substr(outcomes[1].text.find(": rank 0: ") + 10);
  EXPECT_EQ(told, text.substr(0, told.size()));
  EXPECT_EQ(told.size(), 319U);  // of 1 byte and 159 letters of two
}

}  // namespace
}  // namespace gradstep
