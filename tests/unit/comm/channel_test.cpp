// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums in rank order, on every engine: all comparisons are of bits. The data are spread over many magnitudes, so that
// another order of the additions gives other bits.
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

#include "core/platform/system.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

/// f16 and bf16 as bits, converted by rules written down here once more.
float widen(DType dtype, std::uint16_t bits) {
  if (dtype == DType::bf16) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
}

/// The nearest value of the dtype, ties to even, found by looking at both neighbours of a truncated guess.
std::uint16_t narrow(DType dtype, float value) {
  if (dtype == DType::bf16) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  const double magnitude = std::fabs(static_cast<double>(value));
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // may carry to 2048
  const int biased = magnitude == 0 ? 0 : ((exponent + 14) << 10) + units;
  return static_cast<std::uint16_t>((std::signbit(value) ? 0x8000 : 0) | biased);
}

template <class T>
T reduce(T a, T b, std::int32_t op) {
  if (op == GRADSTEP_REDUCE_MAX) return a > b ? a : b;
  if (op == GRADSTEP_REDUCE_MIN) return a < b ? a : b;
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

/// Uniform in [-1, 1): the generator of the test's numbers must be fast, not good.
double noise(std::uint64_t seed) {
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9U;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>(static_cast<std::int64_t>(seed ^ (seed >> 31))) * 0x1p-63;
}

/// Raw elements of one rank.
std::vector<std::byte> rank_data(DType dtype, std::size_t count, std::int32_t rank) {
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(size_of(dtype)));
  const auto put = [&](std::size_t i, auto value) { std::memcpy(&bytes[i * sizeof value], &value, sizeof value); };
  for (std::size_t i = 0; i < count; ++i) {
    const double scale = static_cast<double>(1U << (i % 9)) / 16;
    const double value = scale * noise((static_cast<std::uint64_t>(rank) << 40) + i + 1);
    switch (dtype) {
      case DType::f32:
        put(i, static_cast<float>(value));
        break;
      case DType::f64:
        put(i, value);
        break;
      case DType::i32:
        put(i, static_cast<std::int32_t>(value * 1e8));  // sums wrap
        break;
      case DType::i64:
        put(i, static_cast<std::int64_t>(value * 5e17));
        break;
      case DType::f16:
      case DType::bf16:
        put(i, narrow(dtype, static_cast<float>(value)));
        break;
      case DType::u8:
        break;  // never reduced
    }
  }
  return bytes;
}

template <class T>
std::vector<std::byte> fold(DType dtype, std::size_t count, std::int32_t ranks, std::int32_t op, double divisor) {
  std::vector<T> total(count);
  for (std::int32_t r = 0; r < ranks; ++r) {
    const auto bytes = rank_data(dtype, count, r);
    for (std::size_t i = 0; i < count; ++i) {
      T value{};
      if (dtype == DType::f16 || dtype == DType::bf16) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, &bytes[2 * i], 2);
        value = static_cast<T>(widen(dtype, bits));
      } else {
        std::memcpy(&value, &bytes[i * sizeof value], sizeof value);
      }
      total[i] = r == 0 ? value : reduce(total[i], value, op);
    }
  }
  std::vector<std::byte> result(count * static_cast<std::size_t>(size_of(dtype)));
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      if (divisor != 1) total[i] /= static_cast<T>(divisor);
    }
    if (dtype == DType::f16 || dtype == DType::bf16) {
      const std::uint16_t bits = narrow(dtype, static_cast<float>(total[i]));
      std::memcpy(&result[2 * i], &bits, 2);
    } else {
      std::memcpy(&result[i * sizeof(T)], &total[i], sizeof(T));
    }
  }
  return result;
}

std::vector<std::byte> compute(DType dtype, std::size_t count, std::int32_t ranks, std::int32_t op, double divisor) {
  switch (dtype) {
    case DType::f64:
      return fold<double>(dtype, count, ranks, op, divisor);
    case DType::i32:
      return fold<std::int32_t>(dtype, count, ranks, op, divisor);
    case DType::i64:
      return fold<std::int64_t>(dtype, count, ranks, op, divisor);
    default:
      return fold<float>(dtype, count, ranks, op, divisor);
  }
}

