// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Callbacks of a C++ host that misbehave: they throw, they destroy the handle that called them, they do not do what
// they say. The call fails with CALLBACK or goes on; nothing leaks and nothing ends the process.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gradstep/gradstep.h"

namespace {

void expect_status(gradstep_status expected, const std::string& part, gradstep_status status) {
  EXPECT_STREQ(gradstep_status_name(status), gradstep_status_name(expected)) << gradstep_last_error();
  EXPECT_NE(std::string(gradstep_last_error()).find(part), std::string::npos) << gradstep_last_error();
}
void expect_ok(gradstep_status status) { EXPECT_EQ(status, GRADSTEP_OK) << gradstep_last_error(); }

template <class Options>
Options initial(gradstep_status (*init)(Options*, size_t)) {
  Options options;
  expect_ok(init(&options, sizeof options));
  return options;
}

/// A release callback's user: counts, and throws if asked to.
struct Released {
  int count = 0;
  bool throws = false;

  static void release(void* user) {
    auto& self = *static_cast<Released*>(user);
    ++self.count;
    if (self.throws) throw std::runtime_error("from a release");
  }
};

/// Calls what the test puts in. Large enough parameters that loops go to a host's parallel_for.
class HostCallbacks : public ::testing::Test {
 public:
  gradstep_status rate_value(double& value) { return rate_(value); }

 protected:
  static constexpr int64_t kElements = 200'000;

  HostCallbacks() : values_(kElements, 1.0F), grads_(kElements, 0.5F) {
    parameter_.struct_size = sizeof parameter_;
    parameter_.name = "w";
    parameter_.shape = shape_;
    parameter_.ndim = 1;
    parameter_.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    parameter_.device = {GRADSTEP_DEVICE_CPU, 0};
    param_.data = values_.data();
    param_.device = parameter_.device;
    param_.ndim = 1;
    param_.dtype = parameter_.dtype;
    param_.shape = shape_;
    grad_ = param_;
    grad_.data = grads_.data();
  }
  ~HostCallbacks() override {
    gradstep_updater_destroy(updater_);
    gradstep_reducer_destroy(reducer_);
    gradstep_accumulator_destroy(accumulator_);
    gradstep_optimizer_destroy(optimizer_);
    gradstep_comm_destroy(comm_);
    gradstep_context_destroy(context_);
  }

  void create_context(gradstep_context_options options = initial(gradstep_context_options_init)) {
    options.num_threads = 1;
    expect_ok(gradstep_context_create(&options, &context_));
  }
  /// A context whose loops run as `loop` likes.
  void create_context_with_loop(
      std::function<gradstep_status(int64_t n, const std::function<void(int64_t)>& run)> loop) {
    loop_ = std::move(loop);
    auto options = initial(gradstep_context_options_init);
    options.parallel_for = [](void* user, int64_t n, void (*body)(void*, int64_t), void* body_user) {
      auto& self = *static_cast<HostCallbacks*>(user);
      return self.loop_(n, [&](int64_t i) { body(body_user, i); });
    };
    options.parallel_for_user = this;
    create_context(options);
  }
  void create_sgd() {
    auto options = initial(gradstep_sgd_options_init);
    options.learning_rate = 1;
    options.momentum = 0.5;
    expect_ok(gradstep_optimizer_create_sgd(context_, &options, &parameter_, 1, &optimizer_));
  }
  void create_updater() {
    create_sgd();
    expect_ok(gradstep_accumulator_create(context_, nullptr, &parameter_, 1, &accumulator_));
    expect_ok(gradstep_updater_create(context_, optimizer_, accumulator_, nullptr, nullptr, &updater_));
  }
  void set_rate(std::function<gradstep_status(double&)> rate) {
    rate_ = std::move(rate);
    auto schedule = schedule_of_rate();
    expect_ok(gradstep_optimizer_set_schedule(optimizer_, -1, "learning_rate", &schedule));
  }
  gradstep_schedule schedule_of_rate() {
    auto schedule = initial(gradstep_schedule_init);
    schedule.kind = GRADSTEP_SCHEDULE_CALLBACK;
    schedule.function = [](void* user, int64_t, double* value) {
      return static_cast<HostCallbacks*>(user)->rate_(*value);
    };
    schedule.user = this;
    return schedule;
  }
  gradstep_stream stream_of(std::function<gradstep_status(const void*, size_t)> write) {
    write_ = std::move(write);
    gradstep_stream stream{};
    stream.struct_size = sizeof stream;
    stream.user = this;
    stream.write = [](void* user, const void* data, size_t size) {
      return static_cast<HostCallbacks*>(user)->write_(data, size);
    };
    stream.read = [](void*, void*, size_t, size_t*) -> gradstep_status { throw 7; };
    return stream;
  }

