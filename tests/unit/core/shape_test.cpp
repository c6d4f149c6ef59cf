// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/shape.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(Shape, ElementCountRefusesNegativeAndOverflowingShapes) {
  const std::vector<std::int64_t> good = {3, 0, 5};
  EXPECT_EQ(element_count("x", 0, good), 0);
  const std::vector<std::int64_t> negative = {3, -1};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "x[2]: shape (3,-1) has a negative",
               [&] { element_count("x", 2, negative); });
  const std::vector<std::int64_t> huge = {INT64_MAX / 2, 4};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "more elements", [&] { element_count("x", 0, huge); });
  const std::vector<std::int64_t> many(33, 1);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "33 dimensions", [&] { element_count("x", 0, many); });
}

TEST(Shape, ElementsThatShareMemoryAreFound) {
  float memory[64] = {};
  const auto overlaps = [&](const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
    Array array;
    array.data = memory;
    array.size = element_count("x", 0, shape);
    array.ndim = static_cast<std::int32_t>(shape.size());
    array.shape = shape.data();
    array.strides = strides.data();
    return overlaps_itself(array);
  };
  EXPECT_TRUE(overlaps({40000}, {0}));
  EXPECT_TRUE(overlaps({2, 3}, {1, 1}));
  EXPECT_TRUE(overlaps({2, 3}, {2, 1}));
  EXPECT_TRUE(overlaps({4, 3}, {-2, 3}));
  EXPECT_TRUE(overlaps({std::int64_t{1} << 30, std::int64_t{1} << 20}, {1, 1}));
  EXPECT_TRUE(overlaps({3, 3, 2}, {2, 5, 6}));
  EXPECT_FALSE(overlaps({2, 2}, {2, 3})) << "interlocks: 0, 2, 3, 5";
  EXPECT_FALSE(overlaps({3, 2}, {2, 3})) << "interlocks: 0, 2, 3, 4, 5, 7";
  EXPECT_FALSE(overlaps({2, 3}, {1, 2})) << "transposed";
  EXPECT_FALSE(overlaps({2, 3}, {-4, -1}));
  EXPECT_FALSE(overlaps({1, 3, 1}, {0, 1, 0})) << "axes of one element";
  EXPECT_FALSE(overlaps({0, 3}, {0, 0})) << "no elements";
  EXPECT_FALSE(overlaps({}, {}));
}

}  // namespace
}  // namespace gradstep::test
