// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Selection by magnitude and sums of sparse lists, against sorting and against dense sums.
#include <algorithm>
#include <numeric>

#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

class Selection : public testing::TestWithParam<std::string> {
 protected:
  Selection() : context_(make_cpu_context(2, GetParam().c_str())), backend_(context_->cpu()) {}

  std::vector<std::int32_t> largest(const TestArray& data, std::int64_t count, std::int32_t first = 0) {
    SelectJob job;
    job.data = data.array();
    job.first = first;
    job.by_count = true;
    job.count = count;
    std::vector<std::int32_t> indices;
    backend_.select(job, indices);
    return indices;
  }

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, Selection, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

std::vector<std::int32_t> by_sorting(const TestArray& data, std::int64_t count) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(data.size()));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::int32_t i) {
    const double x = std::abs(data.get(i));
    return std::isnan(x) ? std::pair(1, 0.0) : std::pair(0, x);
  };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return key(a) > key(b); });
  order.resize(static_cast<std::size_t>(std::min(count, data.size())));
  std::sort(order.begin(), order.end());
  return order;
}

// Sizes below and above the one from which on a sample is taken; many ties; NaN, infinities, zeros, subnormals.
TEST_P(Selection, the_largest_are_those_of_a_stable_sort) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t size : {1, 17, 5000, 300007}) {
      for (const bool ties : {false, true}) {
        TestArray data(dtype, size);
        data.fill(3);
        for (std::int64_t i = 0; ties && i < size; ++i) data.set(i, std::round(data.get(i)));
        if (size >= 5000) {
          data.set(17, std::numeric_limits<double>::quiet_NaN());
          data.set(4321, -std::numeric_limits<double>::infinity());
          data.set(99, 1e-42);
        }
        for (const std::int64_t count :
             {std::int64_t{0}, std::int64_t{1}, size / 100, size / 3, size - 1, size, size + 5}) {
          ASSERT_EQ(largest(data, count), by_sorting(data, count)) << name_of(dtype) << " " << count << " of " << size;
        }
      }
    }
  }
}

// The elements that a sample sees say nothing about the others: every eighth one is large, or none is.
TEST_P(Selection, a_misleading_sample_costs_time_and_changes_nothing) {
  constexpr std::int64_t kSize = std::int64_t{1} << 18;
  for (const bool sampled_are_large : {true, false}) {
    TestArray data(DType::f32, kSize);
    data.fill(5);
    for (std::int64_t i = 0; i < kSize; i += 8) data.set(i, data.get(i) * (sampled_are_large ? 1e6 : 1e-6));
    for (const std::int64_t count : {100, 3000, 60000}) ASSERT_EQ(largest(data, count), by_sorting(data, count));
  }
}

TEST_P(Selection, equal_elements_are_taken_from_the_front) {
  TestArray data(DType::f32, 40000);
  for (std::int64_t i = 0; i < 40000; ++i) data.set(i, i % 2 == 0 ? -1 : 1);
  std::vector<std::int32_t> expected(777);
  std::iota(expected.begin(), expected.end(), 1000);
  EXPECT_EQ(largest(data, 777, 1000), expected);
}

// SINGA compares magnitudes truncated to integers: all of these would tie.
TEST_P(Selection, magnitudes_below_one_are_told_apart) {
  TestArray data(DType::f32, 100);
  for (std::int64_t i = 0; i < 100; ++i) data.set(i, 0.001 * static_cast<double>(i));
  EXPECT_EQ(largest(data, 3), (std::vector<std::int32_t>{97, 98, 99}));
}

TEST_P(Selection, a_threshold_takes_what_reaches_it_but_zeros) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double threshold : {0.0, 0.5, 1e9}) {
      TestArray data(dtype, 40001);
      data.fill(2);
      for (std::int64_t i = 0; i < 40001; i += 5) data.set(i, i % 2 == 0 ? 0.0 : -0.5);
      SelectJob job;
      job.data = data.array();
      job.threshold = threshold;
      std::vector<std::int32_t> found;
      backend_.select(job, found);
      std::vector<std::int32_t> expected;
      for (std::int64_t i = 0; i < 40001; ++i) {
        if (std::abs(data.get(i)) >= threshold && data.get(i) != 0) expected.push_back(static_cast<std::int32_t>(i));
      }
      EXPECT_EQ(found, expected) << threshold;
    }
  }
}

