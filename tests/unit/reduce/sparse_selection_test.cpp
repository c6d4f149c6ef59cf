// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/sparse_selection.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kTwoSizes[] = {3, 2};

using Indices = std::vector<std::int32_t>;

Indices indices_of(const SparseList& list) { return {list.indices, list.indices + list.count}; }
Floats values_of(const SparseList& list) {
  const auto* values = static_cast<const float*>(list.values);
  return {values, values + list.count};
}
std::vector<std::int64_t> numbers_of(const void* first, std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::memcpy(numbers.data(), first, count * sizeof(std::int64_t));
  return numbers;
}

/// A selection of a world of two ranks, which do not meet.
void with_selection(const gradstep_reducer_options& options,
                    const std::function<void(SparseSelection&, ExchangeResources&)>& body) {
  run_ranks(2, [&](Communicator& comm) {
    ExchangeResources resources = make_exchange(comm, options, make_schema({{3}, {2}}));
    SparseSelection selection(resources, options, DType::f32, kTwoSizes);
    body(selection, resources);
  });
}

// Defect: the product was rounded to f32, which cannot tell 2^24 from 2^24 + 1.
TEST(SparseDefects, CountsAboveTwoToThe24AreExact) {
  constexpr std::int64_t kMany = (std::int64_t{1} << 24) + 1;
  EXPECT_EQ(selected_count(1.0, kMany), kMany);
  EXPECT_EQ(selected_count(0.5, 2 * kMany), kMany);
  EXPECT_EQ(selected_count(0.05, 1), 1);
  EXPECT_EQ(selected_count(0.05, 0), 0);
  EXPECT_EQ(selected_count(0.05, 100), 5);
}

TEST(SparseSelection, AWarmUpFallsByOneFactorToTheOptionsFraction) {
  auto options = exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.001);
  EXPECT_EQ(sparsity_in_window(options, 0), 0.001);
  options.warmup_steps = 4;
  double before = 1;
  for (std::int64_t window = 0; window < 5; ++window) {
    EXPECT_NEAR(sparsity_in_window(options, window) / before, std::pow(0.001, 0.2), 1e-12) << window;
    before = sparsity_in_window(options, window);
  }
  EXPECT_EQ(before, 0.001);
  EXPECT_EQ(sparsity_in_window(options, 1000), 0.001);
}

TEST(SparseSelection, TopKTakesTheLargestOfEachParameterOrOfTheBucket) {
  Floats data = {1, -5, 3, 2, 2};
  auto options = exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.4);
  options.selection = GRADSTEP_SELECTION_TENSOR;
  with_selection(options, [&](SparseSelection& selection, auto&) {
    EXPECT_TRUE(selection.by_count());
    selection.select(array_of(data), {}, 1);
    EXPECT_TRUE(selection.is_fixed());
    EXPECT_EQ(indices_of(selection.list()), (Indices{1, 2, 3})) << "of two that are equal the first one";
    EXPECT_EQ(values_of(selection.list()), (Floats{-5, 3, 2}));
    const std::byte* message = selection.message_with_head();
    EXPECT_EQ(numbers_of(message, 2), (std::vector<std::int64_t>{0, 3}));
    EXPECT_EQ(reinterpret_cast<const std::byte*>(selection.list().indices), message + SparseSelection::kHeadBytes);
  });
  options.selection = GRADSTEP_SELECTION_BUCKET;
  with_selection(options, [&](SparseSelection& selection, auto&) {
    selection.select(array_of(data), {}, 2);
    EXPECT_FALSE(selection.is_fixed()) << "who has how many of a piece is to be told";
    EXPECT_EQ(indices_of(selection.list()), (Indices{1, 2}));
    EXPECT_EQ(numbers_of(selection.counts(), 3), (std::vector<std::int64_t>{0, 1, 1})) << "of [0, 2) and [2, 5)";
  });
}

