// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls that move bytes, on every engine: what arrives is what was sent, exactly.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <tuple>

#include "comm/collectives.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

class EveryEngine : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  World world() const { return make_world(std::get<0>(GetParam()), std::get<1>(GetParam())); }
  bool point_to_point() const { return std::get<0>(GetParam()) != "host_gather"; }
};

/// Bytes that tell their rank and place, with the bits of `flipped` flipped. They repeat themselves after kPeriod, from
/// where they are copied: sanitizers make a loop over all of them the most expensive part of these tests.
std::vector<std::uint8_t> pattern(std::int32_t rank, std::int64_t bytes, std::int32_t flipped = 0) {
  constexpr std::size_t kPeriod = 1 << 16;
  std::vector<std::uint8_t> values(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < std::min(values.size(), kPeriod); ++i) {
    const auto place = static_cast<std::uint8_t>(static_cast<std::size_t>(rank + 1) * 37 + i * 7 + (i >> 8));
    values[i] = static_cast<std::uint8_t>(place ^ flipped);
  }
  for (std::size_t i = kPeriod; i < values.size(); i += kPeriod) {
    std::memcpy(&values[i], values.data(), std::min(values.size() - i, kPeriod));
  }
  return values;
}

// More than one slice (1 MiB) of the collectives that are built from all_gather, and odd.
constexpr std::int64_t kSizes[] = {0, 1, 3, 1000, 65537, (1 << 20) + 4099};

TEST_P(EveryEngine, AllGatherGivesEveryBlockInRankOrder) {
  run(world(), [](Communicator& comm) {
    for (const std::int64_t bytes : kSizes) {
      const auto own = pattern(comm.rank(), bytes);
      std::vector<std::uint8_t> all(static_cast<std::size_t>(bytes * comm.world_size()));
      comm.all_gather(own.data(), all.data(), bytes, comm.deadline());
      for (std::int32_t r = 0; r < comm.world_size(); ++r) {
        const auto expected = pattern(r, bytes);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + r * bytes)) << bytes << " of " << r;
      }
    }
  });
}

TEST_P(EveryEngine, AllGatherWorksInPlace) {
  run(world(), [](Communicator& comm) {
    constexpr std::int64_t kBytes = 3001;
    std::vector<std::uint8_t> all(static_cast<std::size_t>(kBytes * comm.world_size()));
    const auto own = pattern(comm.rank(), kBytes);
    std::copy(own.begin(), own.end(), all.begin() + comm.rank() * kBytes);
    comm.all_gather(all.data() + comm.rank() * kBytes, all.data(), kBytes, comm.deadline());
    for (std::int32_t r = 0; r < comm.world_size(); ++r) {
      const auto expected = pattern(r, kBytes);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + r * kBytes)) << r;
    }
  });
}

/// Gathers, one after the other, of blocks of so many bytes. To each another rank comes late.
void gather_with_slow_ranks(const World& world, std::span<const std::int64_t> meetings) {
  run(world, [&](Communicator& comm) {
    std::int32_t meeting = 0;
    for (const std::int64_t bytes : meetings) {
      const bool is_slow = meeting % comm.world_size() == comm.rank();
      if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const auto own = pattern(comm.rank(), bytes, meeting);
      std::vector<std::uint8_t> all(static_cast<std::size_t>(bytes * comm.world_size()));
      comm.all_gather(own.data(), all.data(), bytes, comm.deadline());
      for (std::int32_t r = 0; r < comm.world_size(); ++r) {
        const auto expected = pattern(r, bytes, meeting);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + r * bytes)) << bytes << " of " << r;
      }
      ++meeting;
    }
  });
}

/// What the others send before a rank asks for it must wait for that rank, whole and in order.
TEST_P(EveryEngine, ASlowRankFindsWhatOthersHaveSentEarly) {
  constexpr std::int64_t kMeetings[] = {1, 40000, 7, 1 << 20, 5, 5, (1 << 20) + 1, 3};
  gather_with_slow_ranks(world(), kMeetings);
}

