// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A call in which one allocation, thread or file operation fails returns a status with a text; repeated, it does what
// it would have done, to the bit; and nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kth/failing_system.h"
#include "tests/handles.h"
#include "tests/host_model.h"

namespace gradstep::test {
namespace {

using namespace gradstep_handles;

/// How many k of a call are tried, unless GRADSTEP_KTH=all.
constexpr long kSample = 40;

struct Host : HostModel {
  explicit Host(int threads) : context(make_context(threads)) {}
  ContextHandle context;
};

struct Bytes {
  std::string data;
  std::size_t at = 0;

  gradstep_stream stream() {
    gradstep_stream s{};
    s.struct_size = sizeof s;
    s.user = this;
    s.write = [](void* user, const void* from, std::size_t size) -> gradstep_status {
      auto* to = static_cast<Bytes*>(user);
      if (to->data.capacity() < to->data.size() + size) return GRADSTEP_ERR_IO;  // room is made before
      to->data.append(static_cast<const char*>(from), size);
      return GRADSTEP_OK;
    };
    s.read = [](void* user, void* into, std::size_t size, std::size_t* got) -> gradstep_status {
      auto* from = static_cast<Bytes*>(user);
      *got = std::min(size, from->data.size() - from->at);
      std::memcpy(into, from->data.data() + from->at, *got);
      from->at += *got;
      return GRADSTEP_OK;
    };
    return s;
  }
};

/// All handles of a host; a scenario uses some.
struct World {
  World() : host(2) { saved.data.reserve(std::size_t{1} << 22); }

  Host host;
  OptimizerHandle optimizer;
  AccumulatorHandle accumulator;
  CommHandle comm;
  ReducerHandle reducer;
  UpdaterHandle updater;
  Bytes saved;

  gradstep_status step() {
    return gradstep_optimizer_step(optimizer.get(), host.params, host.grads, Host::kCount, nullptr);
  }
  gradstep_status add() {
    std::int32_t ready = 0;
    return gradstep_accumulator_add(accumulator.get(), host.grads, Host::kCount, 1, nullptr, &ready);
  }
  gradstep_status push() {
    return gradstep_updater_push(updater.get(), host.params, host.grads, Host::kCount, 1, nullptr, nullptr);
  }
  gradstep_status reduce() {
    return gradstep_reducer_reduce(reducer.get(), host.grads, host.params, Host::kCount, 1, nullptr);
  }
  gradstep_status save() {
    saved.data.clear();
    const gradstep_stream stream = saved.stream();
    return updater       ? gradstep_updater_save(updater.get(), &stream)
           : optimizer   ? gradstep_optimizer_save(optimizer.get(), &stream)
           : accumulator ? gradstep_accumulator_save(accumulator.get(), &stream)
                         : gradstep_reducer_save(reducer.get(), &stream);
  }
  gradstep_status load() {
    saved.at = 0;
    const gradstep_stream stream = saved.stream();
    return updater       ? gradstep_updater_load(updater.get(), &stream, nullptr)
           : optimizer   ? gradstep_optimizer_load(optimizer.get(), &stream, nullptr)
           : accumulator ? gradstep_accumulator_load(accumulator.get(), &stream, nullptr)
                         : gradstep_reducer_load(reducer.get(), &stream, nullptr);
  }