  gradstep_status step() { return gradstep_optimizer_step(optimizer_, &param_, &grad_, 1, nullptr); }
  int64_t step_count() {
    int64_t count = -1;
    expect_ok(gradstep_optimizer_step_count(optimizer_, &count));
    return count;
  }
  /// How many elements a step has moved.
  int64_t moved() const {
    return std::count_if(values_.begin(), values_.end(), [](float v) { return v != 1; });
  }

  int64_t shape_[1] = {kElements};
  std::vector<float> values_;
  std::vector<float> grads_;
  gradstep_parameter parameter_{};
  gradstep_tensor param_{};
  gradstep_tensor grad_{};
  gradstep_context* context_ = nullptr;
  gradstep_optimizer* optimizer_ = nullptr;
  gradstep_accumulator* accumulator_ = nullptr;
  gradstep_updater* updater_ = nullptr;
  gradstep_reducer* reducer_ = nullptr;
  gradstep_comm* comm_ = nullptr;
  std::function<gradstep_status(int64_t, const std::function<void(int64_t)>&)> loop_;
  std::function<gradstep_status(double&)> rate_;
  std::function<gradstep_status(const void*, size_t)> write_;
};

TEST_F(HostCallbacks, AnExceptionOfAScheduleIsCallbackAndNothingMoves) {
  create_context();
  create_sgd();
  set_rate([](double& rate) {
    rate = 1;
    return GRADSTEP_OK;
  });
  rate_ = [](double&) -> gradstep_status { throw std::runtime_error("no rate today"); };
  expect_status(GRADSTEP_ERR_CALLBACK, "threw: no rate today", step());
  rate_ = [](double&) -> gradstep_status { throw 7; };
  expect_status(GRADSTEP_ERR_CALLBACK, "unknown type", step());
  EXPECT_EQ(moved(), 0);
  EXPECT_EQ(step_count(), 0);
  const auto schedule = schedule_of_rate();
  double value = 0;
  expect_status(GRADSTEP_ERR_CALLBACK, "schedule", gradstep_schedule_value(&schedule, 0, &value));
  rate_ = [](double& rate) {
    rate = 1;
    return GRADSTEP_OK;
  };
  expect_ok(step());
  EXPECT_EQ(moved(), kElements);
}

TEST_F(HostCallbacks, AnExceptionOfAStreamIsCallback) {
  create_context();
  create_sgd();
  const auto stream = stream_of([](const void*, size_t) -> gradstep_status { throw std::runtime_error("disk"); });
  expect_status(GRADSTEP_ERR_CALLBACK, "stream.write: the host's function threw: disk",
                gradstep_optimizer_save(optimizer_, &stream));
  expect_status(GRADSTEP_ERR_CALLBACK, "stream.read", gradstep_optimizer_load(optimizer_, &stream, nullptr));
}

TEST_F(HostCallbacks, AnExceptionOfAnAllocatorIsCallbackAndBadAllocIsOutOfMemory) {
  struct Heap {
    int mode = 0;
    Released released;
  } heap;
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = &heap;
  allocator.allocate = [](void* user, size_t bytes, size_t alignment, std::int32_t, std::int32_t, void*) -> void* {
    const int mode = static_cast<Heap*>(user)->mode;
    if (mode == 1) throw std::bad_alloc();
    if (mode == 2) throw std::runtime_error("heap in flames");
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  allocator.deallocate = [](void*, void* data, size_t, size_t, std::int32_t, std::int32_t, void*) {
    std::free(data);
    throw std::runtime_error("nobody listens");
  };
  allocator.release = [](void* user) { Released::release(&static_cast<Heap*>(user)->released); };
  auto options = initial(gradstep_context_options_init);
  options.allocator = &allocator;
  create_context(options);
  create_sgd();
  heap.mode = 1;
  expect_status(GRADSTEP_ERR_OUT_OF_MEMORY, "allocator",
                gradstep_accumulator_create(context_, nullptr, &parameter_, 1, &accumulator_));
  heap.mode = 2;
  expect_status(GRADSTEP_ERR_CALLBACK, "heap in flames",
                gradstep_accumulator_create(context_, nullptr, &parameter_, 1, &accumulator_));
  heap.released.throws = true;
  gradstep_optimizer_destroy(std::exchange(optimizer_, nullptr));
  gradstep_context_destroy(std::exchange(context_, nullptr));
  EXPECT_EQ(heap.released.count, 1);
}

TEST_F(HostCallbacks, AnExceptionOfTheInterruptIsCallback) {
  auto options = initial(gradstep_context_options_init);
  options.interrupt = [](void*) -> int32_t { throw std::runtime_error("control C"); };
  create_context(options);
  gradstep_comm* comms[2] = {};
  auto comm_options = initial(gradstep_comm_options_init);
  comm_options.timeout_ms = 20'000;
  expect_ok(gradstep_comm_create_local_ex(context_, 2, &comm_options, comms));
  expect_status(GRADSTEP_ERR_CALLBACK, "interrupt: the host's function threw: control C",
                gradstep_comm_barrier(comms[0]));
  for (gradstep_comm* comm : comms) gradstep_comm_destroy(comm);
}

TEST_F(HostCallbacks, AReleaseThatThrowsIsCalledOnceAndSurvived) {
  Released log, loop, interrupt, rate, stream_released, vtable_released;
  for (Released* released : {&log, &loop, &interrupt, &rate, &stream_released, &vtable_released})
    released->throws = true;
  auto options = initial(gradstep_context_options_init);
  options.log_user = &log;
  options.parallel_for_user = &loop;
  options.interrupt_user = &interrupt;
  options.log_release = options.parallel_for_release = options.interrupt_release = Released::release;
  create_context(options);
  create_sgd();
  auto schedule = initial(gradstep_schedule_init);
  schedule.user = &rate;
  schedule.release = Released::release;
  expect_ok(gradstep_optimizer_set_schedule(optimizer_, -1, "learning_rate", &schedule));
  expect_ok(gradstep_optimizer_set_value(optimizer_, -1, "learning_rate", 1));
  EXPECT_EQ(rate.count, 1);
  auto stream = stream_of([](const void*, size_t) { return GRADSTEP_OK; });
  stream.user = this;
  expect_ok(gradstep_optimizer_save(optimizer_, &stream));
  stream.user = &stream_released;
  stream.write = [](void*, const void*, size_t) -> gradstep_status { return GRADSTEP_OK; };
  stream.release = Released::release;
  expect_ok(gradstep_optimizer_save(optimizer_, &stream));
  EXPECT_EQ(stream_released.count, 1);
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  vtable.world_size = 0;
  vtable.release = Released::release;
  expect_status(GRADSTEP_ERR_INVALID_ARGUMENT, "vtable",
                gradstep_comm_create_host(context_, &vtable, &vtable_released, &comm_));
  EXPECT_EQ(vtable_released.count, 1);
  gradstep_optimizer_destroy(std::exchange(optimizer_, nullptr));
  gradstep_context_destroy(std::exchange(context_, nullptr));
  EXPECT_EQ(log.count, 1);
  EXPECT_EQ(loop.count, 1);
  EXPECT_EQ(interrupt.count, 1);
}

TEST_F(HostCallbacks, AHandleMayBeDestroyedByTheCallbackOfItsOwnCall) {
  create_context();
  create_sgd();
  Released rate;
  int64_t count = 0;
  rate_ = [&](double& value) {
    gradstep_optimizer_destroy(optimizer_);
    gradstep_optimizer_destroy(optimizer_);  // in vain
    expect_status(GRADSTEP_ERR_INVALID_ARGUMENT, "destroyed", gradstep_optimizer_step_count(optimizer_, &count));
    EXPECT_EQ(rate.count, 0) << "the call is still inside";
    value = 1;
    return GRADSTEP_OK;
  };
  auto schedule = schedule_of_rate();
  struct User {
    HostCallbacks* test;
    Released* released;
  } user{this, &rate};
  schedule.user = &user;
  schedule.function = [](void* u, int64_t, double* value) { return static_cast<User*>(u)->test->rate_value(*value); };
  schedule.release = [](void* u) { Released::release(static_cast<User*>(u)->released); };
  expect_ok(gradstep_optimizer_set_schedule(optimizer_, -1, "learning_rate", &schedule));
  expect_ok(step());
  optimizer_ = nullptr;
  EXPECT_EQ(moved(), kElements) << "a call that has begun is finished";
  EXPECT_EQ(rate.count, 1);
}

TEST_F(HostCallbacks, AHandleMayBeDestroyedWhileItIsSaved) {
  create_context();
  create_updater();
  size_t bytes = 0;
  const auto updater_stream = stream_of([&](const void*, size_t size) {
    gradstep_updater_destroy(std::exchange(updater_, nullptr));
    bytes += size;
    return GRADSTEP_OK;
  });
  expect_ok(gradstep_updater_save(updater_, &updater_stream));
  EXPECT_GT(bytes, kElements * sizeof(float));
  const auto stream = stream_of([&](const void*, size_t) {
    gradstep_optimizer_destroy(std::exchange(optimizer_, nullptr));
    gradstep_context_destroy(std::exchange(context_, nullptr));
    return GRADSTEP_OK;
  });
  expect_ok(gradstep_optimizer_save(optimizer_, &stream));
}

TEST_F(HostCallbacks, TheHandlesOfAChainAreInUseWhileItIsSaved) {
  create_context();
  create_updater();
  const auto stream = stream_of([&](const void*, size_t) {
    // Would move the state that is being written.
    expect_status(GRADSTEP_ERR_INVALID_STATE, "a call of this thread",
                  gradstep_optimizer_set_step_count(optimizer_, 1));
    expect_status(GRADSTEP_ERR_INVALID_STATE, "a call of this thread",
                  gradstep_accumulator_reset(accumulator_, nullptr));
    return GRADSTEP_OK;
  });
  expect_ok(gradstep_updater_save(updater_, &stream));
}

TEST_F(HostCallbacks, EveryHandleOfAChainMayBeDestroyedInItsStep) {
  create_context_with_loop([&](int64_t n, const std::function<void(int64_t)>& run) {
    gradstep_updater_destroy(std::exchange(updater_, nullptr));
    gradstep_accumulator_destroy(std::exchange(accumulator_, nullptr));
    gradstep_optimizer_destroy(std::exchange(optimizer_, nullptr));
    gradstep_context_destroy(std::exchange(context_, nullptr));
    for (int64_t i = 0; i < n; ++i) run(i);
    return GRADSTEP_OK;
  });
  create_updater();
  int32_t applied = 0;
  expect_ok(gradstep_updater_push(updater_, &param_, &grad_, 1, 1, nullptr, &applied));
  EXPECT_EQ(applied, 1);
  EXPECT_EQ(moved(), kElements);
}

TEST_F(HostCallbacks, AnotherThreadMayDestroyAHandleThatWaits) {
  std::atomic<bool> waits{false};
  auto context_options = initial(gradstep_context_options_init);
  context_options.interrupt_user = &waits;
  context_options.interrupt = [](void* user) -> int32_t {
    *static_cast<std::atomic<bool>*>(user) = true;
    return 0;
  };
  create_context(context_options);
  gradstep_comm* comms[2] = {};
  auto options = initial(gradstep_comm_options_init);
  options.timeout_ms = 20'000;
  expect_ok(gradstep_comm_create_local_ex(context_, 2, &options, comms));
  gradstep_status status = GRADSTEP_ERR_INTERNAL;
  std::thread waiting([&] { status = gradstep_comm_barrier(comms[0]); });
  while (!waits) std::this_thread::yield();
  gradstep_comm_destroy(comms[0]);
  expect_status(GRADSTEP_ERR_INVALID_ARGUMENT, "destroyed", gradstep_comm_abort(comms[0]));
  expect_ok(gradstep_comm_barrier(comms[1]));
  waiting.join();
  expect_ok(status);
  gradstep_comm_destroy(comms[1]);
}

TEST_F(HostCallbacks, ALoopThatRunsNothingIsNoStep) {
  create_context_with_loop([](int64_t, const auto&) { return GRADSTEP_OK; });
  create_sgd();
  expect_status(GRADSTEP_ERR_CALLBACK, "parallel_for ran 0 indices, expected 13", step());
  EXPECT_EQ(moved(), 0);
  EXPECT_EQ(step_count(), 0);
  loop_ = [](int64_t n, const auto& run) {
    for (int64_t i = n; i-- > 0;) run(i);
    return GRADSTEP_OK;
  };
  expect_ok(step());  // nothing had begun: nothing is lost
  EXPECT_EQ(moved(), kElements);
}

TEST_F(HostCallbacks, ALoopThatRunsOtherIndicesIsNoStep) {
  create_context_with_loop([](int64_t n, const auto& run) {
    for (int64_t i = 1; i <= n; ++i) run(i);
    return GRADSTEP_OK;
  });
  create_sgd();
  expect_status(GRADSTEP_ERR_CALLBACK, "index 13 out of range, expected each from 0 to 12 once", step());
  EXPECT_EQ(step_count(), 0);
}

TEST_F(HostCallbacks, ALoopThatRunsAnIndexTwiceIsNoStep) {
  create_context_with_loop([](int64_t n, const auto& run) {
    for (int64_t i = 0; i < n; ++i) run(i);
    run(3);
    return GRADSTEP_OK;
  });
  create_sgd();
  expect_status(GRADSTEP_ERR_CALLBACK, "index 3 twice, expected each from 0 to 12 once", step());
  for (const float value : values_) EXPECT_EQ(value, 0.5F) << "no element was stepped twice";
  EXPECT_EQ(step_count(), 0);
}

TEST_F(HostCallbacks, AfterHalfAStepNothingIsTakenUntilStateIsLoaded) {
  create_context_with_loop([](int64_t n, const auto& run) {
    for (int64_t i = 0; i < n; ++i) run(i);
    return GRADSTEP_OK;
  });
  create_sgd();
  std::string saved;
  const auto stream = stream_of([&](const void* data, size_t size) {
    saved.append(static_cast<const char*>(data), size);
    return GRADSTEP_OK;
  });
  expect_ok(gradstep_optimizer_save(optimizer_, &stream));
  const auto good = loop_;
  loop_ = [](int64_t n, const auto& run) -> gradstep_status {
    for (int64_t i = 0; i < n / 2; ++i) run(i);
    throw std::runtime_error("half-way");
  };
  expect_status(GRADSTEP_ERR_CALLBACK, "parallel_for: the host's function threw: half-way", step());
  loop_ = good;
  EXPECT_GT(moved(), 0);
  EXPECT_LT(moved(), kElements);
  EXPECT_EQ(step_count(), 0);
  expect_status(GRADSTEP_ERR_INVALID_STATE, "half-way: load", step());
  expect_status(GRADSTEP_ERR_INVALID_STATE, "half-way: load", gradstep_optimizer_save(optimizer_, &stream));
  gradstep_optimizer* torn = std::exchange(optimizer_, nullptr);
  create_sgd();
  expect_status(GRADSTEP_ERR_INVALID_STATE, "half-way: load", gradstep_optimizer_copy_state(optimizer_, torn));
  expect_ok(gradstep_optimizer_copy_state(torn, optimizer_));
  gradstep_optimizer_destroy(std::exchange(optimizer_, torn));
  expect_ok(step());  // whole again
  loop_ = [](int64_t, const auto& run) -> gradstep_status {
    run(0);
    return GRADSTEP_OK;
  };
  expect_status(GRADSTEP_ERR_CALLBACK, "ran 1 indices", step());
  loop_ = good;

  size_t at = 0;
  struct Source {
    const std::string& bytes;
    size_t& at;
  } source{saved, at};
  gradstep_stream from{};
  from.struct_size = sizeof from;
  from.user = &source;
  from.read = [](void* user, void* data, size_t size, size_t* got) -> gradstep_status {
    auto& s = *static_cast<Source*>(user);
    *got = std::min(size, s.bytes.size() - s.at);
    std::memcpy(data, s.bytes.data() + s.at, *got);
    s.at += *got;
    return GRADSTEP_OK;
  };
  expect_ok(gradstep_optimizer_load(optimizer_, &from, nullptr));
  std::fill(values_.begin(), values_.end(), 1.0F);
  expect_ok(step());
  EXPECT_EQ(std::count(values_.begin(), values_.end(), 0.5F), kElements);
  EXPECT_EQ(step_count(), 1);
}

TEST_F(HostCallbacks, AfterHalfAnAddNothingIsTakenUntilTheWindowIsReset) {
  const auto whole = [](int64_t n, const auto& run) {
    for (int64_t i = 0; i < n; ++i) run(i);
    return GRADSTEP_OK;
  };
  create_context_with_loop(whole);
  auto options = initial(gradstep_accumulator_options_init);
  options.steps = 2;
  expect_ok(gradstep_accumulator_create(context_, &options, &parameter_, 1, &accumulator_));
  const auto add = [&] {
    int32_t ready = 0;
    const gradstep_status status = gradstep_accumulator_add(accumulator_, &grad_, 1, 1, nullptr, &ready);
    return status == GRADSTEP_OK ? ready : status;
  };
  EXPECT_EQ(add(), 0);
  loop_ = [](int64_t n, const auto& run) {
    for (int64_t i = 0; i < n / 2; ++i) run(i);
    return GRADSTEP_OK;
  };
  expect_status(GRADSTEP_ERR_CALLBACK, "parallel_for ran 6 indices, expected 13", add());
  loop_ = whole;
  gradstep_tensor view{};
  expect_status(GRADSTEP_ERR_INVALID_STATE, "reset drops the window", add());
  expect_status(GRADSTEP_ERR_INVALID_STATE, "reset", gradstep_accumulator_flush(accumulator_, nullptr, nullptr));
  expect_status(GRADSTEP_ERR_INVALID_STATE, "reset", gradstep_accumulator_gradients(accumulator_, &view, 1, nullptr));
  const auto stream = stream_of([](const void*, size_t) { return GRADSTEP_OK; });
  expect_status(GRADSTEP_ERR_INVALID_STATE, "reset", gradstep_accumulator_save(accumulator_, &stream));
  expect_ok(gradstep_accumulator_reset(accumulator_, nullptr));
  EXPECT_EQ(add(), 0);
  EXPECT_EQ(add(), 1);
  expect_ok(gradstep_accumulator_gradients(accumulator_, &view, 1, nullptr));
  const auto* mean = static_cast<const float*>(view.data);
  EXPECT_EQ(std::count(mean, mean + kElements, 0.5F), kElements);
}

}  // namespace