TEST_P(EveryEngine, AllGatherVTakesBlocksOfAnySizeAndNone) {
  run(world(), [](Communicator& comm) {
    for (const std::int64_t unit : kSizes) {
      std::vector<std::int64_t> bytes;
      for (std::int32_t r = 0; r < comm.world_size(); ++r) bytes.push_back(r == 1 ? 0 : unit / (r + 1));
      const auto own = pattern(comm.rank(), bytes[static_cast<std::size_t>(comm.rank())]);
      std::vector<std::uint8_t> all(
          static_cast<std::size_t>(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})));
      comm.all_gather_v(own.data(), all.data(), bytes, comm.deadline());
      auto place = all.begin();
      for (std::int32_t r = 0; r < comm.world_size(); ++r) {
        const auto expected = pattern(r, bytes[static_cast<std::size_t>(r)]);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), place)) << unit << " of " << r;
        place += bytes[static_cast<std::size_t>(r)];
      }
    }
  });
}

TEST_P(EveryEngine, BroadcastGivesTheRootsBytesForEveryRoot) {
  run(world(), [](Communicator& comm) {
    for (const std::int64_t bytes : kSizes) {
      for (std::int32_t root = 0; root < comm.world_size(); ++root) {
        auto data = pattern(comm.rank(), bytes);
        comm.broadcast(data.data(), bytes, root, comm.deadline());
        ASSERT_EQ(data, pattern(root, bytes));
      }
    }
  });
}

TEST_P(EveryEngine, SendAndRecvMatchInOrderPerPair) {
  if (!point_to_point()) GTEST_SKIP() << "this engine has no point to point";
  run(world(), [](Communicator& comm) {
    const auto relay = [&](std::int64_t bytes) {
      // A token goes once round: only rank 0 sends before it receives, so no engine needs to buffer.
      if (comm.world_size() == 1) return;
      const std::int32_t next = (comm.rank() + 1) % comm.world_size();
      const std::int32_t previous = (comm.rank() + comm.world_size() - 1) % comm.world_size();
      std::vector<std::uint8_t> token(static_cast<std::size_t>(bytes));
      if (comm.rank() == 0) {
        token = pattern(41, bytes);
        comm.send(token.data(), bytes, next, comm.deadline());
        comm.recv(token.data(), bytes, previous, comm.deadline());
      } else {
        comm.recv(token.data(), bytes, previous, comm.deadline());
        comm.send(token.data(), bytes, next, comm.deadline());
      }
      ASSERT_EQ(token, pattern(41, bytes));
    };
    for (const std::int64_t bytes : kSizes) relay(bytes);
  });
}

TEST_P(EveryEngine, BarrierHoldsUntilAllHaveCome) {
  std::atomic<int> arrived{0};
  run(world(), [&](Communicator& comm) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      comm.barrier(comm.deadline());
      EXPECT_GE(arrived.load(), round * comm.world_size());
      comm.barrier(comm.deadline());
    }
  });
}

TEST_P(EveryEngine, VoteIsYesOnlyIfAllSayYes) {
  run(world(), [](Communicator& comm) {
    EXPECT_TRUE(comm.vote(true, comm.deadline()));
    EXPECT_FALSE(comm.vote(comm.rank() != comm.world_size() - 1, comm.deadline()));
    EXPECT_FALSE(comm.vote(false, comm.deadline()));
  });
}

TEST_P(EveryEngine, DupIsAnIndependentCommunicatorOfTheSameRanks) {
  run(world(), [](Communicator& comm) {
    const auto copy = comm.dup(comm.deadline());
    EXPECT_EQ(copy->rank(), comm.rank());
    EXPECT_EQ(copy->world_size(), comm.world_size());
    EXPECT_EQ(local_rank(*copy), local_rank(comm));
    for (Communicator* each : {&comm, copy.get(), &comm}) EXPECT_TRUE(each->vote(true, each->deadline()));
    EXPECT_EQ(copy->stats().all_gathers, 1);
  });
}

