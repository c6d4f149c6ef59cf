// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums in the order of hosts, whose bits are those of the definition on every engine.
#include "comm/host_sums.h"

#include <algorithm>
#include <numeric>

#include "reduce/reducer.h"
#include "unit/comm/worlds.h"
#include "unit/host_calls.h"
#include "unit/ranks.h"
#if defined(__linux__)
#include "comm/engines/met_engines.h"
#include "comm/rendezvous/rendezvous.h"
#endif

namespace gradstep::test {
namespace {

using Hosts = std::vector<std::uint64_t>;

/// Two of two, in turns, hosts of unequal sizes, second ranks in another order than the first ones, and what is in the
/// order of ranks.
const std::vector<Hosts> kPlaces = {{5, 5, 9, 9}, {1, 2, 1, 2, 2}, {3, 3, 3, 4}, {1, 1, 2, 3, 3, 2}, {1, 2, 3}, {8, 8}};

std::vector<std::string> engines_between_hosts() {
  std::vector<std::string> chosen = engines();
  std::erase_if(chosen, [](const std::string& engine) { return engine == "host_gather"; });
  return chosen;
}

std::vector<float> values_of(std::int32_t rank, std::int64_t size) {
  return random_values<float>(static_cast<std::size_t>(size), static_cast<std::uint32_t>(rank) + 1);
}

/// ((host 0) + (host 1) + ...) / divisor, hosts in the order of their first ranks.
std::vector<float> expected_sum(const Hosts& hosts, std::int64_t size, float divisor) {
  std::vector<std::uint64_t> seen;
  std::vector<float> total;
  for (const std::uint64_t host : hosts) {
    if (std::ranges::find(seen, host) != seen.end()) continue;
    seen.push_back(host);
    std::vector<float> sum;
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      if (hosts[r] != host) continue;
      const auto values = values_of(static_cast<std::int32_t>(r), size);
      if (sum.empty()) {
        sum = values;
        continue;
      }
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    if (total.empty()) {
      total = sum;
      continue;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) total[i] += sum[i];
  }
  for (float& value : total) value /= divisor;
  return total;
}

class HostSumsOnEngines : public testing::TestWithParam<std::string> {
 protected:
  /// Runs `body` on ranks of these hosts.
  void run_on(const Hosts& hosts, const std::function<void(Communicator&)>& body) {
    run(make_world(GetParam(), static_cast<std::int32_t>(hosts.size())), [&](Communicator& comm) {
      comm.group_by_hosts(hosts, comm.deadline());
      body(comm);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, HostSumsOnEngines, testing::ValuesIn(engines_between_hosts()),
                         [](const auto& test) { return test.param; });

TEST_P(HostSumsOnEngines, AllReducesHaveTheBitsOfTheirOrder) {
  for (const Hosts& hosts : kPlaces) {
    run_on(hosts, [&](Communicator& comm) {
      for (const std::int64_t size : {std::int64_t{1}, std::int64_t{63}, std::int64_t{5000}, std::int64_t{200001}}) {
        for (const double divisor : {1.0, 3.0}) {
          auto values = values_of(comm.rank(), size);
          comm.all_reduce(compact_array(values.data(), size, DType::f32), GRADSTEP_REDUCE_SUM, divisor,
                          comm.deadline());
          ASSERT_EQ(values, expected_sum(hosts, size, static_cast<float>(divisor))) << size;
        }
      }
      auto largest = static_cast<double>(comm.rank());
      comm.all_reduce(compact_array(&largest, 1, DType::f64), GRADSTEP_REDUCE_MAX, 1, comm.deadline());
      EXPECT_EQ(largest, comm.world_size() - 1);
    });
  }
}

TEST_P(HostSumsOnEngines, ReduceScattersGiveTheSlicesOfAllReducesAndTouchNothingElse) {
  for (const Hosts& hosts : kPlaces) {
    run_on(hosts, [&](Communicator& comm) {
      constexpr std::int64_t kBlock = 1001;
      const std::int64_t size = kBlock * comm.world_size();
      const auto expected = expected_sum(hosts, size, 1);
      const auto own = values_of(comm.rank(), size);
      auto values = own;
      std::vector<float> block(kBlock);
      comm.reduce_scatter(compact_array(values.data(), size, DType::f32),
                          compact_array(block.data(), kBlock, DType::f32), GRADSTEP_REDUCE_SUM, comm.deadline());
      const auto first = expected.begin() + comm.rank() * kBlock;
      EXPECT_TRUE(std::equal(block.begin(), block.end(), first));
      EXPECT_EQ(values, own);
      std::vector<std::int64_t> counts(static_cast<std::size_t>(comm.world_size()), kBlock);
      counts[0] -= 100;
      counts[1] += 100;
      comm.reduce_scatter_v(compact_array(values.data(), size, DType::f32), counts, GRADSTEP_REDUCE_SUM, 1,
                            comm.deadline());
      const std::int64_t begin = total_of(std::span(counts).first(static_cast<std::size_t>(comm.rank())));
      const std::int64_t end = begin + counts[static_cast<std::size_t>(comm.rank())];
      for (std::int64_t i = 0; i < size; ++i) {
        const auto place = static_cast<std::size_t>(i);
        ASSERT_EQ(values[place], i >= begin && i < end ? expected[place] : own[place]) << i;
      }
    });
  }
}

TEST_P(HostSumsOnEngines, DupsKeepTheOrder) {
  const Hosts hosts = {1, 1, 2, 2};
  run_on(hosts, [&](Communicator& comm) {
    constexpr std::int64_t kSize = 300;
    const auto copy = comm.dup(comm.deadline());
    auto values = values_of(comm.rank(), kSize);
    copy->all_reduce(compact_array(values.data(), kSize, DType::f32), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
    EXPECT_EQ(values, expected_sum(hosts, kSize, 1));
    EXPECT_GT(copy->stats().bytes_sent, 0);
  });
}

TEST_P(HostSumsOnEngines, SplitsKeepTheOrder) {
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_HOSTS;
  const Hosts hosts = {1, 1, 2, 2, 2};
  run(make_world(GetParam(), 5, settings), [&](Communicator& comm) {
    comm.group_by_hosts(hosts, comm.deadline());
    // Ranks 3, 2, 1 and 0 of the world, in this order.
    const auto part = comm.split(comm.rank() == 4 ? -1 : 0, -comm.rank(), comm.deadline());
    if (part == nullptr) return;
    const float addends[] = {1, -1e8F, 1e8F, 3};
    float value = addends[comm.rank()];
    part->all_reduce(compact_array(&value, 1, DType::f32), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
    EXPECT_EQ(value, (addends[3] + addends[2]) + (addends[1] + addends[0]));
    EXPECT_NE(value, ((addends[3] + addends[2]) + addends[1]) + addends[0]);
  });
}

// Every mode gives all ranks the same bits; those that sum floats, the bits of this order.
TEST_P(HostSumsOnEngines, ReducersWork) {
  const Hosts hosts = {1, 1, 2, 2};
  for (const std::int32_t mode :
       {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_INT8, GRADSTEP_REDUCER_INT4,
        GRADSTEP_REDUCER_FP8_E4M3, GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_POWERSGD}) {
    std::vector<std::vector<float>> results(hosts.size());
    run_on(hosts, [&](Communicator& comm) {
      auto options = default_reducer_options();
      options.mode = mode;
      Reducer reducer(make_context(), comm, options, make_schema({{30, 40}}));
      TestTensor<float> gradient({30, 40}, values_of(comm.rank(), 1200));
      const gradstep_tensor view = gradient.tensor();
      host::reduce(reducer, &view, &view, 1, 1);
      results[static_cast<std::size_t>(comm.rank())] = gradient.values;
    });
    for (const auto& result : results) EXPECT_EQ(result, results[0]) << "mode " << mode;
    if (mode == GRADSTEP_REDUCER_DENSE) {
      EXPECT_EQ(results[0], expected_sum(hosts, 1200, 4));
    }
  }
}

// Ranks of both groups wait for the one that does not come, and all of them hear of it.
TEST_P(HostSumsOnEngines, ARankThatAbortsEndsTheCallsOfAllBeforeTheirDeadline) {
  const World world = make_world(GetParam(), 4);
  run(world, [](Communicator& comm) { comm.group_by_hosts({1, 1, 2, 2}, comm.deadline()); });
  const auto outcomes = run_outcomes(world, [](Communicator& comm) {
    if (comm.rank() == 3) return comm.abort();
    float value = 1;
    comm.all_reduce(compact_array(&value, 1, DType::f32), GRADSTEP_REDUCE_SUM, 1, Deadline::after_ms(20000));
  });
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_NE(outcomes[r].status, GRADSTEP_OK) << r;
    EXPECT_LT(outcomes[r].milliseconds, 15000) << outcomes[r].text;
  }
}

#if defined(__linux__)
TEST(HostSums, InsideAHostBytesMayTravelByAnotherEngine) {
  const Hosts hosts = {1, 2, 1, 2};
  const TemporaryDirectory directory;
  run(make_world("host_pairs", 4), [&](Communicator& comm) {
    const auto context = make_context();
    gradstep_comm_options options{};
    options.struct_size = sizeof options;
    options.store_path = directory.path().c_str();
    options.engine = "shm";
    options.timeout_ms = 30000;
    const auto connect = [&](std::span<const std::int32_t> members) {
      EXPECT_EQ(members.size(), 2);
      options.rank = comm.rank() == members[0] ? 0 : 1;
      options.world_size = 2;
      const auto store = open_store(options, kMaxShmRanks, comm.deadline(), nullptr, [] {});
      return connect_shm(*store, *context, options, "hosts/" + std::to_string(members[0]) + "/", comm.deadline());
    };
    comm.group_by_hosts(hosts, comm.deadline(), connect);
    constexpr std::int64_t kSize = 70000;
    auto values = values_of(comm.rank(), kSize);
    comm.all_reduce(compact_array(values.data(), kSize, DType::f32), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
    EXPECT_EQ(values, expected_sum(hosts, kSize, 1));
  });
}
#endif

TEST(HostSums, EnginesOfDeviceMemoryHaveAnOrderOfTheirOwn) {
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_HOSTS;
  run(make_world("local", 2, settings), [](Communicator& comm) {
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "reduction_order: is HOSTS",
                 [&] { comm.attach_device({GRADSTEP_DEVICE_CUDA, 0}, nullptr, comm.deadline()); });
    EXPECT_TRUE(comm.vote(true, comm.deadline()));
  });
}

TEST(HostSums, AnEngineThatOnlyGathersIsRefusedWithNothingBroken) {
  run(make_world("host_gather", 4), [](Communicator& comm) {
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "reduction_order hosts",
                 [&] { comm.group_by_hosts({1, 1, 2, 2}, comm.deadline()); });
    EXPECT_TRUE(comm.vote(true, comm.deadline()));
  });
}

}  // namespace
}  // namespace gradstep::test