TEST(SparseSelection, AThresholdIsCountedAndThenTaken) {
  Floats data = {1, -5, 3, 0, 2};
  with_selection(exchange_options(GRADSTEP_REDUCER_SPARSE_THRESHOLD, 2), [&](SparseSelection& selection, auto&) {
    EXPECT_FALSE(selection.by_count());
    for (const std::size_t pieces : {std::size_t{1}, std::size_t{2}}) {
      selection.select(array_of(data), {}, pieces);
      EXPECT_FALSE(selection.is_fixed());
      const auto expected = pieces == 1 ? std::vector<std::int64_t>{0, 3} : std::vector<std::int64_t>{0, 1, 2};
      EXPECT_EQ(numbers_of(selection.counts(), 1 + pieces), expected);
      selection.take(3);
      EXPECT_EQ(indices_of(selection.list()), (Indices{1, 2, 4}));
      EXPECT_EQ(values_of(selection.list()), (Floats{-5, 3, 2}));
    }
  });
}

TEST(SparseSelection, MemoriesThatChangePlacesAreReadAnew) {
  for (const std::int32_t warmup : {0, 3}) {
    auto options = exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.2);
    options.warmup_steps = warmup;
    with_selection(options, [&](SparseSelection& selection, ExchangeResources& resources) {
      Floats memories[2] = {Floats(5), Floats(5)};
      for (std::int32_t window = 0; window < 6; ++window) {
        Floats& data = memories[window % 2];
        for (std::size_t i = 0; i < 5; ++i)
          data[i] = static_cast<float>(1 + (i + static_cast<std::size_t>(window)) % 5);
        selection.select(array_of(data), {}, 1);
        const std::int64_t count = selected_count(sparsity_in_window(options, window), 5);
        const SparseList list = selection.list();
        ASSERT_EQ(list.count, count) << "window " << window;
        for (std::int64_t j = 0; j < count; ++j) {
          EXPECT_GT(values_of(list)[static_cast<std::size_t>(j)], static_cast<float>(5 - count));
        }
        ++resources.state->windows;
      }
    });
  }
}

TEST(SparseSelection, NaNsAreCountedZeroedOrSent) {
  auto options = exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.4);
  with_selection(options, [&](SparseSelection& selection, auto&) {
    Floats data = {1, kNaN, 3, kNaN, 2};
    selection.select(array_of(data), {}, 1);
    EXPECT_EQ(selection.selected_nans(), 2);
    EXPECT_EQ(numbers_of(selection.message_with_head(), 2), (std::vector<std::int64_t>{2, 2}));
    selection.select(array_of(data), {}, 2);
    EXPECT_EQ(numbers_of(selection.counts(), 3), (std::vector<std::int64_t>{2, 1, 1})) << "of this window alone";
    EXPECT_EQ(selection.zeroed_nans(), 0);
  });
  options.nan_policy = GRADSTEP_NAN_ZERO;
  with_selection(options, [&](SparseSelection& selection, auto&) {
    Floats data = {1, kNaN, 3, kNaN, 2};
    Floats also = {9, 9, 9, 9, 9};
    selection.select(array_of(data), array_of(also), 1);
    EXPECT_EQ(indices_of(selection.list()), (Indices{2, 4}));
    EXPECT_EQ(data, (Floats{1, 0, 3, 0, 2}));
    EXPECT_EQ(also, (Floats{9, 0, 9, 0, 9}));
    EXPECT_EQ(selection.zeroed_nans(), 2);
    EXPECT_EQ(selection.selected_nans(), 0);
  });
  options.nan_policy = GRADSTEP_NAN_SEND;
  with_selection(options, [&](SparseSelection& selection, auto&) {
    Floats data = {1, kNaN, 3, kNaN, 2};
    selection.select(array_of(data), {}, 1);
    EXPECT_EQ(indices_of(selection.list()), (Indices{1, 3}));
    EXPECT_TRUE(std::isnan(values_of(selection.list())[0]));
    EXPECT_EQ(selection.selected_nans(), 0);
  });
}

}  // namespace
}  // namespace gradstep::test
