// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/plan.h"

#include <algorithm>

#include "reduce/reducer_options.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

std::vector<std::vector<std::size_t>> members(const std::vector<BucketPlan>& plan) {
  std::vector<std::vector<std::size_t>> result;
  for (const BucketPlan& bucket : plan) result.push_back(bucket.parameters);
  return result;
}

TEST(Plan, PacksInReverseOrderAndStartsWithASmallBucket) {
  // Threshold 80: the first packed bucket closes above 10, the others above 80.
  const Schema schema = make_schema({{50}, {40}, {30}, {8}, {6}, {5}});
  EXPECT_EQ(members(plan_buckets(schema, 80)), (std::vector<std::vector<std::size_t>>{{5, 4}, {3, 2, 1, 0}}));
}

TEST(Plan, LargeParametersTravelAloneAndDoNotBreakAPackedBucket) {
  const Schema schema = make_schema({{4}, {81}, {3}});
  EXPECT_EQ(members(plan_buckets(schema, 80)), (std::vector<std::vector<std::size_t>>{{1}, {2, 0}}));
}

TEST(Plan, DtypesDoNotMix) {
  const std::vector<std::int64_t> shape = {4};
  std::vector<gradstep_parameter> parameters(4);
  const DType dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f64};
  for (std::size_t i = 0; i < 4; ++i) {
    parameters[i].struct_size = sizeof parameters[i];
    parameters[i].shape = shape.data();
    parameters[i].ndim = 1;
    parameters[i].dtype = to_dlpack(dtypes[i]);
    parameters[i].device = {GRADSTEP_DEVICE_CPU, 0};
  }
  const auto plan = plan_buckets(Schema(parameters.data(), 4), 1000);
  EXPECT_EQ(members(plan), (std::vector<std::vector<std::size_t>>{{3, 1}, {2, 0}}));
  EXPECT_EQ(plan[0].dtype, DType::f64);
  EXPECT_EQ(plan[1].dtype, DType::f32) << "bf16 gradients are summed in f32";
}

TEST(Plan, EveryParameterIsInExactlyOneBucketOfMatchingSize) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t i = 0; i < 60; ++i) shapes.push_back({(i * 37) % 101});
  const Schema schema = make_schema(shapes);
  for (const std::int64_t threshold : {1, 50, 100, 100000}) {
    std::vector<int> seen(shapes.size());
    for (const BucketPlan& bucket : plan_buckets(schema, threshold)) {
      std::int64_t elements = 0;
      for (const std::size_t i : bucket.parameters) {
        ++seen[i];
        elements += schema[i].size;
      }
      EXPECT_EQ(elements, bucket.elements);
    }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
}

TEST(Plan, TheDigestNamesWhatDiffers) {
  static const gradstep_reducer_options options = checked_reducer_options(default_reducer_options());
  const auto differs = [](const Schema& a, const Schema& b) {
    std::vector<std::size_t> which;
    const PlanDigest x = digest_of(a, options);
    const PlanDigest y = digest_of(b, options);
    for (std::size_t i = 0; i < PlanDigest::kCount; ++i) {
      if (x.values[i] != y.values[i]) which.push_back(i);
    }
    return which;
  };
  EXPECT_EQ(differs(make_schema({{2, 3}}), make_schema({{2, 3}})), std::vector<std::size_t>{});
  EXPECT_EQ(differs(make_schema({{2, 3}}), make_schema({{3, 2}})), std::vector<std::size_t>{2});
  EXPECT_EQ(differs(make_schema({{6}}), make_schema({{2, 3}})), std::vector<std::size_t>{2});
  EXPECT_EQ(differs(make_schema({{2}}), make_schema({{2}}, DType::f64)), std::vector<std::size_t>{3});
}

}  // namespace
}  // namespace gradstep::test
