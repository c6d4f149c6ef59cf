// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// call_cost: nanoseconds of one optimizer step on one tensor of 16 elements through the C++ layer, and the bytes that a
// call takes from operator new. As call_cost.c, in rounds of many calls; the best and the median round are printed as
// JSON.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <gradstep/gradstep.hpp>
#include <new>

namespace {

constexpr std::size_t kElements = 16;
constexpr std::size_t kRounds = 101;
constexpr std::size_t kCalls = 20000;
constexpr double kLearningRate = 0x1p-20;  // a power of two, so that the sums of steps are exact

std::size_t allocated_bytes = 0;

struct Subject {
  const char* name;
  gradstep::Optimizer optimizer;
  std::vector<float> values = std::vector<float>(kElements);
  gradstep::TensorList params = {values};
  std::vector<double> rounds = {};
  std::size_t bytes = 0;

  void time(const gradstep::ConstTensorList& grads) {
    const std::size_t before = allocated_bytes;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < kCalls; ++i) optimizer.step(params, grads);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    bytes += allocated_bytes - before;
    rounds.push_back(time.count() / static_cast<double>(kCalls));
  }

  void print(const char* separator) {
    std::sort(rounds.begin(), rounds.end());
    std::printf("%s\"%s\": {\"best_ns\": %.2f, \"median_ns\": %.2f, \"bytes\": %.2f}", separator, name, rounds.front(),
                rounds[kRounds / 2], static_cast<double>(bytes) / static_cast<double>(kRounds * kCalls));
  }
};

}  // namespace

void* operator new(std::size_t size) {
  allocated_bytes += size;
  if (void* data = std::malloc(size)) return data;
  throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }

int main() {
  const gradstep::Context context({.num_threads = 1});
  const gradstep::Parameters parameters = {{.shape = {kElements}}};
  Subject sgd{"sgd_step", gradstep::Optimizer::sgd(context, {.learning_rate = kLearningRate}, parameters)};
  Subject adam{"adam_step", gradstep::Optimizer::adam(context, {.learning_rate = kLearningRate}, parameters)};
  const std::vector<float> gradient(kElements, 1.0F);
  const gradstep::ConstTensorList grads = {gradient};
  for (std::size_t round = 0; round < kRounds; ++round) {
    sgd.time(grads);
    adam.time(grads);
  }
  // Every step took one learning rate off: with SGD exactly, with Adam up to rounding (see call_cost.c).
  const double expected = -static_cast<double>(kRounds * kCalls) * kLearningRate;
  if (static_cast<double>(sgd.values[0]) != expected ||
      std::abs(static_cast<double>(adam.values[0]) - expected) > 1e-3 * -expected) {
    std::fprintf(stderr, "the steps computed %g and %g\n", static_cast<double>(sgd.values[0]),
                 static_cast<double>(adam.values[0]));
    return EXIT_FAILURE;
  }
  std::printf("{");
  sgd.print("");
  adam.print(", ");
  std::printf("}\n");
  return EXIT_SUCCESS;
}
