// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/state_gather.h"

#include "optim/first_order/first_order_optimizer.h"
#include "optim/saved_optimizer.h"
#include "unit/memory_stream.h"
#include "unit/optim/optimizer_fixture.h"
#include "unit/ranks.h"

namespace gradstep::test {
namespace {

/// Many small parameters, and one whose states take more than a batch.
std::vector<std::vector<std::int64_t>> many_shapes() {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t i = 0; i < 300; ++i) shapes.push_back({i % 7 * 300, 3});
  shapes.push_back({StateGather::kBatchBytes / 4 + 1000});
  for (std::int64_t i = 0; i < 20; ++i) shapes.push_back({1 + i});
  return shapes;
}

std::int64_t collectives_of(const FirstOrderOptimizer& optimizer) {
  const gradstep_comm_statistics stats = optimizer.sharding()->comm().stats();
  return stats.all_gathers + stats.broadcasts + stats.all_reduces + stats.barriers + stats.exchanges;
}

/// Other numbers in every state; the same on every rank.
void fill_states(FirstOrderOptimizer& optimizer) {
  std::uint32_t seed = 1;
  for (std::size_t i = 0; i < optimizer.schema().size(); ++i) {
    for (const char* name : {"exp_avg", "exp_avg_sq"}) {
      auto values = random_values<float>(static_cast<std::size_t>(optimizer.schema()[i].size), seed++);
      for (float& value : values) value = std::abs(value);
      optimizer.state().set(i, name, compact_array(values.data(), optimizer.schema()[i].size, DType::f32));
    }
  }
}

// A collective costs a round trip; one for each state made 3,200 of them for 1,600 parameters.
TEST(StateGather, SavingAndGatheringManyStatesTakesFewCollectives) {
  for (const std::int32_t format : {GRADSTEP_STATE_DTYPE_NATIVE, GRADSTEP_STATE_DTYPE_INT8}) {
    auto options = default_options<gradstep_adam_options>();
    options.learning_rate = 1e-3;
    options.state_dtype = format;
    const Schema schema = make_schema(many_shapes());
    FirstOrderOptimizer alone(make_context(), make_rule(options), schema);
    fill_states(alone);
    const std::string expected = saved_bytes("optimizer", {{"", save_optimizer(alone)}});
    run_ranks(3, [&](Communicator& comm) {
      FirstOrderOptimizer optimizer(make_context(), make_rule(options), schema);
      optimizer.attach(&comm, {});
      fill_states(optimizer);
      Memory memory;
      const std::int64_t before = collectives_of(optimizer);
      write_state_file(&memory, "optimizer", {{"", save_optimizer(optimizer)}});
      EXPECT_LE(collectives_of(optimizer) - before, 8);
      EXPECT_TRUE(memory.bytes == expected) << "rank " << comm.rank();
      optimizer.attach(nullptr, {});
      EXPECT_TRUE(saved_bytes("optimizer", {{"", save_optimizer(optimizer)}}) == expected) << "after it was gathered";
    });
  }
}

}  // namespace
}  // namespace gradstep::test
