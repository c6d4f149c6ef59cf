// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Muon on the device beside the CPU's: cuBLAS sums products in an order of its own, so numbers agree and bits do not.
#include <cmath>
#include <cstdint>
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
    params.push_back(random_values<T>(static_cast<std::size_t>(shape[0] * shape[1]), static_cast<std::uint32_t>(i)));
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

template <class T>
void expect_numbers_of_the_cpu(const std::vector<gradstep_option>& options, double tolerance, const std::string& what) {
  EmulatedCuda device(1);
  const std::vector<T> here = steps_on<T>(device.context(), kHost, options);
  const std::vector<T> there = steps_on<T>(device.context(), device.id(), options);
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < here.size(); ++i) ASSERT_NEAR(here[i], there[i], tolerance) << what << ", element " << i;
}

TEST(CudaMuon, HasTheNumbersOfTheCpuInEveryFormOfItsIterations) {
  for (const char* iterate : {"matrix", "gram"}) {
    for (const char* coefficients : {"simple", "polar_express", "cubic"}) {
      for (const double restart_every : {0.0, 2.0, 3.0}) {
        const std::vector<gradstep_option> options = {
            {"iterate", 0, iterate}, {"coefficients", 0, coefficients}, {"gram_restart_every", restart_every, nullptr}};
        const std::string what = std::string(iterate) + ", " + coefficients + ", " + std::to_string(restart_every);
        expect_numbers_of_the_cpu<double>(options, 1e-9, what);
        expect_numbers_of_the_cpu<float>(options, 1e-2, what);
      }
    }
  }
}

TEST(CudaMuon, HasTheNumbersOfTheCpuInBf16) {
  for (const char* iterate : {"matrix", "gram"}) {
    const std::vector<gradstep_option> options = {{"iterate", 0, iterate}, {"product_precision", 0, "bf16"}};
    expect_numbers_of_the_cpu<float>(options, 0.1, iterate);
    expect_numbers_of_the_cpu<double>(options, 0.1, iterate);
  }
}

TEST(CudaMuon, HasTheNumbersOfTheCpuWithVariances) {
  for (const char* variance : {"rows", "longer", "elements"}) {
    expect_numbers_of_the_cpu<double>({{"variance", 0, variance}}, 1e-9, variance);
  }
}

}  // namespace
}  // namespace gradstep::test
