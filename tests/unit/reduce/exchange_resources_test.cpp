// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/exchange_resources.h"

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

TEST(ExchangeResources, AllRanksHaveOneSchemaAndTheSameOptions) {
  run_ranks(2, [](Communicator& comm) {
    auto options = exchange_options(GRADSTEP_REDUCER_DENSE);
    if (comm.rank() == 1) options.fuse_threshold = 7;
    expect_error(GRADSTEP_ERR_MISMATCH, "options", [&] { make_exchange(comm, options, make_schema({{4}})); });
  });
  run_ranks(2, [](Communicator& comm) {
    const Schema schema = make_schema({{comm.rank() == 1 ? 5 : 4}});
    expect_error(GRADSTEP_ERR_MISMATCH, "shape",
                 [&] { make_exchange(comm, exchange_options(GRADSTEP_REDUCER_DENSE), schema); });
  });
}

TEST(ExchangeResources, RanksAgreeOnTheirWeightOnceInAWindow) {
  run_ranks(3, [](Communicator& comm) {
    ExchangeResources resources = make_exchange(comm, exchange_options(GRADSTEP_REDUCER_DENSE), make_schema({{4}}));
    resources.begin_window(comm.rank() + 1);
    EXPECT_EQ(resources.agree_on_weight(comm.deadline()), 6);
    const std::int64_t asked = resources.comm->stats().all_reduces;
    EXPECT_EQ(resources.agree_on_weight(comm.deadline()), 6);
    EXPECT_EQ(resources.comm->stats().all_reduces, asked);
  });
}

TEST(ExchangeResources, ANumberThatIsNotFiniteIsSeen) {
  run_ranks(1, [](Communicator& comm) {
    const ExchangeResources resources =
        make_exchange(comm, exchange_options(GRADSTEP_REDUCER_DENSE), make_schema({{4}}));
    Floats numbers = {1, -3e38F, 0, 2};
    EXPECT_TRUE(resources.is_finite(array_of(numbers), resources.site.queue()));
    numbers[2] = -std::numeric_limits<float>::infinity();
    EXPECT_FALSE(resources.is_finite(array_of(numbers), resources.site.queue()));
  });
}

}  // namespace
}  // namespace gradstep::test
