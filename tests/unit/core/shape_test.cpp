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

}  // namespace
}  // namespace gradstep::test
