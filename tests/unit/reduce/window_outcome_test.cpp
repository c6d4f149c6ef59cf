// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/window_outcome.h"

#include <algorithm>

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

/// A window of parameters {2} and {3}, whose buckets have 3, 4 and 12, 0, 0.
void with_outcome(std::uint32_t flags, const std::function<void(WindowOutcome&, ControlRound&, Communicator&)>& body) {
  run_ranks(1, [&](Communicator& comm) {
    const Schema schema = make_schema({{2}, {3}}, DType::f32, flags);
    ExchangeResources resources = make_exchange(comm, exchange_options(GRADSTEP_REDUCER_DENSE), schema);
    const BucketLayout layout(resources, schema, comm.deadline());
    std::ranges::copy(Floats{3, 4}, static_cast<float*>(layout.result_of(0).data));
    std::ranges::copy(Floats{12, 0, 0}, static_cast<float*>(layout.result_of(1).data));
    ControlRound control(schema, resources.options);
    control.begin(1);
    WindowOutcome outcome(resources, layout, control);
    body(outcome, control, comm);
  });
}

TEST(WindowOutcome, ThereIsNoneBeforeAWindowHasFinished) {
  with_outcome(0, [](WindowOutcome& outcome, auto&, auto&) {
    expect_error(GRADSTEP_ERR_INVALID_STATE, "no finished window", [&] { outcome.gradients(); });
    expect_error(GRADSTEP_ERR_INVALID_STATE, "no finished window", [&] { outcome.norm(); });
    outcome.complete();
    EXPECT_EQ(outcome.gradients().size(), 2U);
    outcome.forget();
    expect_error(GRADSTEP_ERR_INVALID_STATE, "no finished window", [&] { outcome.gradients(); });
  });
}

TEST(WindowOutcome, ItIsShownWhereItLiesAndMeasuredOnce) {
  with_outcome(0, [](WindowOutcome& outcome, auto&, auto&) {
    outcome.complete();
    const BufferList shown = outcome.gradients();
    EXPECT_EQ(floats_of(shown[0]), (Floats{3, 4}));
    EXPECT_EQ(floats_of(shown[1]), (Floats{12, 0, 0}));
    EXPECT_EQ(*outcome.norm(), 13);
    static_cast<float*>(shown[1].data)[0] = 0;
    EXPECT_EQ(*outcome.norm(), 13) << "of the window as it ended";
    outcome.forget();
    outcome.complete();
    EXPECT_EQ(*outcome.norm(), 5);
    EXPECT_TRUE(outcome.gradients().shows_again(shown)) << "the same memory";
  });
}

TEST(WindowOutcome, WhatNoRankHasAGradientOfIsNeitherShownNorWritten) {
  with_outcome(GRADSTEP_PARAMETER_MAY_BE_UNUSED, [](WindowOutcome& outcome, ControlRound& control, Communicator& comm) {
    control.set_touched(0);
    control.exchange(comm, comm.deadline());
    outcome.complete();
    EXPECT_EQ(floats_of(outcome.gradients()[0]), (Floats{3, 4}));
    EXPECT_EQ(outcome.gradients()[1].data, nullptr);
    EXPECT_EQ(*outcome.norm(), 5);
    Floats targets[2] = {{7, 7}, {7, 7, 7}};
    const std::vector<Array> arrays = {array_of(targets[0]), array_of(targets[1])};
    const std::uint64_t version = new_version();
    outcome.write({arrays, version});
    EXPECT_EQ(targets[0], (Floats{3, 4}));
    EXPECT_EQ(targets[1], Floats(3, 7));
    control.begin(1);
    control.set_touched(1);
    control.exchange(comm, comm.deadline());
    targets[0] = {7, 7};
    outcome.write({arrays, version});
    EXPECT_EQ(targets[0], Floats(2, 7)) << "in this window the other one has";
    EXPECT_EQ(targets[1], (Floats{12, 0, 0}));
  });
}

TEST(WindowOutcome, TargetsThatAreAbsentAreLeftOut) {
  with_outcome(0, [](WindowOutcome& outcome, auto&, auto&) {
    Floats target(3, 7);
    std::vector<Array> arrays = {compact_array(nullptr, 2, DType::f32), array_of(target)};
    outcome.write({arrays, /*version=*/0});
    EXPECT_EQ(target, (Floats{12, 0, 0}));
    Floats other(3, 7);
    arrays[1] = array_of(other);
    outcome.write({arrays, /*version=*/0});
    EXPECT_EQ(other, (Floats{12, 0, 0})) << "lists of no version are looked at anew";
    EXPECT_NO_THROW(outcome.write({}));
  });
}

}  // namespace
}  // namespace gradstep::test
