// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/linear_algebra/phases.h"

#include <vector>

#include "cpu/instruction_set.h"
#include "unit/support.h"

namespace gradstep::cpu {
namespace {

/// How many blocks of squares of these rows, largest first, all of `threads` share.
std::size_t shared_of(std::size_t threads, const std::vector<std::int64_t>& rows) {
  const std::shared_ptr<Context> context = test::make_context(static_cast<std::int32_t>(threads));
  const Loops& loops = choose_loops();
  Phases phases{*context, loops, choose_arithmetic(loops)};
  for (const std::int64_t n : rows) {
    FactorPlan axis;
    axis.n = n;
    BlockPlan block;
    block.size = n * n;
    block.first_factor = phases.plan.factors.size();
    block.factors = 2;
    phases.plan.blocks.push_back(block);
    phases.plan.factors.insert(phases.plan.factors.end(), block.factors, axis);
  }
  phases.plan.own_blocks = rows.size();
  phases.choose_sharing();
  EXPECT_EQ(phases.blocks_of_tasks().size() + phases.shared_blocks().size(), rows.size());
  return phases.shared_blocks().size();
}

TEST(Phases, ThreadsShareABlockThatIsLargeBesideTheOthers) {
  EXPECT_EQ(shared_of(2, {1024}), 1U);
  EXPECT_EQ(shared_of(2, {1024, 512, 512}), 1U);
  EXPECT_EQ(shared_of(2, {1024, 1024}), 0U);
  EXPECT_EQ(shared_of(8, {512, 512, 512, 512}), 4U);
  EXPECT_EQ(shared_of(4, {512, 512, 512, 512}), 0U);
  EXPECT_EQ(shared_of(8, {1024, 1024, 128, 128, 128, 128, 128, 128, 128, 128, 128}), 2U);
}

TEST(Phases, ThreadsDoNotShareSmallBlocksOrWorkAlone) {
  EXPECT_EQ(shared_of(8, {64}), 0U);
  EXPECT_EQ(shared_of(1, {1024}), 0U);
  EXPECT_EQ(shared_of(8, {}), 0U);
  // Products of 512 rows have ten parts.
  EXPECT_EQ(shared_of(64, std::vector<std::int64_t>(47, 512)), 0U);
  EXPECT_EQ(shared_of(64, std::vector<std::int64_t>(5, 512)), 5U);
}

}  // namespace
}  // namespace gradstep::cpu
