// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/weight_averages.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

using kernels::AverageForm;

TEST(WeightAverages, OptionsThatDoNotGoTogetherAreRefused) {
  const auto refuse = [](const AverageForm& form, const char* text) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, text, [&] { check_average(form); });
  };
  refuse({0.5, 0, 1, 0, 1}, "options.average_equal: does not go with average_decay, which is 0.5");
  refuse({0, 0, 1, 1, 1}, "options.average_warmup: needs average_decay, which is 0");
  refuse({0, 0, 1, 1, 0}, "options.average_warmup: needs average_decay, which is 0");
  refuse({0, 3, 1, 0, 0}, "options.average_start: is 3, and neither");
  refuse({0, 0, 2, 0, 0}, "options.average_every: is 2, and neither");
  check_average({});
  check_average({0.5, 3, 2, 1, 0});
  check_average({0, 3, 2, 0, 1});
}

TEST(WeightAverages, RanksTellDifferentAveragesByTheirKeys) {
  const AverageForm forms[] = {{0.5, 0, 1, 0, 0}, {0.25, 0, 1, 0, 0}, {0.5, 1, 1, 0, 0},
                               {0.5, 0, 2, 0, 0}, {0.5, 0, 1, 1, 0},  {0, 0, 1, 0, 1}};
  for (const AverageForm& one : forms) {
    for (const AverageForm& other : forms) EXPECT_EQ(key_of(one) == key_of(other), &one == &other);
  }
  EXPECT_EQ(key_of({}), "");
}

}  // namespace
}  // namespace gradstep::test
