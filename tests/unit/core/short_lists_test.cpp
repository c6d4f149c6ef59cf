// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/short_lists.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gradstep::test {
namespace {

bool is_inside(const ShortLists& lists, const void* data) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  const auto begin = reinterpret_cast<std::uintptr_t>(&lists);
  return at >= begin && at < begin + sizeof lists;
}

TEST(ShortLists, ShortOnesLieInTheObject) {
  ShortLists lists;
  auto numbers = lists.of<std::int64_t>();
  auto bytes = lists.of<char>();
  for (int i = 0; i < 8; ++i) {
    numbers.push_back(i);
    bytes.push_back('a');
  }
  EXPECT_TRUE(is_inside(lists, numbers.data()));
  EXPECT_TRUE(is_inside(lists, bytes.data()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % alignof(std::int64_t), 0U);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
}

TEST(ShortLists, LongOnesAreKeptToo) {
  ShortLists lists;
  auto numbers = lists.of<std::int64_t>();
  for (int i = 0; i < 10000; ++i) numbers.push_back(i);
  EXPECT_FALSE(is_inside(lists, numbers.data()));
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace gradstep::test