/// What is expected, computed once for all ranks and engines.
const std::vector<std::byte>& expected(DType dtype, std::size_t count, std::int32_t ranks, std::int32_t op,
                                       double divisor = 1) {
  static std::mutex mutex;
  static std::map<std::tuple<DType, std::size_t, std::int32_t, std::int32_t, double>, std::vector<std::byte>> known;
  const std::lock_guard lock(mutex);
  const auto [entry, fresh] = known.try_emplace({dtype, count, ranks, op, divisor});
  if (fresh) entry->second = compute(dtype, count, ranks, op, divisor);
  return entry->second;
}

Array array_of(std::vector<std::byte>& bytes, DType dtype) {
  return {bytes.data(), static_cast<std::int64_t>(bytes.size()) / size_of(dtype), dtype};
}

constexpr DType kDtypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64};
// Both sides of the change from gathering to the direct algorithm (64 KiB sent: 5000 f32 at five ranks); pieces that
// are empty, odd, and full.
constexpr std::size_t kCounts[] = {0, 1, 3, 63, 2047, 5000, 17000, 70001};

class EveryEngineReduces : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  World world(std::int32_t order = GRADSTEP_REDUCTION_RANK) const {
    CommSettings settings;
    settings.reduction_order = order;
    return make_world(std::get<0>(GetParam()), std::get<1>(GetParam()), settings);
  }
};

TEST_P(EveryEngineReduces, AllReduceSumsInRankOrderBitForBit) {
  run(world(), [](Communicator& comm) {
    for (const DType dtype : kDtypes) {
      for (const std::size_t count : kCounts) {
        auto data = rank_data(dtype, count, comm.rank());
        comm.all_reduce(array_of(data, dtype), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
        ASSERT_EQ(data, expected(dtype, count, comm.world_size(), GRADSTEP_REDUCE_SUM))
            << name_of(dtype) << " " << count;
      }
    }
  });
}

// The direct algorithm goes in slices of 2 MiB a rank: two whole ones and a rest.
TEST_P(EveryEngineReduces, LargeDataIsSummedInSlices) {
  if (std::get<1>(GetParam()) > 3) return;  // slow, and only the slices differ
  run(world(), [](Communicator& comm) {
    const std::size_t count = ((std::size_t{1} << 20) + 10007) * static_cast<std::size_t>(comm.world_size());
    auto data = rank_data(DType::f32, count, comm.rank());
    comm.all_reduce(array_of(data, DType::f32), GRADSTEP_REDUCE_SUM, 3, comm.deadline());
    ASSERT_TRUE(data == expected(DType::f32, count, comm.world_size(), GRADSTEP_REDUCE_SUM, 3));
  });
}

TEST_P(EveryEngineReduces, AllReduceFindsMaximaAndMinima) {
  run(world(), [](Communicator& comm) {
    for (const DType dtype : kDtypes) {
      for (const std::int32_t op : {GRADSTEP_REDUCE_MAX, GRADSTEP_REDUCE_MIN}) {
        auto data = rank_data(dtype, 5000, comm.rank());
        comm.all_reduce(array_of(data, dtype), op, 1, comm.deadline());
        ASSERT_EQ(data, expected(dtype, 5000, comm.world_size(), op)) << name_of(dtype) << " " << op;
      }
    }
  });
}

TEST_P(EveryEngineReduces, TheDivisionIsDoneOnceBeforeTheRounding) {
  run(world(), [](Communicator& comm) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      for (const std::size_t count : {std::size_t{3}, std::size_t{5000}}) {
        auto data = rank_data(dtype, count, comm.rank());
        comm.all_reduce(array_of(data, dtype), GRADSTEP_REDUCE_SUM, 3, comm.deadline());
        ASSERT_EQ(data, expected(dtype, count, comm.world_size(), GRADSTEP_REDUCE_SUM, 3))
            << name_of(dtype) << " " << count;
      }
    }
  });
}

TEST_P(EveryEngineReduces, ReduceScatterGivesEachRankItsBlock) {
  run(world(), [](Communicator& comm) {
    for (const DType dtype : kDtypes) {
      for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{777}, std::size_t{300001}}) {
        if (block > 1000 && (dtype != DType::f32 || comm.world_size() > 3)) continue;  // slow, and only slices differ
        const std::size_t count = block * static_cast<std::size_t>(comm.world_size());
        auto input = rank_data(dtype, count, comm.rank());
        std::vector<std::byte> output(block * static_cast<std::size_t>(size_of(dtype)));
        comm.reduce_scatter(array_of(input, dtype), array_of(output, dtype), GRADSTEP_REDUCE_SUM, comm.deadline());
        const auto& all = expected(dtype, count, comm.world_size(), GRADSTEP_REDUCE_SUM);
        const auto own = all.begin() + comm.rank() * static_cast<std::ptrdiff_t>(output.size());
        ASSERT_TRUE(std::equal(output.begin(), output.end(), own)) << name_of(dtype) << " " << block;
        ASSERT_EQ(input, rank_data(dtype, count, comm.rank())) << "the input was changed";
      }
    }
  });
}

