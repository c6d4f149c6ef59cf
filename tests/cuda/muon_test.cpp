// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Muon on the device beside the CPU's: cuBLAS sums products in an order of its own, so numbers agree and bits do not.
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "cuda/emulated_device.h"
#include "cuda/on_device.h"
#include "unit/random_values.h"

namespace gradstep::test {
namespace {

/// Wide, tall, square, and two of one shape, which are worked on side by side.
constexpr std::int64_t kShapes[][2] = {{7, 20}, {20, 7}, {9, 9}, {12, 40}, {12, 40}, {1, 5}};
constexpr std::size_t kCount = std::size(kShapes);
constexpr int kSteps = 3;

template <class T>
std::vector<T> steps_on(gradstep_context* context, gradstep_device device, std::vector<gradstep_option> options) {
  const gradstep_dtype dtype = {GRADSTEP_TYPE_FLOAT, 8 * sizeof(T), 1};
  options.push_back({"learning_rate", 0.5, nullptr});
  std::vector<gradstep_parameter> parameters(kCount);
  std::vector<gradstep_tensor> tensors(kCount);
  std::vector<std::vector<T>> params;
  std::vector<std::vector<T>> grads(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    auto* shape = const_cast<std::int64_t*>(kShapes[i]);
    parameters[i].struct_size = sizeof parameters[i];
    parameters[i].shape = tensors[i].shape = shape;
    parameters[i].ndim = tensors[i].ndim = 2;
    parameters[i].dtype = tensors[i].dtype = dtype;
    parameters[i].device = device;
    tensors[i].device = kHost;
    params.emplace_back(static_cast<std::size_t>(shape[0] * shape[1]));
  }
  gradstep_optimizer* optimizer = nullptr;
  TestDevice::check(gradstep_optimizer_create(context, "muon", options.data(), options.size(), parameters.data(),
                                              kCount, &optimizer));
  for (std::uint32_t t = 0; t < kSteps; ++t) {
    std::vector<gradstep_tensor> p = tensors;
    std::vector<gradstep_tensor> g = tensors;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      grads[i] = random_values<T>(params[i].size(), 100 + 10 * t + i);
      p[i].data = params[i].data();
      g[i].data = grads[i].data();
    }
    if (is_at_host(device)) {
      TestDevice::check(gradstep_optimizer_step(optimizer, p.data(), g.data(), kCount, nullptr));
      continue;
    }
    Trip trip;
    const gradstep_tensor* p_there = trip.take(p.data(), kCount);
    const gradstep_tensor* g_there = trip.take(g.data(), kCount);
    trip.begin();
    TestDevice::check(gradstep_optimizer_step(optimizer, p_there, g_there, kCount, nullptr));
  }
  gradstep_optimizer_destroy(optimizer);
  std::vector<T> all;
  for (const std::vector<T>& values : params) all.insert(all.end(), values.begin(), values.end());
  return all;
}

/// `tolerance`: how far apart they may be, as a share of the way from zero.
template <class T>
void expect_numbers_of_the_cpu(const std::vector<gradstep_option>& options, double tolerance, const std::string& what) {
  EmulatedCuda device(1);
  const std::vector<T> here = steps_on<T>(device.context(), kHost, options);
  const std::vector<T> there = steps_on<T>(device.context(), device.id(), options);
  ASSERT_EQ(here.size(), there.size());
  double apart = 0;
  double way = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    apart += std::pow(static_cast<double>(here[i]) - static_cast<double>(there[i]), 2);
    way += std::pow(static_cast<double>(here[i]), 2);
  }
  ASSERT_GT(way, 0) << what;
  EXPECT_LE(std::sqrt(apart), tolerance * std::sqrt(way)) << what;
}

TEST(CudaMuon, HasTheNumbersOfTheCpu) {
  for (const char* coefficients : {"simple", "polar_express", "cubic"}) {
    const gradstep_option set = {"coefficients", 0, coefficients};
    expect_numbers_of_the_cpu<double>({set}, 1e-12, coefficients);
    expect_numbers_of_the_cpu<float>({set}, 1e-4, coefficients);
  }
  expect_numbers_of_the_cpu<float>({{"product_precision", 0, "bf16"}}, 0.05, "f32 by bf16");
  expect_numbers_of_the_cpu<double>({{"product_precision", 0, "bf16"}}, 0.05, "f64 by bf16");
}

TEST(CudaMuon, HasTheNumbersOfTheCpuByGramIterations) {
  const gradstep_option gram = {"iterate", 0, "gram"};
  for (const char* coefficients : {"simple", "polar_express", "cubic"}) {
    const gradstep_option set = {"coefficients", 0, coefficients};
    for (const double restart_every : {2.0, 3.0, 20.0}) {
      const gradstep_option restart = {"gram_restart_every", restart_every, nullptr};
      const std::string what = std::string(coefficients) + ", " + std::to_string(restart_every);
      expect_numbers_of_the_cpu<double>({gram, set, restart}, 1e-11, what);
      expect_numbers_of_the_cpu<float>({gram, set, restart}, 1e-3, what);
    }
  }
  expect_numbers_of_the_cpu<float>({gram, {"product_precision", 0, "bf16"}}, 0.05, "f32 by bf16");
  expect_numbers_of_the_cpu<double>({gram, {"product_precision", 0, "bf16"}}, 0.05, "f64 by bf16");
}

TEST(CudaMuon, HasTheNumbersOfTheCpuWithVariances) {
  for (const char* variance : {"rows", "longer", "elements"}) {
    expect_numbers_of_the_cpu<double>({{"variance", 0, variance}}, 1e-11, variance);
  }
}

}  // namespace
}  // namespace gradstep::test
