// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/option_fields.h"

#include <gtest/gtest.h>

namespace gradstep {
namespace {

struct Options {
  double rate = 0.1;
  int flag = 0;
  double decay = 0.2;
};

enum Place : std::size_t { kDecay, kRate, kPlaces };

constexpr OptionFields<Options, kPlaces> kFields({
    {kRate, &Options::rate, {"rate", rules::at_least(0)}},
    {kDecay, &Options::decay, {"decay", rules::kFraction}},
});

TEST(OptionFields, NamesRangesAndValuesGoByPlaceAndNotByTheOrderOfTheLines) {
  EXPECT_STREQ(kFields.fields()[kRate].name, "rate");
  EXPECT_STREQ(kFields.fields()[kDecay].name, "decay");
  EXPECT_EQ(kFields.fields()[kDecay].range.limit, 1);
  EXPECT_EQ(kFields.values(Options{})[kRate], 0.1);
  EXPECT_EQ(kFields.values(Options{})[kDecay], 0.2);
}

}  // namespace
}  // namespace gradstep