TEST_P(EveryEngineReduces, EngineOrderGivesTheSameBitsToAllRanks) {
  run(world(GRADSTEP_REDUCTION_ENGINE), [](Communicator& comm) {
    for (const DType dtype : kDtypes) {
      auto data = rank_data(dtype, 5000, comm.rank());
      comm.all_reduce(array_of(data, dtype), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
      std::vector<std::byte> all(data.size() * static_cast<std::size_t>(comm.world_size()));
      comm.all_gather(data.data(), all.data(), static_cast<std::int64_t>(data.size()), comm.deadline());
      for (std::int32_t r = 0; r < comm.world_size(); ++r) {
        const auto block = all.begin() + r * static_cast<std::ptrdiff_t>(data.size());
        ASSERT_TRUE(std::equal(data.begin(), data.end(), block)) << name_of(dtype);
      }
    }
  });
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<std::string, int>>& info) {
  return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Reductions, EveryEngineReduces,
                         testing::Combine(testing::ValuesIn(engines()), testing::Values(1, 2, 3, 4, 5, 8)),
                         name_of_case);

#if defined(GRADSTEP_TEST_PLUGIN_DIR)
/// What a sum of f32 becomes that goes round the ranks in this order: piece p begins with the p-th of them.
std::vector<float> round_sum(std::size_t count, const std::vector<std::int32_t>& ranks, float divisor) {
  const std::size_t share = (count + ranks.size() - 1) / ranks.size();
  const std::size_t piece = (share + 63) / 64 * 64;
  std::vector<std::vector<float>> data(ranks.size(), std::vector<float>(count));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::memcpy(data[r].data(), rank_data(DType::f32, count, static_cast<std::int32_t>(r)).data(), 4 * count);
  }
  std::vector<float> sum(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t step = 0; step < ranks.size(); ++step) {
      const float value = data[static_cast<std::size_t>(ranks[(i / piece + step) % ranks.size()])][i];
      sum[i] = step == 0 ? value : sum[i] + value;
    }
    sum[i] /= divisor;
  }
  return sum;
}

