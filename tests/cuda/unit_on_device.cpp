// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The main function of tests of tests/unit on the emulated device, without those that cannot be true there.
#include <gtest/gtest.h>

#include <string>

#include "cuda/emulated.h"

namespace {

/// A push tells that a step is queued, which the device then skips; and views are read where they are.
constexpr const char* kNotThere =
    "Updater.APoisonedWindowMakesNoStepAndTheNextOneDoes:UpdaterRanks.ANonFiniteRankMakesAllRanksSkip:"
    "Reducer.ARankWithoutAGradientContributesZeros";

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string filter = GTEST_FLAG_GET(filter);
  filter += filter.find('-') == std::string::npos ? "-" : ":";
  GTEST_FLAG_SET(filter, filter + kNotThere);
  gradstep::test::emulated_cuda().set_seed(1);
  return RUN_ALL_TESTS();
}
