// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collective saves that fail on one rank fail on all, and cost no rank its channel.
#include "gradstep/state.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "gradstep/sharding.h"
#include "handles.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

using namespace gradstep_handles;

constexpr std::int32_t kRanks = 2;
constexpr std::int64_t kSize = 100'000;

class CollectiveState : public ::testing::Test {
 protected:
  CollectiveState() {
    std::array<gradstep_comm*, kRanks> comms{};
    check(gradstep_comm_create_local(context_.get(), kRanks, comms.data()));
    for (gradstep_comm* comm : comms) comms_.emplace_back(comm);
  }

  OptimizerHandle make_adam() {
    auto options = defaults_of(gradstep_adam_options_init);
    options.learning_rate = 0.1;
    gradstep_optimizer* optimizer = nullptr;
    check(gradstep_optimizer_create_adam(context_.get(), &options, &parameter_, 1, &optimizer));
    return OptimizerHandle(optimizer);
  }

  /// body(rank, its communicator), on a thread for each rank.
  template <class Body>
  void on_ranks(Body body) {
    std::vector<std::thread> threads;
    for (std::int32_t rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] { body(rank, comms_[static_cast<std::size_t>(rank)].get()); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static gradstep_status step(gradstep_optimizer* optimizer) {
    std::vector<float> param(kSize, 1);
    std::vector<float> grad(kSize, 0.5F);
    const gradstep_tensor p = tensor_of(param);
    const gradstep_tensor g = tensor_of(grad);
    return gradstep_optimizer_step(optimizer, &p, &g, 1, nullptr);
  }

  static gradstep_tensor tensor_of(std::vector<float>& values) {
    gradstep_tensor tensor{};
    tensor.data = values.data();
    tensor.device = {GRADSTEP_DEVICE_CPU, 0};
    tensor.ndim = 1;
    tensor.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    tensor.shape = const_cast<std::int64_t*>(&kSize);
    return tensor;
  }

  gradstep_parameter parameter_ = [] {
    gradstep_parameter p{};
    p.struct_size = sizeof p;
    p.name = "w";
    p.shape = &kSize;
    p.ndim = 1;
    p.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    p.device = {GRADSTEP_DEVICE_CPU, 0};
    return p;
  }();
  ContextHandle context_ = gradstep_handles::make_context(1);
  std::vector<CommHandle> comms_;
};

gradstep_stream writer_to_nowhere() {
  gradstep_stream stream{};
  stream.struct_size = sizeof stream;
  stream.write = [](void*, const void*, std::size_t) -> gradstep_status { return GRADSTEP_OK; };
  return stream;
}

TEST_F(CollectiveState, AScheduleThatFailsOnOneRankCostsNobodyTheShardedState) {
  on_ranks([&](std::int32_t rank, gradstep_comm* comm) {
    const OptimizerHandle optimizer = make_adam();
    check(gradstep_optimizer_attach_comm(optimizer.get(), comm, nullptr));
    check(step(optimizer.get()));
    gradstep_schedule schedule = defaults_of(gradstep_schedule_init);
    std::atomic<bool> fails{rank == 1};
    schedule.kind = GRADSTEP_SCHEDULE_CALLBACK;
    schedule.user = &fails;
    schedule.function = [](void* user, std::int64_t, double* value) -> gradstep_status {
      *value = 0.1;
      return *static_cast<std::atomic<bool>*>(user) ? GRADSTEP_ERR_CALLBACK : GRADSTEP_OK;
    };
    check(gradstep_optimizer_set_schedule(optimizer.get(), -1, "learning_rate", &schedule));
    const gradstep_stream stream = writer_to_nowhere();
    const gradstep_stream* own = rank == 0 ? &stream : nullptr;
    EXPECT_EQ(gradstep_optimizer_save(optimizer.get(), own), rank == 1 ? GRADSTEP_ERR_CALLBACK : GRADSTEP_ERR_ABORTED);
    fails = false;
    EXPECT_EQ(step(optimizer.get()), GRADSTEP_OK) << gradstep_last_error();
    EXPECT_EQ(gradstep_optimizer_save(optimizer.get(), own), GRADSTEP_OK) << gradstep_last_error();
  });
}

}  // namespace
}  // namespace gradstep::test