// Three pieces in the last of which there is less, and four and five of them that have more than one segment.
TEST(RingOverGloo, SumsGoRoundInTheOrderOfRanks) {
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_ENGINE;
  for (const std::int32_t ranks : {3, 4, 5}) {
    constexpr std::size_t kCount = 400037;
    std::vector<std::int32_t> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    const std::vector<float> expected_sum = round_sum(kCount, order, 3);
    run(make_world("gloo", ranks, settings), [&](Communicator& comm) {
      for (int again = 0; again < 2; ++again) {
        auto data = rank_data(DType::f32, kCount, comm.rank());
        comm.all_reduce(array_of(data, DType::f32), GRADSTEP_REDUCE_SUM, 3, comm.deadline());
        ASSERT_EQ(std::memcmp(data.data(), expected_sum.data(), data.size()), 0);
      }
      for (const DType dtype : {DType::i32, DType::i64}) {  // whose sums have no order
        auto data = rank_data(dtype, kCount, comm.rank());
        comm.all_reduce(array_of(data, dtype), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
        ASSERT_EQ(data, expected(dtype, kCount, comm.world_size(), GRADSTEP_REDUCE_SUM)) << name_of(dtype);
      }
      for (const DType dtype : kDtypes) {
        auto data = rank_data(dtype, kCount, comm.rank());
        comm.all_reduce(array_of(data, dtype), GRADSTEP_REDUCE_MAX, 1, comm.deadline());
        ASSERT_EQ(data, expected(dtype, kCount, comm.world_size(), GRADSTEP_REDUCE_MAX)) << name_of(dtype);
      }
    });
  }
}

TEST(RingOverGloo, RanksOfAHostAreNeighbours) {
  constexpr std::size_t kCount = 300000;
  const World world = make_world("gloo", 4);
  const std::vector<float> expected_sum = round_sum(kCount, {0, 2, 1, 3}, 1);
  run(world, [&](Communicator& comm) {
    CommSettings settings;
    settings.reduction_order = GRADSTEP_REDUCTION_ENGINE;
    const auto& connection = comm.connection();
    Communicator elsewhere(connection.context(), comm.connection().shared_engine(), settings, {7, 5, 7, 5});
    auto data = rank_data(DType::f32, kCount, comm.rank());
    elsewhere.all_reduce(array_of(data, DType::f32), GRADSTEP_REDUCE_SUM, 1, elsewhere.deadline());
    ASSERT_EQ(std::memcmp(data.data(), expected_sum.data(), data.size()), 0);
  });
}

TEST(RingOverGloo, ARankThatLeavesEndsTheCallOfAllAndOneThatIsLateDoesByTheDeadline) {
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_ENGINE;
  for (const bool leaves : {true, false}) {
    World world = make_world("gloo", 4, settings);
    if (leaves) world[2].reset();
    const auto outcomes = run_outcomes(4, [&](std::int32_t rank) {
      if (rank == 2) return;
      Communicator& comm = *world[static_cast<std::size_t>(rank)];
      auto data = rank_data(DType::f32, 1000000, rank);
      const Deadline deadline = leaves ? comm.deadline() : Deadline::after_ms(500);
      comm.all_reduce(array_of(data, DType::f32), GRADSTEP_REDUCE_SUM, 1, deadline);
    });
    for (const std::int32_t rank : {0, 1, 3}) {
      const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      const bool is_late = !leaves && outcome.status == GRADSTEP_ERR_TIMEOUT;
      EXPECT_TRUE(is_late || outcome.status == GRADSTEP_ERR_PEER_LOST) << outcome.text;
      EXPECT_LT(outcome.milliseconds, leaves ? 10000 : 1500);
    }
  }
}

TEST(RingOverGloo, RanksThatSumDifferentSizesAreTold) {
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_ENGINE;
  const auto outcomes = run_outcomes(make_world("gloo", 4, settings), [](Communicator& comm) {
    auto data = rank_data(DType::f32, comm.rank() == 2 ? 1000001 : 1000000, comm.rank());
    comm.all_reduce(array_of(data, DType::f32), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
  });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, GRADSTEP_ERR_MISMATCH) << outcome.text;
}
#endif

TEST(Reductions, TheTestDataTellOrdersApart) {
  const auto forward = fold<float>(DType::f32, 1000, 3, GRADSTEP_REDUCE_SUM, 1);
  std::vector<float> backward(1000);
  for (std::int32_t r = 2; r >= 0; --r) {
    const auto bytes = rank_data(DType::f32, 1000, r);
    for (std::size_t i = 0; i < 1000; ++i) {
      float value = 0;
      std::memcpy(&value, &bytes[4 * i], 4);
      backward[i] = r == 2 ? value : backward[i] + value;
    }
  }
  EXPECT_NE(0, std::memcmp(forward.data(), backward.data(), forward.size()));
}

TEST(Reductions, SteadyStateAllocatesNothing) {
  struct Counter {
    std::atomic<int> allocations{0};
  } counter;
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = &counter;
  allocator.allocate = [](void* user, size_t bytes, size_t alignment, std::int32_t, std::int32_t, void*) {
    ++static_cast<Counter*>(user)->allocations;
    return platform::allocate(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  allocator.deallocate = [](void*, void* data, size_t, size_t, std::int32_t, std::int32_t, void*) {
    platform::deallocate(data);
  };
  auto options = default_context_options();
  options.num_threads = 1;
  options.allocator = &allocator;
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  for (const std::string engine : {"local", "host_gather"}) {
    const World world = make_world(engine, 3, {}, context);
    const auto step = [](Communicator& comm) {
      for (const std::size_t count : std::initializer_list<std::size_t>{100, 5000, 70001}) {
        auto data = rank_data(DType::f32, count, comm.rank());
        comm.all_reduce(array_of(data, DType::f32), GRADSTEP_REDUCE_SUM, 1, comm.deadline());
      }
    };
    for (int warm_up = 0; warm_up < 2; ++warm_up) run(world, step);
    const int before = counter.allocations;
    run(world, step);
    EXPECT_EQ(counter.allocations, before) << engine;
  }
}

}  // namespace
}  // namespace gradstep::test