  /// Parameters, and whatever is saved.
  std::string outcome() {
    std::string all;
    if (optimizer || accumulator || reducer) {
      check(save());
      all = saved.data;
    }
    for (const std::vector<float>& numbers : host.values) {
      all.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
    }
    return all;
  }
};

using Call = std::function<gradstep_status(World&)>;

std::ptrdiff_t descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return std::distance(begin(open), end(open));
}

/// `call` in a world that `prepare` has made, with failures of one kind; `repeat` is the call that the host makes then.
void fail_in_turn(Failing kind, const Call& prepare, const Call& call, const Call& repeat) {
  gradstep_set_last_error(std::string(4096, 'x').c_str());  // its room stays
  const auto make = [&] {
    auto world = std::make_unique<World>();
    check(prepare(*world));
    return world;
  };
  std::string expected;
  for (int i = 0; i < 2; ++i) {  // what is made once in a process is there after the first
    const auto world = make();
    check(call(*world));
    expected = world->outcome();
  }
  long count = 0;
  {
    const auto world = make();
    arm(kind, 0);
    const gradstep_status status = call(*world);
    count = disarm();
    check(status);
  }
  const char* wanted = std::getenv("GRADSTEP_KTH");
  const bool all = wanted != nullptr && std::string(wanted) == "all";
  const long stride = all ? 1 : std::max(1L, count / kSample);
  for (long k = 1; k <= count; k += stride) {
    const long blocks = live_blocks();
    const std::ptrdiff_t files = descriptors();
    {
      const auto world = make();
      arm(kind, k);
      const gradstep_status status = call(*world);
      disarm();
      if (status != GRADSTEP_OK) {
        EXPECT_TRUE(status == GRADSTEP_ERR_OUT_OF_MEMORY || (kind == Failing::files && status == GRADSTEP_ERR_IO))
            << "k = " << k << ": " << gradstep_status_name(status) << ": " << gradstep_last_error();
        EXPECT_STRNE(gradstep_last_error(), "") << "k = " << k;
        const gradstep_status again = repeat(*world);
        ASSERT_EQ(again, GRADSTEP_OK) << "k = " << k << ", again: " << gradstep_last_error();
      }
      EXPECT_EQ(world->outcome() == expected, true) << "k = " << k << ": other bits";
    }
    EXPECT_EQ(live_blocks(), blocks) << "k = " << k;
    EXPECT_EQ(descriptors(), files) << "k = " << k;
  }
}

void fail_in_turn(Failing kind, const Call& prepare, const Call& call) { fail_in_turn(kind, prepare, call, call); }

/// An optimizer by one of the gradstep_optimizer_create_* and their options.
template <class Options, class Create>
gradstep_status make_optimizer(World& world, Create create, const Options& options) {
  gradstep_optimizer* made = nullptr;
  const gradstep_status status = create(world.host.context.get(), &options, world.host.parameters, Host::kCount, &made);
  world.optimizer.reset(made);
  return status;
}

gradstep_status adam(World& world, std::int32_t state_dtype = GRADSTEP_STATE_DTYPE_NATIVE) {
  auto options = defaults_of(gradstep_adam_options_init);
  options.learning_rate = 0.01;
  options.state_dtype = state_dtype;
  return make_optimizer(world, gradstep_optimizer_create_adam, options);
}

gradstep_status sgd(World& world) {
  auto options = defaults_of(gradstep_sgd_options_init);
  options.learning_rate = 0.01;
  options.momentum = 0.9;
  return make_optimizer(world, gradstep_optimizer_create_sgd, options);
}

gradstep_status rmsprop(World& world) {
  auto options = defaults_of(gradstep_rmsprop_options_init);
  options.learning_rate = 0.01;
  options.centered = 1;
  options.momentum = 0.9;
  return make_optimizer(world, gradstep_optimizer_create_rmsprop, options);
}

gradstep_status adagrad(World& world) {
  auto options = defaults_of(gradstep_adagrad_options_init);
  options.learning_rate = 0.01;
  return make_optimizer(world, gradstep_optimizer_create_adagrad, options);
}

using ChangeShampoo = std::function<void(gradstep_shampoo_options&)>;

gradstep_status shampoo(World& world, const ChangeShampoo& change) {
  auto options = defaults_of(gradstep_shampoo_options_init);
  options.learning_rate = 0.01;
  options.block_size = 36;
  options.start_preconditioning_step = 1;
  change(options);
  return make_optimizer(world, gradstep_optimizer_create_shampoo, options);
}

gradstep_status accumulator(World& world) {
  auto options = defaults_of(gradstep_accumulator_options_init);
  options.steps = 2;
  gradstep_accumulator* made = nullptr;
  const gradstep_status status =
      gradstep_accumulator_create(world.host.context.get(), &options, world.host.parameters, Host::kCount, &made);
  world.accumulator.reset(made);
  return status;
}

gradstep_status reducer(World& world, std::int32_t mode) {
  gradstep_comm* ranks[1] = {};
  check(gradstep_comm_create_local(world.host.context.get(), 1, ranks));
  world.comm.reset(ranks[0]);
  auto options = defaults_of(gradstep_reducer_options_init);
  options.mode = mode;
  gradstep_reducer* made = nullptr;
  const gradstep_status status =
      gradstep_reducer_create(world.host.context.get(), ranks[0], &options, world.host.parameters, Host::kCount, &made);
  world.reducer.reset(made);
  return status;
}

gradstep_status updater(World& world) {
  check(adam(world));
  check(accumulator(world));
  auto options = defaults_of(gradstep_updater_options_init);
  options.max_norm = 1;
  gradstep_updater* made = nullptr;
  const gradstep_status status = gradstep_updater_create(world.host.context.get(), world.optimizer.get(),
                                                         world.accumulator.get(), nullptr, &options, &made);
  world.updater.reset(made);
  return status;
}

const Call kNothingYet = [](World&) { return GRADSTEP_OK; };
const Call kStep = [](World& world) { return world.step(); };
const Call kSave = [](World& world) { return world.save(); };
const Call kLoad = [](World& world) { return world.load(); };

/// `make`, and `call` so many times.
Call after(const Call& make, int times, const Call& call) {
  return [=](World& world) {
    gradstep_status status = make(world);
    for (int i = 0; i < times && status == GRADSTEP_OK; ++i) status = call(world);
    return status;
  };
}

class Kth : public ::testing::TestWithParam<Failing> {};

TEST_P(Kth, AFirstOrderOptimizer) {
  for (const Call& make : {Call(sgd), Call(rmsprop), Call(adagrad), Call([](World& world) { return adam(world); }),
                           Call([](World& world) { return adam(world, GRADSTEP_STATE_DTYPE_INT8); })}) {
    fail_in_turn(GetParam(), kNothingYet, make);
    fail_in_turn(GetParam(), make, kStep);
    fail_in_turn(GetParam(), after(make, 1, kStep), kSave);
    fail_in_turn(GetParam(), after(after(make, 1, kStep), 1, kSave), kLoad);
  }
}

TEST_P(Kth, Shampoo) {
  const ChangeShampoo variants[] = {
      [](gradstep_shampoo_options&) {},
      [](gradstep_shampoo_options& options) { options.eigenvalue_corrected = 1; },
      [](gradstep_shampoo_options& options) { options.root_lag = 2; },
      [](gradstep_shampoo_options& options) { options.quantize_momentum = options.quantize_statistics = 1; },
  };
  for (const ChangeShampoo& change : variants) {
    SCOPED_TRACE("variant " + std::to_string(&change - variants));
    const Call make = [&](World& world) { return shampoo(world, change); };
    fail_in_turn(GetParam(), kNothingYet, make);
    for (int steps = 0; steps < 3; ++steps) {
      SCOPED_TRACE("after " + std::to_string(steps) + " steps");
      fail_in_turn(GetParam(), after(make, steps, kStep), kStep);
    }
    fail_in_turn(GetParam(), after(make, 2, kStep), kSave);
    fail_in_turn(GetParam(), after(after(make, 2, kStep), 1, kSave), kLoad);
  }
}

TEST_P(Kth, AnAccumulator) {
  const Call add = [](World& world) { return world.add(); };
  fail_in_turn(GetParam(), kNothingYet, accumulator);
  fail_in_turn(GetParam(), accumulator, add);
  fail_in_turn(GetParam(), after(accumulator, 1, add), add);
  fail_in_turn(GetParam(), after(accumulator, 1, add), kSave);
  fail_in_turn(GetParam(), after(after(accumulator, 1, add), 1, kSave), kLoad);
}

TEST_P(Kth, AReducer) {
  for (const std::int32_t mode :
       {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16, GRADSTEP_REDUCER_SPARSE_TOPK,
        GRADSTEP_REDUCER_SPARSE_THRESHOLD, GRADSTEP_REDUCER_POWERSGD, GRADSTEP_REDUCER_ADASUM_TREE,
        GRADSTEP_REDUCER_ADASUM_NWAY}) {
    const Call make = [&](World& world) { return reducer(world, mode); };
    const Call reduce = [](World& world) { return world.reduce(); };
    fail_in_turn(GetParam(), make, reduce);
    fail_in_turn(GetParam(), after(make, 1, reduce), reduce);
    fail_in_turn(GetParam(), after(make, 1, reduce), kSave);
    fail_in_turn(GetParam(), after(after(make, 1, reduce), 1, kSave), kLoad);
  }
}

TEST_P(Kth, AnUpdater) {
  const Call push = [](World& world) { return world.push(); };
  // A window that is full when the call fails waits for a flush.
  const Call repeat = [](World& world) {
    const gradstep_status status = world.push();
    return status == GRADSTEP_ERR_INVALID_STATE
               ? gradstep_updater_flush(world.updater.get(), world.host.params, Host::kCount, nullptr, nullptr)
               : status;
  };
  for (int pushes = 0; pushes < 4; ++pushes) fail_in_turn(GetParam(), after(updater, pushes, push), push, repeat);
  fail_in_turn(GetParam(), after(updater, 3, push), kSave);
  fail_in_turn(GetParam(), after(after(updater, 3, push), 1, kSave), kLoad);
}

TEST_P(Kth, AFile) {
  const std::string path = ::testing::TempDir() + "kth." + std::to_string(static_cast<int>(GetParam()));
  const Call make = [](World& world) { return adam(world); };
  const Call save = [&](World& world) { return gradstep_optimizer_save_file(world.optimizer.get(), path.c_str()); };
  fail_in_turn(GetParam(), make, save);
  fail_in_turn(GetParam(), make, [&](World& world) {
    return gradstep_optimizer_load_file(world.optimizer.get(), path.c_str(), nullptr);
  });
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

INSTANTIATE_TEST_SUITE_P(Fails, Kth, ::testing::Values(Failing::memory, Failing::threads, Failing::files),
                         [](const auto& chosen) -> std::string {
                           return chosen.param == Failing::memory    ? "memory"
                                  : chosen.param == Failing::threads ? "threads"
                                                                     : "files";
                         });

}  // namespace
}  // namespace gradstep::test