TEST_P(Selection, sparse_sums_are_dense_sums_in_the_order_of_the_lists) {
  constexpr std::int64_t kSize = 5 * kChunk + 100;
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::vector<TestArray> dense;
    std::vector<TestArray> values;
    std::vector<std::vector<std::int32_t>> indices;
    for (int r = 0; r < 3; ++r) {
      dense.emplace_back(dtype, kSize);
      dense.back().fill(r + 1);
      indices.push_back(largest(dense.back(), r == 1 ? 0 : 9000));
      values.emplace_back(dtype, static_cast<std::int64_t>(indices.back().size()));
      backend_.take(dense.back().array(), indices.back(), values.back().array().data, /*clear=*/false);
    }
    std::vector<SparseList> lists;
    for (std::size_t r = 0; r < 3; ++r) lists.push_back({indices[r].data(), values[r].array().data, values[r].size()});
    TestArray sum(dtype, kSize);
    for (std::int64_t i = 0; i < kSize; ++i) sum.set(i, 77);
    std::vector<std::int32_t> touched;
    backend_.sum_sparse({sum.array(), lists, 0, kSize, 3}, touched);

    std::vector<double> expected(kSize, 77);
    std::vector<bool> seen(kSize, false);
    for (std::size_t r = 0; r < 3; ++r) {
      for (const std::int32_t i : indices[r]) {
        const auto place = static_cast<std::size_t>(i);
        const double value = dense[r].get(i);
        expected[place] = seen[place] ? rounded(dtype, expected[place] + value) : value;
        seen[place] = true;
      }
    }
    std::vector<std::int32_t> all;
    for (std::int64_t i = 0; i < kSize; ++i) {
      const auto place = static_cast<std::size_t>(i);
      if (seen[place]) {
        expected[place] = rounded(dtype, expected[place] / 3);
        all.push_back(static_cast<std::int32_t>(i));
      }
      ASSERT_EQ(sum.get(i), expected[place]) << i;
    }
    EXPECT_EQ(touched, all);
  }
}

TEST_P(Selection, taking_clears_and_putting_restores) {
  TestArray data(DType::f64, 1000);
  data.fill(4);
  const std::vector<std::int32_t> indices = {0, 3, 500, 999};
  TestArray taken(DType::f64, 4);
  const double before = data.get(500);
  backend_.take(data.array(), indices, taken.array().data, /*clear=*/true);
  EXPECT_EQ(taken.get(2), before);
  EXPECT_EQ(data.get(500), 0);
  backend_.put(data.array(), indices, taken.array().data);
  EXPECT_EQ(data.get(500), before);
}

TEST_P(Selection, clamped_numbers_stay_within_the_bound_and_nans_stay) {
  TestArray data(DType::f32, 40000);
  data.fill(6);
  data.set(7, std::numeric_limits<double>::quiet_NaN());
  data.set(8, -std::numeric_limits<double>::infinity());
  TestArray before = data;
  backend_.clamp(data.array(), 0.25);
  for (std::int64_t i = 0; i < 40000; ++i) {
    if (i == 7) continue;
    ASSERT_EQ(data.get(i), std::clamp(before.get(i), -0.25, 0.25)) << i;
  }
  EXPECT_TRUE(std::isnan(data.get(7)));
}

TEST_P(Selection, infinities_and_nans_are_counted_in_every_dtype) {
  for (const DType dtype : kFloatTypes) {
    TestArray data(dtype, 50000);
    data.fill(1);
    EXPECT_EQ(backend_.count_nonfinite(data.array()), 0);
    data.set(3, std::numeric_limits<double>::quiet_NaN());
    data.set(40000, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(backend_.count_nonfinite(data.array()), 2) << name_of(dtype);
  }
}

}  // namespace
}  // namespace gradstep::test
