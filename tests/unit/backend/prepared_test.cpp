// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/prepared.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/array.h"

namespace gradstep::test {
namespace {

struct Says {
  std::vector<double> numbers = std::vector<double>(10);
  std::size_t bytes() const { return held_bytes(numbers); }
};

struct SaysNothing {
  std::vector<double> numbers;
};

template <class Form>
concept CanBePrepared = requires(const Prepared& prepared) { prepared.get<Form>(); };

// A form that does not say what it holds does not compile.
static_assert(CanBePrepared<Says> && CanBePrepared<std::vector<double>>);
static_assert(!CanBePrepared<SaysNothing> && !CanBePrepared<std::vector<SaysNothing>>);
static_assert(SaysBytes<std::vector<Says>> && SaysBytes<std::vector<std::unique_ptr<Says>>>);
static_assert(!SaysBytes<std::unique_ptr<SaysNothing>> && !SaysBytes<std::vector<std::unique_ptr<SaysNothing>>>);
static_assert(!SaysBytes<Array>, "it only shows what another one holds");

TEST(HeldBytes, AreThoseOfAllElements) {
  constexpr std::size_t kNumbers = 10 * sizeof(double);
  EXPECT_EQ(held_bytes(Says(), std::vector<Array>(3)), kNumbers + 3 * sizeof(Array));
  const std::vector<Says> two(2);
  EXPECT_EQ(held_bytes(two), 2 * (sizeof(Says) + kNumbers));
  std::vector<std::unique_ptr<Says>> owned(2);
  owned[1] = std::make_unique<Says>();
  EXPECT_EQ(held_bytes(owned), 2 * sizeof owned[0] + sizeof(Says) + kNumbers);
}

TEST(Prepared, BytesAreThoseOfTheFormAndWhatItHolds) {
  const Prepared prepared;
  EXPECT_EQ(prepared.bytes(), 0U);
  prepared.get<Says>();
  EXPECT_EQ(prepared.bytes(), sizeof(Says) + 10 * sizeof(double));
}

}  // namespace
}  // namespace gradstep::test
