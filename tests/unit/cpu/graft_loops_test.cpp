// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the loops compute is held against references by the tests of Shampoo; here, that every instruction set computes
// the same.
#include "cpu/cpu_backend.h"
#include "cpu/instruction_set.h"
#include "rules/shampoo.h"
#include "unit/scoped_environment.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

using cpu::Loops;
using kernels::Graft;

/// Everything that one step of every loop has left behind.
std::vector<float> run_all(const Loops& loops, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  std::vector<float> everything;
  const auto keep = [&](const std::vector<float>& values) {
    everything.insert(everything.end(), values.begin(), values.end());
  };
  const auto x = random_values<float>(size, 1);
  auto g = random_values<float>(size, 2);
  std::vector<float> v(size, 0.25F);
  auto m = random_values<float>(size, 3);
  for (const Graft graft : {Graft::adagrad, Graft::rmsprop_normalized, Graft::adam, Graft::sqrt_n}) {
    rules::ShampooConstants constants;
    rules::set_shampoo_constants({.graft = graft},
                                 {.beta2 = 0.9, .diagonal_epsilon = 1e-8, .graft_beta1 = 0.9, .graft_beta2 = 0.99}, 3,
                                 true, constants);
    float* first = graft == Graft::adam ? m.data() : v.data();
    loops.write_direction(graft, constants.direction, 0.5F, {x.data(), g.data(), {first, v.data()}}, count);
    keep(g);
    keep(m);
    keep(v);
  }
  for (const int chosen : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const kernels::FinishConstants constants{
        0.9F, 0.1F, 1.25F, 1.5F, 0.01F, 0.02F, 0.1F, (chosen & 1) != 0, (chosen & 2) != 0, (chosen & 4) != 0};
    auto n = random_values<float>(size, 4);
    auto u = random_values<float>(size, 5);
    loops.finish_grafted({u.data(), x.data(), g.data(), m.data(), n.data(), u.data()}, count, constants);
    loops.finish_grafted({u.data(), x.data(), g.data(), m.data(), nullptr, u.data()}, count, constants);
    loops.finish_grafted({u.data(), nullptr, g.data(), nullptr, n.data(), g.data()}, count, constants);
    loops.finish_corrected(u.data(), g.data(), g.data(), count, (chosen & 1) != 0, {0.1F, 0.01F});
    keep(u);
    keep(g);
    keep(m);
    keep(n);
  }
  return everything;
}

TEST(Grafting, EveryInstructionSetGivesTheSameBits) {
  const auto loops_at_most = [](const char* instruction_set) -> const Loops& {
    const ScopedEnvironment environment("GRADSTEP_INSTRUCTION_SET", instruction_set);
    return cpu::choose_loops();
  };
  const std::vector<std::string> sets = cpu::compiled_instruction_sets();
  const Loops& lowest = loops_at_most(sets.front().c_str());
  for (const std::int64_t count : {1, 5, 8, 33, 1000}) {
    const std::vector<float> expected = run_all(lowest, count);
    for (const std::string& set : sets) {
      EXPECT_EQ(run_all(loops_at_most(set.c_str()), count), expected) << set << count;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
