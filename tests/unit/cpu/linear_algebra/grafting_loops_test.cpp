// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the loops compute is held against references by the tests of Shampoo; here, that every instruction set computes
// the same.
#include "cpu/linear_algebra/grafting_loops.h"

#include "cpu/instruction_set.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

using cpu::GraftingLoops;
using cpu::kGraftingBaseline;

TEST(Grafting, TheSumOfSquaresIsTheSameForAnyLength) {
  for (const std::size_t count : {0U, 1U, 7U, 8U, 100U}) {
    const auto x = random_values<float>(count, 3);
    double expected = 0;
    for (const float value : x) expected += static_cast<double>(value) * static_cast<double>(value);
    const double sum = kGraftingBaseline.sum_of_squares(x.data(), static_cast<std::int64_t>(count));
    EXPECT_NEAR(sum, expected, 1e-12 * expected);
  }
}

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
  loops.divide_by_root(x.data(), v.data(), g.data(), count, 0.5F, {0.9F, 0.1F, 1e-10F});
  keep(g);
  keep(v);
  auto m = random_values<float>(size, 3);
  loops.adam(x.data(), m.data(), v.data(), g.data(), count, {0.9F, 0.99F, 0.1F, 0.01F, 1.5F, 2.5F, 1e-8F});
  keep(g);
  keep(m);
  loops.take_signs(g.data(), g.data(), count);
  keep(g);
  for (const int chosen : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const kernels::FinishConstants constants{
        0.9F, 0.1F, 1.25F, 1.5F, 0.01F, 0.02F, 0.1F, (chosen & 1) != 0, (chosen & 2) != 0, (chosen & 4) != 0};
    auto n = random_values<float>(size, 4);
    auto u = random_values<float>(size, 5);
    loops.finish({u.data(), x.data(), g.data(), m.data(), n.data(), u.data()}, count, constants);
    loops.finish({u.data(), x.data(), g.data(), m.data(), nullptr, u.data()}, count, constants);
    loops.finish({u.data(), nullptr, g.data(), nullptr, n.data(), g.data()}, count, constants);
    loops.finish_corrected(u.data(), g.data(), g.data(), count, (chosen & 1) != 0, {0.1F, 0.01F});
    keep(u);
    keep(g);
    keep(m);
    keep(n);
  }
  return everything;
}

TEST(Grafting, EveryInstructionSetGivesTheSameBits) {
  // What the tests run with, and the lowest.
  const cpu::Arithmetic& arithmetic = cpu::choose_arithmetic(cpu::choose_loops());
  const GraftingLoops& chosen = arithmetic.grafting;
  const GraftingLoops& baseline = kGraftingBaseline;
  if (&chosen == &baseline) GTEST_SKIP() << arithmetic.name << " is the lowest";
  for (const std::int64_t count : {1, 5, 8, 33, 1000}) {
    EXPECT_EQ(run_all(chosen, count), run_all(baseline, count)) << count;
  }
}

}  // namespace
}  // namespace gradstep::test
