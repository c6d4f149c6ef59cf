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

  std::vector<std::int32_t> largest(const TestArray& data, std::int64_t count) {
    const SelectPart all{data.size(), count};
    BackendCalls::Found found = backend_.select_largest(data.array(), {&all, 1});
    for (std::size_t j = 0; j < found.indices.size(); ++j) {
      const double expected = data.get(found.indices[j]);
      EXPECT_TRUE(found.values[j] == expected || std::isnan(expected)) << j;
    }
    return found.indices;
  }

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, Selection, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

/// Positions from the largest magnitude down, NaN before all.
class Sorted {
 public:
  explicit Sorted(const TestArray& data) : order_(static_cast<std::size_t>(data.size())) {
    std::vector<std::pair<bool, double>> keys(order_.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const double x = std::abs(data.get(static_cast<std::int64_t>(i)));
      keys[i] = std::isnan(x) ? std::pair(true, 0.0) : std::pair(false, x);
    }
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
      return keys[static_cast<std::size_t>(a)] > keys[static_cast<std::size_t>(b)];
    });
  }

  /// The first `count`, ascending.
  std::vector<std::int32_t> first(std::int64_t count) const {
    std::vector<std::int32_t> chosen(order_.begin(), order_.begin() + count);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

 private:
  std::vector<std::int32_t> order_;
};

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
        const Sorted sorted(data);
        for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, size / 100, size / 3, size - 1, size}) {
          ASSERT_EQ(largest(data, count), sorted.first(count)) << name_of(dtype) << " " << count << " of " << size;
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
    const Sorted sorted(data);
    for (const std::int64_t count : {100, 3000, 60000}) ASSERT_EQ(largest(data, count), sorted.first(count));
  }
}

TEST_P(Selection, equal_elements_are_taken_from_the_front_of_every_part) {
  TestArray data(DType::f32, 40000);
  for (std::int64_t i = 0; i < 40000; ++i) data.set(i, i % 2 == 0 ? -1 : 1);
  const SelectPart parts[] = {{1000, 0}, {30000, 777}, {0, 0}, {9000, 3}};
  std::vector<std::int32_t> expected(777);
  std::iota(expected.begin(), expected.end(), 1000);
  expected.insert(expected.end(), {31000, 31001, 31002});
  EXPECT_EQ(backend_.select_largest(data.array(), parts).indices, expected);
}

TEST_P(Selection, nans_that_are_selected_are_counted_and_become_zero_where_they_must) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    TestArray data(dtype, 1000);
    TestArray also(dtype, 1000);
    data.fill(8);
    also.fill(9);
    for (const std::int64_t i : {3, 400, 401, 999}) data.set(i, std::numeric_limits<double>::quiet_NaN());
    const SelectPart all{1000, 3};
    BackendCalls::Found found = backend_.select_largest(data.array(), {&all, 1});
    EXPECT_EQ(found.indices, (std::vector<std::int32_t>{3, 400, 401}));
    EXPECT_EQ(found.nans, 3) << "of those selected";

    const double kept = also.get(402);
    found = backend_.select_largest(data.array(), {&all, 1}, {true, also.array(), nullptr});
    EXPECT_EQ(found.nans, 4) << "all there were";
    EXPECT_EQ(found.indices, Sorted(data).first(3));
    for (const std::int64_t i : {3, 400, 401, 999}) {
      EXPECT_EQ(data.get(i), 0);
      EXPECT_EQ(also.get(i), 0);
    }
    EXPECT_EQ(also.get(402), kept);
  }
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
      std::vector<std::int64_t> counts(3);
      const BackendCalls::Found found = backend_.select_reaching(data.array(), threshold, counts);
      std::vector<std::int32_t> expected;
      for (std::int64_t i = 0; i < 40001; ++i) {
        if (std::abs(data.get(i)) >= threshold && data.get(i) != 0) expected.push_back(static_cast<std::int32_t>(i));
      }
      EXPECT_EQ(found.indices, expected) << threshold;
      for (std::size_t j = 0; j < expected.size(); ++j) ASSERT_EQ(found.values[j], data.get(expected[j]));
      EXPECT_EQ(counts, backend_.count_pieces(expected, 40001, 3));
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
      backend_.take(dense.back().array(), BackendCalls::list_of(indices.back(), nullptr), values.back().array().data);
    }
    std::vector<SparseList> lists;
    for (std::size_t r = 0; r < 3; ++r) lists.push_back(BackendCalls::list_of(indices[r], values[r].array().data));
    TestArray sum(dtype, kSize);
    for (std::int64_t i = 0; i < kSize; ++i) sum.set(i, 77);
    const std::vector<std::int32_t> touched = backend_.sum_sparse(sum.array(), lists, 0, kSize, 3);

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

TEST_P(Selection, pieces_are_counted_by_the_elements_they_begin_at) {
  const std::vector<std::int32_t> indices = {0, 2, 3, 5, 6, 9};  // pieces of 10 begin at 0, 3 and 6
  EXPECT_EQ(backend_.count_pieces(indices, 10, 3), (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(backend_.count_pieces({}, 10, 2), (std::vector<std::int64_t>{0, 0}));
}

TEST_P(Selection, what_is_put_is_what_was_taken_and_a_list_may_be_shorter_than_its_room) {
  TestArray data(DType::f64, 1000);
  data.fill(4);
  const std::vector<std::int32_t> indices = {0, 3, 500, 999};
  TestArray taken(DType::f64, 4);
  const double before = data.get(500);
  const double last = data.get(999);
  backend_.take(data.array(), BackendCalls::list_of(indices, nullptr), taken.array().data);
  EXPECT_EQ(taken.get(2), before);
  const std::int64_t present = 3;
  SparseList list = BackendCalls::list_of(indices, nullptr);
  list.present = &present;
  backend_.put(data.array(), list);
  EXPECT_EQ(data.get(500), 0);
  EXPECT_EQ(data.get(999), last);
  list.values = taken.array().data;
  backend_.put(data.array(), list);
  backend_.put(data.array(), list, /*add=*/true);
  EXPECT_EQ(data.get(500), 2 * before);
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
