// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that make different calls learn what the others call, also where as many bytes travel.
#include <array>

#include "unit/comm/worlds.h"

namespace gradstep::test {
namespace {

using Body = std::function<void(Communicator&)>;

/// Engines between whose ranks calls are compared.
std::vector<std::string> comparing() {
  std::vector<std::string> chosen = engines();
  std::erase_if(chosen, [](const std::string& engine) { return engine.starts_with("host_"); });
  return chosen;
}

/// Two calls of the same bytes: all_reduces of `dtype` by `op`.
Body reduces(DType dtype, std::int32_t op, std::int64_t bytes = 256) {
  return [=](Communicator& comm) {
    std::vector<std::byte> data(static_cast<std::size_t>(bytes));
    comm.all_reduce(compact_array(data.data(), bytes / size_of(dtype), dtype), op, 1, comm.deadline());
  };
}

Body broadcasts(std::int32_t root) {
  return [=](Communicator& comm) {
    std::array<std::byte, 256> data{};
    comm.broadcast(data.data(), data.size(), root, comm.deadline());
  };
}

void expect_told(const std::string& text, const Body& one, const Body& others,
                 const std::vector<std::int32_t>& sizes = {2, 3}) {
  for (const std::string& engine : comparing()) {
    for (const std::int32_t ranks : sizes) {
      CommSettings settings;
      settings.timeout_ms = 3000;
      const World world = make_world(engine, ranks, settings);
      const auto outcomes = run_outcomes(world, [&](Communicator& comm) { (comm.rank() == 1 ? one : others)(comm); });
      bool is_named = false;
      for (const Outcome& outcome : outcomes) {
        EXPECT_EQ(outcome.status, GRADSTEP_ERR_MISMATCH) << engine << ": " << outcome.text;
        is_named = is_named || outcome.text.find(text) != std::string::npos;
      }
      EXPECT_TRUE(is_named) << engine << ": " << outcomes[0].text;
    }
  }
}

TEST(Calls, AnotherOperationIsTold) {
  expect_told("64 f32 by max", reduces(DType::f32, GRADSTEP_REDUCE_MAX), reduces(DType::f32, GRADSTEP_REDUCE_SUM));
  constexpr std::int64_t kLarge = std::int64_t{1} << 19;
  expect_told("f32 by min", reduces(DType::f32, GRADSTEP_REDUCE_MIN, kLarge),
              reduces(DType::f32, GRADSTEP_REDUCE_SUM, kLarge));
}

TEST(Calls, AnotherTypeOfTheSameBytesIsTold) {
  expect_told("int32", reduces(DType::i32, GRADSTEP_REDUCE_SUM), reduces(DType::f32, GRADSTEP_REDUCE_SUM));
  expect_told("f16", reduces(DType::f16, GRADSTEP_REDUCE_SUM), reduces(DType::f32, GRADSTEP_REDUCE_SUM));
  expect_told("int64", reduces(DType::i64, GRADSTEP_REDUCE_SUM), reduces(DType::f64, GRADSTEP_REDUCE_SUM));
}

// Over shm a broadcast goes along a tree: of three ranks one may have finished before.
TEST(Calls, AnotherRootIsTold) { expect_told("from rank 1", broadcasts(1), broadcasts(0), {2}); }

TEST(Calls, AnotherKindOfCallIsTold) {
  const Body reduce = reduces(DType::f32, GRADSTEP_REDUCE_SUM);
  expect_told("broadcast", broadcasts(0), reduce);
  expect_told("barrier", [](Communicator& comm) { comm.barrier(comm.deadline()); }, reduce);
}

TEST(Calls, OtherCountsAreToldAlsoNone) {
  expect_told("64 f32", reduces(DType::f32, GRADSTEP_REDUCE_SUM, 256), reduces(DType::f32, GRADSTEP_REDUCE_SUM, 512));
  expect_told("0 f32", reduces(DType::f32, GRADSTEP_REDUCE_SUM, 0), reduces(DType::f32, GRADSTEP_REDUCE_SUM, 4));
}

// A call with nothing to reduce waits for the others, and returns the status of a broken channel.
TEST(Calls, OfNothingAreBarriers) {
  for (const std::string& engine : engines()) {
    CommSettings settings;
    settings.timeout_ms = 200;
    const World world = make_world(engine, 2, settings);
    run(world, reduces(DType::f32, GRADSTEP_REDUCE_SUM, 0));
    const auto outcomes = run_outcomes(world, [&](Communicator& comm) {
      if (comm.rank() == 0) reduces(DType::f32, GRADSTEP_REDUCE_SUM, 0)(comm);
    });
    EXPECT_NE(outcomes[0].status, GRADSTEP_OK) << engine << ": rank 1 does not come";
  }
}

}  // namespace
}  // namespace gradstep::test
