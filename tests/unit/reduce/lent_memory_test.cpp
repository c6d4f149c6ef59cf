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
  EXPECT_EQ(pool.bytes(), 1100);
}

TEST(MemoryPool, HasANewPieceWhereNoneIsLargeEnough) {
  const auto context = make_context();
  const Site site(context->cpu());
  MemoryPool pool;
  pool.give(pool.take(site, 100), {});
  EXPECT_GE(pool.take(site, 101).bytes(), 101U);
  EXPECT_EQ(pool.bytes(), 201);
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
  EXPECT_EQ(pool.bytes(), 64);
  const void* const lent = memory.data();
  memory.take(site);
  EXPECT_EQ(memory.data(), lent);
  memory.give({});
  memory.give({});
  EXPECT_EQ(memory.data(), nullptr);
  memory.take(site);
  EXPECT_EQ(memory.data(), lent);
}

}  // namespace
}  // namespace gradstep::test
