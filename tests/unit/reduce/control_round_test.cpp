// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/control_round.h"

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

gradstep_reducer_options averaging(std::int32_t average) {
  auto options = exchange_options(GRADSTEP_REDUCER_DENSE);
  options.average = average;
  return checked_reducer_options(options);
}

TEST(ControlRound, ItIsNeededWhereRanksMayDifferOrByRequest) {
  const Schema fixed = make_schema({{4}});
  const Schema optional = make_schema({{4}}, DType::f32, GRADSTEP_PARAMETER_MAY_BE_UNUSED);
  ControlRound none(fixed, averaging(GRADSTEP_AVERAGE_MEAN));
  EXPECT_FALSE(none.is_needed());
  EXPECT_FALSE(none.has_optional());
  none.always();
  EXPECT_TRUE(none.is_needed());
  const ControlRound weighted(fixed, averaging(GRADSTEP_AVERAGE_WEIGHTED));
  EXPECT_TRUE(weighted.is_needed());
  EXPECT_TRUE(weighted.is_weighted());
  const ControlRound unused(optional, averaging(GRADSTEP_AVERAGE_MEAN));
  EXPECT_TRUE(unused.is_needed());
  EXPECT_TRUE(unused.has_optional());
  auto options = averaging(GRADSTEP_AVERAGE_MEAN);
  options.control = 1;
  EXPECT_TRUE(ControlRound(fixed, options).is_needed());
}

TEST(ControlRound, AGradientOfOneRankIsOneOfAll) {
  run_ranks(2, [](Communicator& comm) {
    const Schema schema = make_schema({{4}, {4}}, DType::f32, GRADSTEP_PARAMETER_MAY_BE_UNUSED);
    ControlRound control(schema, averaging(GRADSTEP_AVERAGE_WEIGHTED));
    control.begin(comm.rank() + 1);
    if (comm.rank() == 1) control.set_touched(1);
    EXPECT_TRUE(control.has_gradient(0)) << "nothing is known yet";
    control.exchange(comm, comm.deadline());
    EXPECT_FALSE(control.has_gradient(0));
    EXPECT_TRUE(control.has_gradient(1));
    EXPECT_TRUE(control.any_gradient());
    EXPECT_EQ(control.total_weight(), 3);

    control.begin(0.5);
    control.exchange(comm, comm.deadline());
    EXPECT_FALSE(control.has_gradient(1)) << "that was the window before";
    EXPECT_FALSE(control.any_gradient());
    EXPECT_EQ(control.total_weight(), 1);
    control.begin(1);
    EXPECT_TRUE(control.has_gradient(0)) << "in a window without an exchange all have one";
  });
}

TEST(ControlRound, WhatMayNotBeUnusedHasAGradient) {
  run_ranks(2, [](Communicator& comm) {
    const Schema schema = make_schema({{4}});
    ControlRound control(schema, averaging(GRADSTEP_AVERAGE_MEAN));
    control.begin(1);
    control.exchange(comm, comm.deadline());
    EXPECT_TRUE(control.has_gradient(0)) << "zeros";
    EXPECT_FALSE(control.any_gradient());
  });
}

}  // namespace
}  // namespace gradstep::test
