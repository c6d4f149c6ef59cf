// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <gradstep/gradstep.hpp>
#include <mutex>

namespace gradstep {
namespace {

TEST(CppContext, EveryStatusHasItsExceptionWithTheText) {
  EXPECT_THROW(throw_status(GRADSTEP_ERR_TIMEOUT, "late"), Timeout);
  EXPECT_THROW(throw_status(GRADSTEP_ERR_CORRUPT, "x"), Corrupt);
  EXPECT_THROW(throw_status(-50, "x"), Error);
  try {
    throw_status(GRADSTEP_ERR_PEER_LOST, "rank 1 left");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), GRADSTEP_ERR_PEER_LOST);
    EXPECT_STREQ(error.status_name(), "GRADSTEP_ERR_PEER_LOST");
    EXPECT_STREQ(error.what(), "rank 1 left");
  }
  for (gradstep_status status = -14; status < 0; ++status) {
    try {
      throw_status(status, "x");
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), status);
    }
  }
}

TEST(CppContext, OptionsHaveTheLibrarysDefaults) {
  const AdamOptions adam{};
  EXPECT_EQ(adam.beta1, 0.9);
  EXPECT_EQ(adam.beta2, 0.999);
  EXPECT_NE(adam.learning_rate, adam.learning_rate);
  EXPECT_EQ(ReducerOptions{}.fuse_threshold, 2097152);
  EXPECT_TRUE(ShampooOptions{}.best_effort_shape_interpretation);
  const gradstep_sgd_options c = SgdOptions{.learning_rate = 2, .nesterov = true, .state_dtype = StateDtype::kInt8}.c();
  EXPECT_EQ(c.learning_rate, 2);
  EXPECT_EQ(c.nesterov, 1);
  EXPECT_EQ(c.state_dtype, GRADSTEP_STATE_DTYPE_INT8);
  EXPECT_EQ(c.struct_size, sizeof c);
}

TEST(CppContext, TheLibraryTellsWhatItIs) {
  EXPECT_EQ(version(), gradstep_version_string());
  EXPECT_NE(build_info().find("\"instruction_sets\""), std::string::npos);
  EXPECT_TRUE(backend_available("local"));
  EXPECT_EQ(backend_status("cpu"), "ok");
  EXPECT_THROW(static_cast<void>(backend_status("no such engine")), InvalidArgument);
  EXPECT_THROW(load_backend("/no/such/plugin.so"), BackendUnavailable);
}

TEST(CppContext, BadOptionsAreNamed) {
  try {
    const Context context({.num_threads = -3});
    FAIL() << "a context of -3 threads was made";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("num_threads"), std::string::npos) << error.what();
  }
}

TEST(CppContext, ThreadsOfTheHostRunTheWorkAndLogHearsOfIt) {
  std::atomic<int> calls = 0;
  std::mutex mutex;
  std::vector<std::string> records;
  auto alive = std::make_shared<int>(0);
  {
    const Context context({.log_level = LogLevel::kDebug,
                           .log =
                               [&, alive](LogLevel, std::string_view text) {
                                 const std::lock_guard lock(mutex);
                                 records.emplace_back(text);
                               },
                           .parallel_for =
                               [&, alive](std::int64_t n, const std::function<void(std::int64_t)>& body) {
                                 ++calls;
                                 for (std::int64_t i = n; i-- > 0;) body(i);
                               }});
    std::vector<float> value(100000, 1.0F);
    const std::vector<float> gradient(100000, 0.5F);
    const TensorList params{value};
    const ConstTensorList grads{gradient};
    auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, parameters_of(params));
    sgd.step(params, grads);
    EXPECT_EQ(value.back(), 0.5F);
    EXPECT_GT(alive.use_count(), 1);
  }
  EXPECT_GT(calls, 0);
  EXPECT_EQ(alive.use_count(), 1) << "the library has not given the callbacks back";
}

TEST(CppContext, AThreadPoolThatThrowsFailsTheCallWithItsWords) {
  const Context context({.parallel_for = [](std::int64_t, const std::function<void(std::int64_t)>&) {
    throw std::runtime_error("the pool is closed");
  }});
  std::vector<float> value(100000);
  const TensorList params{value};
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, parameters_of(params));
  const std::vector<float> gradient(100000);
  const ConstTensorList grads{gradient};
  try {
    sgd.step(params, grads);
    FAIL() << "a step was made without threads";
  } catch (const CallbackError& error) {
    EXPECT_NE(std::string(error.what()).find("the pool is closed"), std::string::npos) << error.what();
  }
}

class CountingAllocator : public Allocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment, gradstep_device) override {
    ++blocks;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate(void* data, std::size_t, std::size_t, gradstep_device) noexcept override {
    --blocks;
    std::free(data);
  }
  std::atomic<int> blocks = 0;
};

TEST(CppContext, MemoryIsTheHostsAndAllOfItComesBack) {
  const auto allocator = std::make_shared<CountingAllocator>();
  {
    const Context context({.allocator = allocator});
    const auto adam = Optimizer::adam(context, {.learning_rate = 1}, {{.shape = {1000}}});
    EXPECT_GT(allocator->blocks, 0);
  }
  EXPECT_EQ(allocator->blocks, 0);
  EXPECT_EQ(allocator.use_count(), 1);
}

TEST(CppContext, CostsArePredicted) {
  CostOptions options{.elements = 1000000, .ranks = 8, .bandwidth = 1e9, .latency = 1e-5};
  const std::vector<Cost> costs = predict_costs(options);
  ASSERT_FALSE(costs.empty());
  for (const Cost& cost : costs) EXPECT_GT(cost.seconds, 0);
  measure_costs(options, Context());
  EXPECT_GT(options.add_seconds, 0);
  EXPECT_THROW(predict_costs({}), InvalidArgument);
}

}  // namespace
}  // namespace gradstep