TEST_P(EveryEngine, SplitMakesWorldsOrderedByKeyThenRank) {
  if (!point_to_point()) {
    run(world(), [](Communicator& comm) {
      if (comm.world_size() == 1) return;
      expect_error(GRADSTEP_ERR_UNSUPPORTED, "send and recv", [&] { comm.split(0, 0, comm.deadline()); });
      EXPECT_TRUE(comm.vote(true, comm.deadline())) << "a refused split must break nothing";
    });
    return;
  }
  run(world(), [](Communicator& comm) {
    // Odd ranks in reverse order; even ranks in order; the last rank takes part in neither.
    const bool last = comm.rank() == comm.world_size() - 1;
    const std::int32_t color = last ? -1 : comm.rank() % 2;
    const auto part = comm.split(color, color == 1 ? -comm.rank() : 0, comm.deadline());
    if (last) {
      EXPECT_EQ(part, nullptr);
    } else {
      const std::int32_t others = comm.world_size() - 1;
      const std::int32_t members = color == 0 ? (others + 1) / 2 : others / 2;
      EXPECT_EQ(part->world_size(), members);
      EXPECT_EQ(part->rank(), color == 0 ? comm.rank() / 2 : members - 1 - comm.rank() / 2);
      std::int32_t sum = comm.rank();
      Array array{&sum, 1, DType::i32};
      part->all_reduce(array, GRADSTEP_REDUCE_SUM, 1, part->deadline());
      std::int32_t expected = 0;
      for (std::int32_t r = color; r < others; r += 2) expected += r;
      EXPECT_EQ(sum, expected);
    }
    EXPECT_TRUE(comm.vote(true, comm.deadline()));
  });
}

/// What rank `from` sends to rank `to`.
std::vector<std::uint8_t> message(std::int32_t from, std::int32_t to, std::int64_t bytes) {
  return pattern(from, bytes, 17 * to);
}

TEST_P(EveryEngine, AllToAllGivesEachRankItsPieceOfAll) {
  run(world(), [](Communicator& comm) {
    for (const std::int64_t scale : {0, 1, 5000, 400000}) {
      std::vector<std::int64_t> bytes;
      std::vector<std::uint8_t> sent;
      for (std::int32_t q = 0; q < comm.world_size(); ++q) {
        bytes.push_back(scale * (q % 3));  // unlike pieces, and an empty one
        const auto piece = message(comm.rank(), q, bytes.back());
        sent.insert(sent.end(), piece.begin(), piece.end());
      }
      const std::int64_t own = bytes[static_cast<std::size_t>(comm.rank())];
      std::vector<std::uint8_t> received(static_cast<std::size_t>(own * comm.world_size()));
      comm.all_to_all(sent.data(), received.data(), bytes, comm.deadline());
      for (std::int32_t r = 0; r < comm.world_size(); ++r) {
        const auto expected = message(r, comm.rank(), own);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), received.begin() + r * own)) << own << " of " << r;
      }
    }
  });
}

TEST_P(EveryEngine, ExchangeMovesOtherBytesBetweenEachPair) {
  run(world(), [&](Communicator& comm) {
    const auto ranks = static_cast<std::size_t>(comm.world_size());
    const auto bytes_between = [](std::int32_t from, std::int32_t to) {
      return std::int64_t{1000} * ((from + 2 * to) % 4);
    };
    std::vector<std::uint8_t> sent;
    std::vector<std::uint8_t> expected;
    std::vector<std::int64_t> sent_bytes(ranks);
    std::vector<std::int64_t> received_bytes(ranks);
    for (std::int32_t peer = 0; peer < comm.world_size(); ++peer) {
      const auto q = static_cast<std::size_t>(peer);
      sent_bytes[q] = bytes_between(comm.rank(), peer);
      received_bytes[q] = bytes_between(peer, comm.rank());
      const auto out = message(comm.rank(), peer, sent_bytes[q]);
      const auto in = message(peer, comm.rank(), received_bytes[q]);
      sent.insert(sent.end(), out.begin(), out.end());
      expected.insert(expected.end(), in.begin(), in.end());
    }
    std::vector<std::uint8_t> received(expected.size());
    const auto exchange = [&] {
      comm.exchange(sent.data(), sent_bytes, received.data(), received_bytes, comm.deadline());
    };
    if (!comm.connection().engine().can_exchange()) {
      expect_error(GRADSTEP_ERR_UNSUPPORTED, "only gathers", exchange);
      EXPECT_TRUE(comm.vote(true, comm.deadline())) << "a refusal must break nothing";
      return;
    }
    exchange();
    ASSERT_EQ(received, expected);
    EXPECT_EQ(comm.stats().exchanges, 1);
  });
}

