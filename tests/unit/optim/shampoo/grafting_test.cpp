// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the loops compute is held against references by the tests of Shampoo; here, that every instruction set computes
// the same.
#include "optim/shampoo/grafting.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(Grafting, TheSumOfSquaresIsTheSameForAnyLength) {
  for (const std::size_t count : {0U, 1U, 7U, 8U, 100U}) {
    const auto x = random_values<float>(count, 3);
    double expected = 0;
    for (const float value : x) expected += static_cast<double>(value) * static_cast<double>(value);
    const double sum = kGraftingBaseline.sum_of_squares(x.data(), static_cast<std::int64_t>(count));
    EXPECT_NEAR(sum, expected, 1e-12 * expected);
  }
}

#if defined(GRADSTEP_HAS_X86_LOOPS)

/// Everything that one step of every loop has left behind.
std::vector<float> run_all(const GraftingLoops& loops, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  std::vector<float> everything;
  const auto keep = [&](const std::vector<float>& values) {
    everything.insert(everything.end(), values.begin(), values.end());
  };
  const auto x = random_values<float>(size, 1);
  everything.push_back(static_cast<float>(loops.sum_of_squares(x.data(), count)));
  auto g = random_values<float>(size, 2);
  std::vector<float> v(size, 0.25F);
  loops.divide_by_root(g.data(), v.data(), count, 0.5F, 0.9F, 0.1F, 1e-10F);
  keep(g);
  keep(v);
  auto m = random_values<float>(size, 3);
  loops.adam(x.data(), m.data(), v.data(), g.data(), count, {0.9F, 0.99F, 0.1F, 0.01F, 1.5F, 2.5F, 1e-8F});
  keep(g);
  keep(m);
  loops.take_signs(g.data(), count);
  keep(g);
  for (const bool nesterov : {false, true}) {
    for (const bool selects : {false, true}) {
      const FinishConstants constants{0.9F, 0.1F, 1.25F, 1.5F, 0.01F, 0.02F, 0.1F, selects, nesterov};
      auto n = random_values<float>(size, 4);
      auto u = random_values<float>(size, 5);
      loops.finish(u.data(), x.data(), g.data(), m.data(), n.data(), count, constants);
      loops.finish(u.data(), x.data(), g.data(), m.data(), nullptr, count, constants);
      loops.finish(u.data(), nullptr, g.data(), nullptr, n.data(), count, constants);
      keep(u);
      keep(m);
      keep(n);
    }
  }
  return everything;
}

TEST(Grafting, EveryInstructionSetGivesTheSameBits) {
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0) GTEST_SKIP();
  for (const std::int64_t count : {1, 5, 8, 33, 1000}) {
    EXPECT_EQ(run_all(kGraftingAvx2, count), run_all(kGraftingBaseline, count)) << count;
  }
}

#endif

}  // namespace
}  // namespace gradstep::test
