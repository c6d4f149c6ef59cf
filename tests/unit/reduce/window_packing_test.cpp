// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/window_packing.h"

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

/// Two buckets: parameter 2, then 1 and 0.
class WindowPackingTest : public testing::Test {
 protected:
  void run(const std::function<void(WindowPacking&, const BucketLayout&, ControlRound&)>& body) {
    run_ranks(1, [&](Communicator& comm) {
      auto options = exchange_options(GRADSTEP_REDUCER_DENSE);
      options.fuse_threshold = 40;
      const Schema schema = make_schema({{2}, {3}, {99}}, DType::f32, GRADSTEP_PARAMETER_MAY_BE_UNUSED);
      ExchangeResources resources = make_exchange(comm, options, schema);
      const BucketLayout layout(resources, schema, comm.deadline());
      ASSERT_EQ(layout.buckets()[0]->parameters(), std::vector<std::size_t>{2});
      ControlRound control(schema, resources.options);
      WindowPacking packing(layout, schema, control);
      control.begin(1);
      body(packing, layout, control);
      control.exchange(comm, comm.deadline());
      for (std::size_t i = 0; i < 3; ++i) has_gradient_.push_back(control.has_gradient(i));
    });
  }

  Floats grads_[3] = {{1, 2}, {3, 4, 5}, Floats(99, 6)};
  std::vector<bool> has_gradient_;
};

TEST_F(WindowPackingTest, BucketsAreFullInTheirOrder) {
  run([&](WindowPacking& packing, const BucketLayout& layout, ControlRound& /*control*/) {
    packing.begin(1);
    EXPECT_EQ(packing.full_buckets(), 0U);
    packing.pack(0, array_of(grads_[0]));
    packing.pack(1, array_of(grads_[1]));
    EXPECT_TRUE(packing.is_packed(0));
    EXPECT_FALSE(packing.is_packed(2));
    EXPECT_EQ(packing.full_buckets(), 0U) << "the first one is not";
    packing.pack(2, array_of(grads_[2]));
    EXPECT_EQ(packing.full_buckets(), 2U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(floats_of(layout.result_of(i)), grads_[i]) << i;
    packing.begin(2);
    EXPECT_EQ(packing.full_buckets(), 0U) << "of the new window";
    EXPECT_FALSE(packing.is_packed(0));
    packing.pack(0, array_of(grads_[0]));
    EXPECT_EQ(floats_of(layout.result_of(0)), (Floats{2, 4}));
  });
}

TEST_F(WindowPackingTest, WhatIsNotPushedIsZeroAndNoGradient) {
  run([&](WindowPacking& packing, const BucketLayout& layout, ControlRound& /*control*/) {
    packing.begin(1);
    for (std::size_t i = 0; i < 3; ++i) packing.pack(i, array_of(grads_[i]));
    packing.begin(1);
    packing.pack(1, array_of(grads_[1]));
    packing.pack_rest();
    EXPECT_EQ(packing.full_buckets(), 2U);
    EXPECT_EQ(floats_of(layout.result_of(0)), Floats(2, 0));
    EXPECT_EQ(floats_of(layout.result_of(1)), grads_[1]);
    EXPECT_EQ(floats_of(layout.result_of(2)), Floats(99, 0));
  });
}

TEST_F(WindowPackingTest, WholeBucketsTakeTheirsOfTheWholeSchema) {
  run([&](WindowPacking& packing, const BucketLayout& layout, ControlRound& /*control*/) {
    packing.begin(1);
    std::vector<Array> arrays = {array_of(grads_[0]), array_of(grads_[1]), array_of(grads_[2])};
    arrays[1].data = nullptr;
    packing.pack(*layout.buckets()[1], {arrays, /*version=*/0});
    EXPECT_TRUE(packing.is_packed(0) && packing.is_packed(1));
    EXPECT_FALSE(packing.is_packed(2));
    EXPECT_EQ(floats_of(layout.result_of(0)), grads_[0]);
    EXPECT_EQ(floats_of(layout.result_of(1)), Floats(3, 0));
  });
  EXPECT_EQ(has_gradient_, (std::vector<bool>{true, false, false})) << "the control round was told";
}

}  // namespace
}  // namespace gradstep::test