TEST_P(EveryEngine, StatisticsCountCallsAndBytes) {
  run(world(), [](Communicator& comm) {
    const auto before = comm.stats();
    std::vector<float> data(10000, 1.0F);
    Array array{data.data(), 10000, DType::f32};
    comm.all_reduce(array, GRADSTEP_REDUCE_SUM, 1, comm.deadline());
    comm.all_reduce(array, GRADSTEP_REDUCE_SUM, 1, comm.deadline());
    comm.barrier(comm.deadline());
    const auto after = comm.stats();
    EXPECT_EQ(after.all_reduces - before.all_reduces, 2);
    EXPECT_EQ(after.barriers - before.barriers, 1);
    EXPECT_EQ(after.all_gathers - before.all_gathers, 0);
    if (comm.world_size() == 1) return;
    EXPECT_GT(after.bytes_sent - before.bytes_sent, 40000);
    EXPECT_GT(after.nanoseconds, before.nanoseconds);
  });
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<std::string, int>>& info) {
  return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Collectives, EveryEngine,
                         testing::Combine(testing::ValuesIn(engines()), testing::Values(1, 2, 3, 4, 5, 8)),
                         name_of_case);

#if defined(GRADSTEP_TEST_PLUGIN_DIR)
class ManyRanksOverGloo : public testing::TestWithParam<int> {
 protected:
  /// Two descriptors for each two ranks, and some.
  static bool has_descriptors_for(rlim_t ranks) {
    rlimit limit{};
    const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
    return known && limit.rlim_cur > ranks * ranks + 10 * ranks + 100;
  }
};

/// Small blocks pass through other ranks, in two stages or three; large ones do not.
TEST_P(ManyRanksOverGloo, GatherWhatOneWouldSendToAnother) {
  const int ranks = GetParam();
  if (!has_descriptors_for(static_cast<rlim_t>(ranks))) GTEST_SKIP() << "too few descriptors for " << ranks << " ranks";
  const World world = make_world("gloo", ranks);
  constexpr std::int64_t kMeetings[] = {1, 5000, 7, 60000, 5, 5, 12000, 3};
  gather_with_slow_ranks(world, kMeetings);
  run(world, [&](Communicator& comm) {
    const std::int64_t bytes_before = comm.stats().bytes_sent;
    double number = comm.rank() + 1;
    comm.all_reduce(compact_array(&number, 1, DType::f64), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
    EXPECT_EQ(number, ranks * (ranks + 1) / 2);
    EXPECT_EQ(comm.stats().bytes_sent - bytes_before, (ranks - 1) * static_cast<std::int64_t>(sizeof number));
  });
}
INSTANTIATE_TEST_SUITE_P(Collectives, ManyRanksOverGloo, testing::Values(17, 24, 67));
#endif

TEST(DirectReduction, MovesTheBytesOfARing) {
  constexpr std::int64_t kBytes = 4 * 128 * 1000;
  run(make_world("local", 4), [](Communicator& comm) {
    std::vector<float> data(kBytes / 4, 1.0F);
    Array array{data.data(), kBytes / 4, DType::f32};
    comm.all_reduce(array, GRADSTEP_REDUCE_SUM, 1, comm.deadline());
    EXPECT_EQ(comm.stats().bytes_sent, 2 * kBytes * 3 / 4);
  });
}

TEST(Tournament, EveryPairMeetsOnceAndPartnersAgree) {
  for (std::int32_t ranks = 1; ranks <= 17; ++ranks) {
    std::set<std::pair<int, int>> met;
    for (std::int32_t round = 0; round < tournament_rounds(ranks); ++round) {
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const std::int32_t partner = tournament_partner(rank, round, ranks);
        if (partner < 0) continue;
        ASSERT_LT(partner, ranks);
        ASSERT_NE(partner, rank);
        ASSERT_EQ(tournament_partner(partner, round, ranks), rank);
        if (rank < partner) {
          ASSERT_TRUE(met.emplace(rank, partner).second);
        }
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(ranks * (ranks - 1) / 2)) << ranks;
  }
}

}  // namespace
}  // namespace gradstep::test
