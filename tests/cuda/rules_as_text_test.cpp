// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules that are written as text, on the device: printed, compiled and launched, with the bits that the CPU's
// interpreter has.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "cuda/emulated_device.h"
#include "cuda/on_device.h"

namespace gradstep::test {
namespace {

constexpr const char* kEverything = R"(
    rule cuda_everything
    hyper learning_rate; a = 0.9
    state m, v unsigned, w
    c = g * g
    m = a * m + (1 - a) * g
    v = max(a * v, abs(g))
    w = select(g > p, w + 1, -w)
    u = sign(m) * sqrt(v) + exp(-abs(g)) + log(v + 1) + abs(g)^0.3 + g^5 + min(g, p) + (g <= p)
    u = u + (g == w) * 2 + (g != 0) - clamp(g, -0.5, 0.5) / (1 + c) + 0.5^t - (p < 0)
    p = p * 0.99 - learning_rate * u * m - u / 3)";

constexpr const char* kLamb = R"(
    rule cuda_lamb
    hyper learning_rate; beta1 = 0.9 in [0, 1); beta2 = 0.999 in [0, 1); epsilon = 1e-6; decay = 0.1
    state m; v unsigned
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g^2
    u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + decay * p
    r = select(norm(p) > 0, select(norm(u) > 0, norm(p) / norm(u), 1), 1)
    p = p - learning_rate * r * u)";

/// Sums of a tensor and of the model in one rule.
constexpr const char* kSums = R"(
    rule cuda_sums
    hyper learning_rate
    state m
    m = 0.5 * m + (g - mean(g))
    p = p - learning_rate * m / sqrt(model_sum(g * g) + sum(abs(p))))";

constexpr std::int64_t kSizes[] = {37, 20000};  // the second is more than a chunk
constexpr gradstep_dtype kF32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
constexpr gradstep_dtype kF64 = {GRADSTEP_TYPE_FLOAT, 64, 1};
constexpr gradstep_dtype kBf16 = {GRADSTEP_TYPE_BFLOAT, 16, 1};

struct Case {
  const char* text;
  gradstep_dtype dtype = kF32;
  std::vector<gradstep_option> options = {};
};

