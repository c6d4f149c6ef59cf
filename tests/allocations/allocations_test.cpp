// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "tests/handles.h"
#include "tests/host_model.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};
std::atomic<long> allocated_bytes{0};
std::atomic<long> live_bytes{0};  // of all calls, as far as the C library gives them

void* take(std::size_t bytes, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    allocated_bytes.fetch_add(static_cast<long>(bytes), std::memory_order_relaxed);
  }
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes.fetch_add(static_cast<long>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}

void give_back(void* memory) noexcept {
  live_bytes.fetch_sub(static_cast<long>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

// All forms of new and delete that the standard library does not build from others. Not inlined: g++ would see free()
// meet the memory of a new, and warn.
void* operator new(std::size_t bytes) { return take(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

namespace gradstep::test {
namespace {

using gradstep_handles::AccumulatorHandle;
using gradstep_handles::check;
using gradstep_handles::CommHandle;
using gradstep_handles::ContextHandle;
using gradstep_handles::defaults_of;
using gradstep_handles::OptimizerHandle;
using gradstep_handles::ReducerHandle;
using gradstep_handles::UpdaterHandle;

struct Host : HostModel {
  explicit Host(int number) : threads(number) {
    auto options = defaults_of(gradstep_context_options_init);
    options.num_threads = number;
    options.background_threads = 0;
    gradstep_context* created = nullptr;
    check(gradstep_context_create(&options, &created));
    context.reset(created);
  }

  const int threads;
  ContextHandle context;
};

/// How often `call` has used operator new after it has run `before` times.
long allocations_of(int before, const std::function<void()>& call) {
  for (int i = 0; i < before; ++i) call();
  allocations = 0;
  counting = true;
  for (int i = 0; i < 5; ++i) call();
  counting = false;
  return allocations;
}

OptimizerHandle make_adam(Host& host, bool narrow_state = false) {
  auto options = defaults_of(gradstep_adam_options_init);
  options.learning_rate = 0.01;
  options.state_dtype = narrow_state ? GRADSTEP_STATE_DTYPE_INT8 : GRADSTEP_STATE_DTYPE_NATIVE;
  gradstep_optimizer* optimizer = nullptr;
  check(gradstep_optimizer_create_adam(host.context.get(), &options, host.parameters, Host::kCount, &optimizer));
  return OptimizerHandle(optimizer);
}

AccumulatorHandle make_accumulator(Host& host, std::int64_t steps) {
  auto options = defaults_of(gradstep_accumulator_options_init);
  options.steps = steps;
  gradstep_accumulator* accumulator = nullptr;
  check(gradstep_accumulator_create(host.context.get(), &options, host.parameters, Host::kCount, &accumulator));
  return AccumulatorHandle(accumulator);
}

class Allocations : public ::testing::TestWithParam<int> {
 protected:
  Host host{GetParam()};

  long of_steps(const OptimizerHandle& optimizer) {
    return allocations_of(
        2, [&] { check(gradstep_optimizer_step(optimizer.get(), host.params, host.grads, Host::kCount, nullptr)); });
  }
  long of_shampoo(const gradstep_shampoo_options& options) {
    gradstep_optimizer* created = nullptr;
    check(gradstep_optimizer_create_shampoo(host.context.get(), &options, host.parameters, Host::kCount, &created));
    const OptimizerHandle optimizer(created);
    return allocations_of(
        4, [&] { check(gradstep_optimizer_step(optimizer.get(), host.params, host.grads, Host::kCount, nullptr)); });
  }
};

TEST_P(Allocations, TheLibrarysOwnAreSeen) {
  EXPECT_GE(allocations_of(0, [&] { make_adam(host); }), 5);
}

TEST_P(Allocations, AFirstOrderStepMakesNone) {
  EXPECT_EQ(of_steps(make_adam(host)), 0);
  EXPECT_EQ(of_steps(make_adam(host, /*narrow_state=*/true)), 0);
}

TEST_P(Allocations, AStepWithAScheduleOfAnyKindMakesNone) {
  const std::int64_t boundaries[] = {2, 4};
  const double values[] = {0.1, 0.05, 0.01};
  for (std::int32_t kind = GRADSTEP_SCHEDULE_CONSTANT; kind <= GRADSTEP_SCHEDULE_CALLBACK; ++kind) {
    const OptimizerHandle optimizer = make_adam(host);
    gradstep_schedule schedule = defaults_of(gradstep_schedule_init);
    schedule.kind = kind;
    schedule.init_value = 0.1;
    schedule.decay_steps = 1000;
    schedule.decay_rate = 0.5;
    schedule.warmup_steps = 3;
    schedule.n_points = 3;
    schedule.boundaries = boundaries;
    schedule.values = values;
    schedule.function = [](void* /*user*/, std::int64_t step, double* value) -> gradstep_status {
      *value = 0.1 / static_cast<double>(step + 1);
      return GRADSTEP_OK;
    };
    check(gradstep_optimizer_set_schedule(optimizer.get(), -1, "learning_rate", &schedule));
    EXPECT_EQ(of_steps(optimizer), 0) << "kind " << kind;
  }
}

TEST_P(Allocations, AGuardedStepMakesNone) {
  const OptimizerHandle optimizer = make_adam(host);
  auto options = defaults_of(gradstep_step_options_init);
  gradstep_step_result result{};
  result.struct_size = sizeof result;
  options.max_norm = 1;
  options.skip_nonfinite = 1;
  options.result = &result;
  EXPECT_EQ(allocations_of(2,
                           [&] {
                             check(gradstep_optimizer_step_ex(optimizer.get(), host.params, host.grads, host.updates,
                                                              Host::kCount, &options, nullptr));
                           }),
            0);
}

TEST_P(Allocations, AnAddMakesNone) {
  const AccumulatorHandle accumulator = make_accumulator(host, 2);
  EXPECT_EQ(
      allocations_of(3,
                     [&] {
                       std::int32_t ready = 0;
                       check(gradstep_accumulator_add(accumulator.get(), host.grads, Host::kCount, 1, nullptr, &ready));
                     }),
      0);
}

TEST_P(Allocations, APushMakesNone) {
  const OptimizerHandle optimizer = make_adam(host);
  const AccumulatorHandle accumulator = make_accumulator(host, 2);
  auto options = defaults_of(gradstep_updater_options_init);
  options.max_norm = 1;
  gradstep_updater* created = nullptr;
  check(gradstep_updater_create(host.context.get(), optimizer.get(), accumulator.get(), nullptr, &options, &created));
  const UpdaterHandle updater(created);
  EXPECT_EQ(allocations_of(4,
                           [&] {
                             check(gradstep_updater_push(updater.get(), host.params, host.grads, Host::kCount, 1,
                                                         nullptr, nullptr));
                           }),
            0);
}

TEST_P(Allocations, AStepOfShampooMakesNone) {
  auto options = defaults_of(gradstep_shampoo_options_init);
  options.learning_rate = 0.01;
  options.block_size = 16;
  options.preconditioning_compute_steps = 100;  // roots take their scratch when the first are computed
  options.start_preconditioning_step = 1;
  EXPECT_EQ(of_shampoo(options), 0);
  options.quantize_momentum = options.quantize_statistics = 1;
  EXPECT_EQ(of_shampoo(options), 0);
}

/// What train(comm) answers on the first of two ranks, which are threads.
long of_ranks(Host& host, const std::function<long(gradstep_comm*)>& train) {
  gradstep_comm* ranks[2] = {};
  check(gradstep_comm_create_local(host.context.get(), 2, ranks));
  const CommHandle first(ranks[0]);
  const CommHandle second(ranks[1]);
  std::thread other([&] { train(ranks[1]); });
  const long found = train(ranks[0]);
  other.join();
  return found;
}

ReducerHandle make_reducer(Host& host, gradstep_comm* comm, const gradstep_reducer_options& options) {
  gradstep_reducer* created = nullptr;
  check(gradstep_reducer_create(host.context.get(), comm, &options, host.parameters, Host::kCount, &created));
  return ReducerHandle(created);
}

/// The allocations of a bucket that is gathered as a whole, and of one that is cut into pieces. Each rank has a context
/// of its own: that keeps as much scratch as has ever been in use at once.
long of_windows(Host& host, const gradstep_reducer_options& options) {
  return of_ranks(host, [&](gradstep_comm* comm) {
    Host own(host.threads);
    const ReducerHandle reducer = make_reducer(own, comm, options);
    return allocations_of(
        6, [&] { check(gradstep_reducer_reduce(reducer.get(), own.grads, own.updates, Host::kCount, 1, nullptr)); });
  });
}

gradstep_reducer_options reducer_options(std::int32_t mode) {
  auto options = defaults_of(gradstep_reducer_options_init);
  options.mode = mode;
  options.fuse_threshold = 10000;
  return options;
}

TEST_P(Allocations, AWindowOfAReducerMakesNone) {
  for (const std::int32_t mode :
       {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16, GRADSTEP_REDUCER_SPARSE_TOPK,
        GRADSTEP_REDUCER_POWERSGD, GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY}) {
    EXPECT_EQ(of_windows(host, reducer_options(mode)), 0) << "mode " << mode;
  }
  auto options = reducer_options(GRADSTEP_REDUCER_HALF);
  options.half_sum = GRADSTEP_HALF_SUM_FP16_PREDIVIDED;
  EXPECT_EQ(of_windows(host, options), 0);
}

TEST_P(Allocations, AWindowOfASparseReducerMakesNoneInAnyVariant) {
  auto options = reducer_options(GRADSTEP_REDUCER_SPARSE_TOPK);
  options.sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_SPLIT;
  EXPECT_EQ(of_windows(host, options), 0);
  options = reducer_options(GRADSTEP_REDUCER_SPARSE_TOPK);
  options.selection = GRADSTEP_SELECTION_TENSOR;
  options.momentum_correction = 0.9;
  EXPECT_EQ(of_windows(host, options), 0);
  options = reducer_options(GRADSTEP_REDUCER_SPARSE_TOPK);
  options.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
  EXPECT_EQ(of_windows(host, options), 0);
}

TEST_P(Allocations, APushWithLocalStepsMakesNone) {
  for (const std::int32_t sync : {GRADSTEP_SYNC_DELTAS, GRADSTEP_SYNC_PARAMETERS, GRADSTEP_SYNC_PARAMETERS_PARTIAL}) {
    const long found = of_ranks(host, [&](gradstep_comm* comm) {
      Host own(GetParam());
      const OptimizerHandle optimizer = make_adam(own);
      const ReducerHandle reducer = make_reducer(own, comm, reducer_options(GRADSTEP_REDUCER_DENSE));
      auto options = defaults_of(gradstep_updater_options_init);
      options.sync = sync;
      options.sync_steps = 1;
      gradstep_updater* created = nullptr;
      check(gradstep_updater_create(own.context.get(), optimizer.get(), nullptr, reducer.get(), &options, &created));
      const UpdaterHandle updater(created);
      return allocations_of(6, [&] {
        check(gradstep_updater_push(updater.get(), own.params, own.grads, Host::kCount, 1, nullptr, nullptr));
      });
    });
    EXPECT_EQ(found, 0) << "sync " << sync;
  }
}

/// Bytes that operator new gives `count` calls which add a parameter of 4 by 4 each.
long bytes_of_additions(const OptimizerHandle& optimizer, int count) {
  const std::int64_t shape[] = {4, 4};
  gradstep_parameter added{};
  added.struct_size = sizeof added;
  added.shape = shape;
  added.ndim = 2;
  added.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
  added.device = {GRADSTEP_DEVICE_CPU, 0};
  allocated_bytes = 0;
  counting = true;
  for (int i = 0; i < count; ++i) check(gradstep_optimizer_add_parameters(optimizer.get(), &added, 1));
  counting = false;
  return allocated_bytes;
}

/// Lists that double take up to twice as much; copies of all at each call would take 16 times as much.
TEST_P(Allocations, AdditionsTakeMemoryInProportionToWhatIsAdded) {
  auto shampoo = defaults_of(gradstep_shampoo_options_init);
  shampoo.learning_rate = 0.01;
  const auto make = [&](bool is_adam) {
    if (is_adam) return make_adam(host);
    gradstep_optimizer* created = nullptr;
    check(gradstep_optimizer_create_shampoo(host.context.get(), &shampoo, host.parameters, Host::kCount, &created));
    return OptimizerHandle(created);
  };
  for (const bool is_adam : {true, false}) {
    const long few = bytes_of_additions(make(is_adam), 1000);
    EXPECT_LT(bytes_of_additions(make(is_adam), 4000), 8 * few) << is_adam;
    EXPECT_LT(few, is_adam ? 4'000'000 : 12'000'000) << is_adam;
  }
}

/// A context's allocator, whose buffers count as those of operator new.
gradstep_allocator counted_allocator() {
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.allocate = [](void*, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t, void*) -> void* {
    return take(bytes, alignment);
  };
  allocator.deallocate = [](void*, void* data, std::size_t, std::size_t, std::int32_t, std::int32_t, void*) {
    give_back(data);
  };
  return allocator;
}

struct Holding {
  const char* name;
  const char* rule;
  std::vector<gradstep_option> options = {};
  std::int64_t state = 0;  ///< bytes of a parameter's
  double others = 0;       ///< most bytes beside them
};

void PrintTo(const Holding& holding, std::ostream* out) { *out << holding.name; }

class Memory : public testing::TestWithParam<Holding> {};

TEST_P(Memory, OfManySmallParametersIsReported) {
  constexpr std::size_t kMany = 20'000;
  const std::int64_t shape[] = {4, 10};
  std::vector<float> numbers(40, 0.5F);
  std::vector<gradstep_parameter> parameters(kMany);
  std::vector<gradstep_tensor> grads(kMany);
  std::vector<std::vector<float>> values(kMany, numbers);
  for (std::size_t i = 0; i < kMany; ++i) {
    parameters[i].struct_size = sizeof parameters[i];
    parameters[i].shape = grads[i].shape = const_cast<std::int64_t*>(shape);
    parameters[i].ndim = grads[i].ndim = 2;
    parameters[i].dtype = grads[i].dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    parameters[i].device = grads[i].device = {GRADSTEP_DEVICE_CPU, 0};
    grads[i].data = numbers.data();
  }
  std::vector<gradstep_tensor> params = grads;
  for (std::size_t i = 0; i < kMany; ++i) params[i].data = values[i].data();
  const gradstep_allocator allocator = counted_allocator();
  auto context_options = defaults_of(gradstep_context_options_init);
  context_options.num_threads = 1;
  context_options.allocator = &allocator;
  gradstep_context* context = nullptr;
  check(gradstep_context_create(&context_options, &context));
  const ContextHandle owned(context);
  const Holding& holding = GetParam();
  std::vector<gradstep_option> options = holding.options;
  options.push_back({"learning_rate", 0.1, nullptr});
  const long before = live_bytes;
  gradstep_optimizer* created = nullptr;
  check(gradstep_optimizer_create(context, holding.rule, options.data(), options.size(), parameters.data(), kMany,
                                  &created));
  const OptimizerHandle optimizer(created);
  auto step_options = defaults_of(gradstep_step_options_init);
  step_options.max_norm = 1;
  check(gradstep_optimizer_step_ex(created, params.data(), grads.data(), nullptr, kMany, &step_options, nullptr));
  const auto found = static_cast<double>(live_bytes - before);
  gradstep_memory memory{};
  memory.struct_size = sizeof memory;
  check(gradstep_optimizer_memory(created, &memory));
  const auto reported = static_cast<double>(memory.state_bytes + memory.other_bytes);
  EXPECT_NEAR(reported / found, 1, 0.05) << reported << " of " << found;
  EXPECT_EQ(memory.state_bytes, static_cast<std::int64_t>(kMany) * holding.state);
  EXPECT_LT((found - static_cast<double>(memory.state_bytes)) / static_cast<double>(kMany), holding.others);
}

// A parameter has 40 elements of 4 bytes.
INSTANTIATE_TEST_SUITE_P(
    Rules, Memory,
    testing::Values(Holding{.name = "adam", .rule = "adam", .state = 320, .others = 600},
                    Holding{.name = "muon", .rule = "muon", .state = 160, .others = 1300},
                    Holding{.name = "lamb", .rule = "lamb", .state = 320, .others = 1200},
                    Holding{.name = "adafactor", .rule = "adafactor", .state = 56, .others = 1500},
                    Holding{.name = "dion", .rule = "dion", .state = 224, .others = 2700},
                    Holding{.name = "dadapt_adam", .rule = "dadapt_adam", .state = 504, .others = 1900},
                    Holding{.name = "averaged",
                            .rule = "adam",
                            .options = {{"average_decay", 0.9, nullptr}},
                            .state = 488,
                            .others = 1100},
                    Holding{.name = "clipped",
                            .rule = "adam",
                            .options = {{"adaptive_clip", 0.01, nullptr}},
                            .state = 320,
                            .others = 1400},
                    Holding{.name = "centered",
                            .rule = "adam",
                            .options = {{"center_gradients", 1, nullptr}},
                            .state = 320,
                            .others = 1400},
                    Holding{.name = "counted",
                            .rule = "adam",
                            .options = {{"step_counting", 0, "parameter"}},
                            .state = 328,
                            .others = 1100}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Threads, Allocations, ::testing::Values(1, 2));

}  // namespace
}  // namespace gradstep::test
