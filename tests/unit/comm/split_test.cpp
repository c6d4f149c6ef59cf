// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What split gives: a channel of the group's own, of which more can be made.
#include <thread>

#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

/// The sum over ranks of `value`, as each of many elements.
float sum(Communicator& comm, float value) {
  std::vector<float> data(1000, value);
  const Array array{data.data(), static_cast<std::int64_t>(data.size()), DType::f32};
  comm.all_reduce(array, GRADSTEP_REDUCE_SUM, 1, comm.deadline());
  EXPECT_EQ(data, std::vector<float>(data.size(), data[0]));
  return data[0];
}

/// The engines that make channels of some of their ranks.
std::vector<std::string> splitting_engines() {
  std::vector<std::string> names;
  for (const std::string& name : engines()) {
    if (name.compare(0, 4, "host") != 0) names.push_back(name);
  }
  return names;
}

class Split : public testing::TestWithParam<std::string> {
 protected:
  /// Ranks 0 and 2 of four, and ranks 1 and 3, each pair in reverse order.
  void run_halves(const std::function<void(Communicator& whole, Communicator& half)>& body) const {
    run(make_world(GetParam(), 4), [&](Communicator& whole) {
      const auto half = whole.split(whole.rank() % 2, -whole.rank(), whole.deadline());
      ASSERT_EQ(half->world_size(), 2);
      ASSERT_EQ(half->rank(), whole.rank() < 2 ? 1 : 0);
      body(whole, *half);
    });
  }
};

TEST_P(Split, MakesGroupsOfAnySizeAndOfGroups) {
  run(make_world(GetParam(), 5), [](Communicator& whole) {
    const std::int32_t rank = whole.rank();
    const auto part = whole.split(rank == 1 ? -1 : rank / 4, rank == 2 ? -1 : 0, whole.deadline());
    ASSERT_EQ(part == nullptr, rank == 1);
    if (part == nullptr) return;
    EXPECT_EQ(part->world_size(), rank == 4 ? 1 : 3);
    EXPECT_EQ(part->engine(), whole.engine());
    EXPECT_EQ(local_rank(*part), part->rank());
    EXPECT_EQ(sum(*part, static_cast<float>(rank)), rank == 4 ? 4 : 5);
    const auto again = part->split(part->rank() == 0 ? 0 : 1, -part->rank(), part->deadline());
    EXPECT_EQ(sum(*again, static_cast<float>(rank)), rank == 4 ? 4 : rank == 2 ? 2 : 3);
    EXPECT_EQ(sum(*part->dup(part->deadline()), 1), rank == 4 ? 1 : 3);
  });
}

// Every rank makes its first call on the one whose turn is second on its peer.
TEST_P(Split, ADupOfAGroupHasAChannelOfItsOwn) {
  run_halves([](Communicator&, Communicator& half) {
    const auto twin = half.dup(half.deadline());
    const bool first = half.rank() == 0;
    float other = 0;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      other = sum(first ? *twin : half, first ? 100 : 1);
    });
    EXPECT_EQ(sum(first ? half : *twin, first ? 1 : 100), first ? 2 : 200);
    later.join();
    EXPECT_EQ(other, first ? 200 : 2);
  });
}

TEST_P(Split, AnAbortedGroupLeavesWhatWasMadeOfIt) {
  run_halves([](Communicator& whole, Communicator& half) {
    const auto twin = half.dup(half.deadline());
    const auto again = half.split(0, 0, half.deadline());
    const auto channel = half.private_channel(half.deadline());
    const auto other = half.private_channel(half.deadline());
    channel->abort();
    whole.barrier(whole.deadline());
    EXPECT_EQ(sum(half, 1), 2);
    EXPECT_EQ(sum(*other, 1), 2);
    whole.barrier(whole.deadline());
    half.abort();
    whole.barrier(whole.deadline());
    EXPECT_EQ(sum(*twin, 1), 2);
    EXPECT_EQ(sum(*again, 1), 2);
    EXPECT_EQ(sum(whole, 1), 4);
    EXPECT_EQ(other->status().code, GRADSTEP_ERR_ABORTED) << "a private channel goes with its communicator";
  });
}

TEST_P(Split, AGroupOutlivesTheOtherGroupAndTheWhole) {
  World ranks = make_world(GetParam(), 4);
  const auto outcomes = run_outcomes(4, [&](std::int32_t rank) {
    auto& whole = ranks[static_cast<std::size_t>(rank)];
    const auto half = whole->split(rank % 2, 0, whole->deadline());
    whole.reset();
    if (rank % 2 == 1) return half->abort();
    EXPECT_EQ(sum(*half, 1), 2);
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_OK) << outcome.text;
}

TEST_P(Split, ExchangesOfAGroupMayOverlap) {
  run_halves([](Communicator&, Communicator& half) {
    EXPECT_TRUE(half.overlaps());
    EXPECT_TRUE(half.private_channel(half.deadline())->overlaps());
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, Split, testing::ValuesIn(splitting_engines()),
                         [](const auto& test_case) { return test_case.param; });

TEST(SplitOfAHost, SharesTheHostsChannel) {
  run(make_world("host_pairs", 2), [](Communicator& whole) {
    const auto part = whole.split(0, 0, whole.deadline());
    EXPECT_FALSE(part->overlaps());
    EXPECT_FALSE(part->private_channel(part->deadline())->overlaps());
    EXPECT_EQ(sum(*part, 1), 2);
    EXPECT_EQ(sum(*part->dup(part->deadline()), 1), 2);
  });
}

}  // namespace
}  // namespace gradstep::test
