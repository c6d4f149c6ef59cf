// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/bucket_layout.h"

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

TEST(BucketLayout, EveryParameterHasItsPlaceInTheOrderOfPacking) {
  run_ranks(1, [](Communicator& comm) {
    const Schema schema = make_schema({{4}, {81}, {3}, {0, 2}});
    auto options = exchange_options(GRADSTEP_REDUCER_DENSE);
    options.fuse_threshold = 80;
    ExchangeResources resources = make_exchange(comm, options, schema);
    const BucketLayout layout(resources, schema, comm.deadline());
    const std::vector<BucketPlan> plans = plan_buckets(schema, 80);
    ASSERT_EQ(layout.buckets().size(), plans.size());
    EXPECT_EQ(layout.parameters(), 4U);
    for (std::size_t b = 0; b < plans.size(); ++b) {
      EXPECT_EQ(layout.buckets()[b]->parameters(), plans[b].parameters);
      auto* next = static_cast<float*>(layout.buckets()[b]->exchange().result().data);
      for (std::size_t k = 0; k < plans[b].parameters.size(); ++k) {
        const std::size_t i = plans[b].parameters[k];
        EXPECT_EQ(layout.place_of(i).bucket, b);
        EXPECT_EQ(layout.place_of(i).position, k);
        EXPECT_EQ(&layout.bucket_of(i), layout.buckets()[b].get());
        const Array result = layout.result_of(i);
        EXPECT_EQ(result.size, schema[i].size);
        EXPECT_NE(result.data, nullptr) << "also of a parameter without elements";
        if (result.size > 0) {
          EXPECT_EQ(result.data, next);
        }
        next += schema[i].size;
      }
    }
  });
}

TEST(BucketLayout, AutoChoosesForEachBucketAndSoOnAllRanks) {
  std::vector<std::vector<std::int32_t>> modes(2);
  run_ranks(2, [&](Communicator& comm) {
    const Schema schema = make_schema({{100}, {200000}});
    auto options = exchange_options(GRADSTEP_REDUCER_AUTO);
    options.candidates = 1 << GRADSTEP_REDUCER_SPARSE_TOPK;
    options.fuse_threshold = 1000;
    ExchangeResources resources = make_exchange(comm, options, schema);
    const BucketLayout layout(resources, schema, comm.deadline());
    for (const auto& bucket : layout.buckets()) {
      modes[static_cast<std::size_t>(comm.rank())].push_back(bucket->stats().mode);
    }
  });
  EXPECT_EQ(modes[0], modes[1]);
  for (const std::int32_t mode : modes[0]) {
    EXPECT_TRUE(mode == GRADSTEP_REDUCER_DENSE || mode == GRADSTEP_REDUCER_SPARSE_TOPK) << mode;
  }
}

}  // namespace
}  // namespace gradstep::test