/// The bytes of the parameters after four steps, the second tensor of which are in group 1.
std::vector<std::byte> steps_on(gradstep_context* context, gradstep_device device, const Case& each) {
  const char* name = nullptr;
  TestDevice::check(gradstep_rule_define(context, each.text, &name));
  gradstep_parameter parameters[] = {parameter_of(kSizes[0], device), parameter_of(kSizes[1], device)};
  for (gradstep_parameter& parameter : parameters) parameter.dtype = each.dtype;
  parameters[1].group = 1;
  std::vector<gradstep_option> options = each.options;
  options.push_back({"learning_rate", 0.1, nullptr});
  gradstep_optimizer* optimizer = nullptr;
  TestDevice::check(
      gradstep_optimizer_create(context, name, options.data(), options.size(), parameters, 2, &optimizer));
  if (optimizer == nullptr) return {};
  gradstep_schedule schedule{};
  TestDevice::check(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.kind = GRADSTEP_SCHEDULE_POLYNOMIAL;
  schedule.init_value = 0.2;
  schedule.end_value = 0.1;
  schedule.decay_steps = 3;
  TestDevice::check(gradstep_optimizer_set_schedule(optimizer, 1, "learning_rate", &schedule));
  const std::size_t bytes = each.dtype.bits / 8;
  const auto numbers = [&](std::size_t tensor, int seed) {
    std::vector<std::byte> values(static_cast<std::size_t>(kSizes[tensor]) * bytes);
    for (std::size_t i = 0; i < values.size() / bytes; ++i) {
      const auto k = static_cast<int>((i * 7919 + static_cast<std::size_t>(seed) * 131) % 2001) - 1000;
      const double wide = k * (i % 5 == 0 ? 1e-4 : 1e-3);
      const auto narrow = static_cast<float>(wide);
      if (bytes == 8) {
        std::memcpy(values.data() + i * bytes, &wide, bytes);
      } else {  // of bf16, the upper half
        std::memcpy(values.data() + i * bytes, reinterpret_cast<const std::byte*>(&narrow) + 4 - bytes, bytes);
      }
    }
    return values;
  };
  std::vector<std::byte> params[] = {numbers(0, 1), numbers(1, 2)};
  const auto tensor_of = [&](std::vector<std::byte>& values, std::size_t k) {
    gradstep_tensor tensor{};
    tensor.data = values.data();
    tensor.shape = const_cast<std::int64_t*>(&kSizes[k]);
    tensor.ndim = 1;
    tensor.dtype = each.dtype;
    tensor.device = kHost;
    return tensor;
  };
  for (int t = 0; t < 4; ++t) {
    std::vector<std::byte> grads[] = {numbers(0, 10 + t), numbers(1, 20 + t)};
    const gradstep_tensor p[] = {tensor_of(params[0], 0), tensor_of(params[1], 1)};
    const gradstep_tensor g[] = {tensor_of(grads[0], 0), tensor_of(grads[1], 1)};
    if (is_at_host(device)) {
      TestDevice::check(gradstep_optimizer_step(optimizer, p, g, 2, nullptr));
    } else {
      Trip trip;
      const gradstep_tensor* p_there = trip.take(p, 2);
      const gradstep_tensor* g_there = trip.take(g, 2);
      trip.begin();
      TestDevice::check(gradstep_optimizer_step(optimizer, p_there, g_there, 2, nullptr));
    }
  }
  gradstep_optimizer_destroy(optimizer);
  params[0].insert(params[0].end(), params[1].begin(), params[1].end());
  return params[0];
}

void expect_bits_of_the_cpu(const Case& each) {
  EmulatedCuda device(1);
  const std::vector<std::byte> here = steps_on(device.context(), kHost, each);
  const std::vector<std::byte> there = steps_on(device.context(), device.id(), each);
  ASSERT_FALSE(here.empty());
  ASSERT_EQ(here.size(), there.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < here.size(); ++i) different += here[i] != there[i] ? 1U : 0U;
  EXPECT_EQ(different, 0U) << each.text << " in " << int{each.dtype.bits} << " bits";
}

TEST(CudaRulesAsText, HaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu({kEverything});
  expect_bits_of_the_cpu({kEverything, kF64, {{"weight_decay", 0.1, nullptr}}});
}

TEST(CudaRulesAsText, SumsHaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu({kLamb});
  expect_bits_of_the_cpu({kSums, kF64});
}

TEST(CudaRulesAsText, NarrowParametersAndStatesHaveTheBitsOfTheCpu) {
  expect_bits_of_the_cpu({kLamb,
                          kBf16,
                          {{"master_weights", 1, nullptr},
                           {"state_dtype", 0, "int8"},
                           {"weight_decay", 0.1, nullptr},
                           {"decay_mode", 0, "coupled"}}});
  expect_bits_of_the_cpu({kLamb,
                          kBf16,
                          {{"stochastic_rounding", 1, nullptr},
                           {"state_dtype", 0, "bf16"},
                           {"seed", 3, nullptr},
                           {"cautious_update", 0, "mean"}}});
}

TEST(CudaRulesAsText, AStepIsTwoLaunchesAsThatOfARuleOfTheLibrary) {
  EmulatedCuda device(1);
  EmulatedCuda::launches();
  steps_on(device.context(), device.id(), {kEverything});
  std::vector<std::string> launches = EmulatedCuda::launches();
  std::erase_if(launches, [](const std::string& name) { return name != "begin_step" && name != "program"; });
  const std::vector<std::string> expected = {"begin_step", "program", "begin_step", "program",
                                             "begin_step", "program", "begin_step", "program"};
  EXPECT_EQ(launches, expected);
}

/// Ends the program: with 0 if NVRTC is named where it is missing.
[[noreturn]] void create_without_nvrtc() {
  EmulatedCuda device(1);
  void* plugin = dlopen(GRADSTEP_TEST_PLUGIN_DIR "/libgradstep_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  const auto hide = reinterpret_cast<void (*)(const char*)>(dlsym(plugin, "gradstep_cuda_emulation_hide"));
  hide("libnvrtc.so.13");
  const char* name = nullptr;
  gradstep_rule_define(device.context(), "rule cuda_text\np = p - g\n", &name);
  const gradstep_parameter parameter = parameter_of(kSizes[0], device.id());
  gradstep_optimizer* optimizer = nullptr;
  const gradstep_status status =
      gradstep_optimizer_create(device.context(), name, nullptr, 0, &parameter, 1, &optimizer);
  const std::string text = gradstep_last_error();
  std::fprintf(stderr, "%s\n", text.c_str());
  const bool is_named =
      text.find("a rule that is written as text, on CUDA, needs NVRTC, which cannot be opened") != std::string::npos &&
      text.find("libnvrtc.so.13") != std::string::npos;
  std::_Exit(status == GRADSTEP_ERR_BACKEND_UNAVAILABLE && is_named && optimizer == nullptr ? 0 : 1);
}

TEST(CudaRulesAsTextDeathTest, NvrtcIsNamedWhereItIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in this process it may be open
  EXPECT_EXIT(create_without_nvrtc(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gradstep::test
