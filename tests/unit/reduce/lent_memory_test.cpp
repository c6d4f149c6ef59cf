// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/lent_memory.h"

#include <utility>

#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(MemoryPool, LendsTheSmallestPieceThatIsLargeEnough) {
  const auto context = make_context();
  const Site site(context->cpu());
  MemoryPool pool;
  Buffer large = pool.take(site, 1000);
  Buffer small = pool.take(site, 100);
  const void* const where = small.data();
  pool.give(std::move(large), {});
  pool.give(std::move(small), {});
  EXPECT_EQ(pool.take(site, 100).data(), where);
}

TEST(MemoryPool, HasANewPieceWhereNoneIsLargeEnough) {
  const auto context = make_context();
  const Site site(context->cpu());
  MemoryPool pool;
  pool.give(pool.take(site, 100), {});
  EXPECT_GE(pool.take(site, 101).bytes(), 101U);
}

TEST(LentMemory, IsItsOwnUntilAPoolLendsIt) {
  const auto context = make_context();
  const Site site(context->cpu());
  MemoryPool pool;
  LentMemory memory(site, 64, /*zeroed=*/true);
  const void* const own = memory.data();
  memory.take(site);
  EXPECT_EQ(memory.data(), own);
  memory.lend_from(&pool);
  EXPECT_EQ(memory.data(), own) << "until the first window";
  memory.take(site);
  const void* const lent = memory.data();
  memory.take(site);
  EXPECT_EQ(memory.data(), lent);
  memory.give({});
  memory.give({});
  EXPECT_EQ(memory.data(), nullptr);
  memory.take(site);
  EXPECT_EQ(memory.data(), lent);
}

TEST(LentMemory, GoesWhereNothingIsPacked) {
  const auto context = make_context();
  const Site site(context->cpu());
  MemoryPool pool;
  LentMemory memory(site, 64, /*zeroed=*/false);
  memory.do_without();
  EXPECT_NE(memory.data(), nullptr) << "its own, for good";
  memory.lend_from(&pool);
  memory.do_without();
  EXPECT_EQ(memory.data(), nullptr);
}

}  // namespace
}  // namespace gradstep::test
