// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What optimizers of many small parameters take, beside what gradstep_optimizer_memory says.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <vector>

#include "allocations/counted_memory.h"
#include "tests/handles.h"

namespace gradstep::test {

inline constexpr std::int64_t kHeldShape[] = {4, 10};  // of f32
inline constexpr std::size_t kHeldElements = 40;

struct Holding {
  const char* name;
  const char* rule;
  std::vector<gradstep_option> options = {};
  std::int64_t state = 0;  ///< bytes of a parameter's
  double others = 0;       ///< most bytes beside them, on a CPU
};

inline void PrintTo(const Holding& holding, std::ostream* out) { *out << holding.name; }

inline const std::vector<Holding> kHoldings = {
    {.name = "adam", .rule = "adam", .state = 320, .others = 600},
    {.name = "muon", .rule = "muon", .state = 160, .others = 1300},
    {.name = "lamb", .rule = "lamb", .state = 320, .others = 1200},
    {.name = "adafactor", .rule = "adafactor", .state = 56, .others = 1500},
    {.name = "dion", .rule = "dion", .state = 224, .others = 2700},
    {.name = "dadapt_adam", .rule = "dadapt_adam", .state = 504, .others = 1900},
    {.name = "averaged", .rule = "adam", .options = {{"average_decay", 0.9, nullptr}}, .state = 488, .others = 1100},
    {.name = "clipped", .rule = "adam", .options = {{"adaptive_clip", 0.01, nullptr}}, .state = 320, .others = 1400},
    {.name = "centered", .rule = "adam", .options = {{"center_gradients", 1, nullptr}}, .state = 320, .others = 1400},
    {.name = "counted", .rule = "adam", .options = {{"step_counting", 0, "parameter"}}, .state = 328, .others = 1100}};

/// Where an optimizer works.
struct Place {
  gradstep_device device;
  gradstep_allocator allocator;                           ///< whose buffers are counted
  std::function<float*(std::size_t count)> make_numbers;  ///< finite ones, which stay
  std::function<void()> finish = [] {};                   ///< all that is queued there
};

struct Held {
  std::int64_t state = 0;   ///< as the optimizer says
  std::int64_t beside = 0;  ///< likewise
  std::int64_t taken = 0;   ///< counted

  double others() const { return static_cast<double>(taken - state); }
  Held operator-(const Held& less) const { return {state - less.state, beside - less.beside, taken - less.taken}; }
  void expect_reported(const Holding& holding, std::size_t parameters) const {
    const auto reported = static_cast<double>(state + beside);
    EXPECT_NEAR(reported / static_cast<double>(taken), 1, 0.03) << reported << " of " << taken;
    EXPECT_EQ(state, static_cast<std::int64_t>(parameters) * holding.state);
  }
};

/// After a step whose norm is bounded: what `parameters` are held by, beside what one parameter needs, workspaces of
/// libraries for example.
inline Held held_by_optimizer(const Holding& holding, std::size_t parameters, const Place& place) {
  ++parameters;
  std::vector<gradstep_parameter> described(parameters);
  std::vector<gradstep_tensor> grads(parameters);
  float* const values = place.make_numbers(parameters * kHeldElements);
  float* const gradient = place.make_numbers(kHeldElements);
  for (std::size_t i = 0; i < parameters; ++i) {
    described[i].struct_size = sizeof described[i];
    described[i].shape = grads[i].shape = const_cast<std::int64_t*>(kHeldShape);
    described[i].ndim = grads[i].ndim = 2;
    described[i].dtype = grads[i].dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    described[i].device = grads[i].device = place.device;
    grads[i].data = gradient;
  }
  std::vector<gradstep_tensor> params = grads;
  for (std::size_t i = 0; i < parameters; ++i) params[i].data = values + i * kHeldElements;
  auto context_options = gradstep_handles::defaults_of(gradstep_context_options_init);
  context_options.num_threads = 1;
  context_options.allocator = &place.allocator;
  gradstep_context* context = nullptr;
  gradstep_handles::check(gradstep_context_create(&context_options, &context));
  const gradstep_handles::ContextHandle owned(context);
  std::vector<gradstep_option> options = holding.options;
  options.push_back({"learning_rate", 0.1, nullptr});
  std::vector<gradstep_handles::OptimizerHandle> optimizers;  // all stay: none has what another one has given back
  optimizers.reserve(3);
  const auto step = [&](std::size_t count) {
    const long before = live_bytes();
    gradstep_optimizer* created = nullptr;
    gradstep_handles::check(gradstep_optimizer_create(context, holding.rule, options.data(), options.size(),
                                                      described.data(), count, &created));
    optimizers.emplace_back(created);
    auto step_options = gradstep_handles::defaults_of(gradstep_step_options_init);
    step_options.max_norm = 1;
    gradstep_handles::check(
        gradstep_optimizer_step_ex(created, params.data(), grads.data(), nullptr, count, &step_options, nullptr));
    place.finish();
    Held held{.taken = live_bytes() - before};
    gradstep_memory memory{};
    memory.struct_size = sizeof memory;
    gradstep_handles::check(gradstep_optimizer_memory(created, &memory));
    held.state = memory.state_bytes;
    held.beside = memory.other_bytes;
    return held;
  };
  step(1);  // the context takes what it needs itself
  const Held one = step(1);
  return step(parameters) - one;
}

}  // namespace gradstep::test
