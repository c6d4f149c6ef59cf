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

std::vector<kernels::BFloat16> narrowed(const std::vector<float>& wide) {
  std::vector<kernels::BFloat16> narrow;
  for (const float value : wide) narrow.push_back(kernels::to_bfloat16(value));
  return narrow;
}

cpu::StateLists lists(void* first, void* second) {
  cpu::StateLists states;
  states.numbers[0] = first;
  states.numbers[1] = second;
  return states;
}

/// Everything that one step of every loop has left behind.
template <class T>
std::vector<T> run_all(const Loops& all, std::int64_t count) {
  const cpu::GraftLoops<T>& loops = all.graft<T>();
  const auto size = static_cast<std::size_t>(count);
  std::vector<T> everything;
  const auto keep = [&](const std::vector<T>& values) {
    everything.insert(everything.end(), values.begin(), values.end());
  };
  const auto x = random_values<T>(size, 1);
  auto g = random_values<T>(size, 2);
  std::vector<T> v(size, T{0.25});
  auto m = random_values<T>(size, 3);
  for (const Graft graft : {Graft::adagrad, Graft::rmsprop_normalized, Graft::adam, Graft::sqrt_n}) {
    rules::ShampooConstants constants;
    rules::set_shampoo_constants({.graft = graft},
                                 {.beta2 = 0.9, .diagonal_epsilon = 1e-8, .graft_beta1 = 0.9, .graft_beta2 = 0.99}, 3,
                                 true, constants);
    T* first = graft == Graft::adam ? m.data() : v.data();
    loops.write_direction(graft, constants.direction, T{0.5}, {x.data(), g.data(), lists(first, v.data())}, count);
    keep(g);
    keep(m);
    keep(v);
  }
  for (const int chosen : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const auto number = [](double x) { return static_cast<T>(x); };
    const kernels::FinishConstants<T> constants{
        number(0.9),       number(0.1),       number(1.25),      number(1.5), number(0.01), number(0.02), number(0.1),
        (chosen & 1) != 0, (chosen & 2) != 0, (chosen & 4) != 0, {}};
    auto n = random_values<T>(size, 4);
    auto u = random_values<T>(size, 5);
    loops.finish({u.data(), x.data(), g.data(), lists(m.data(), n.data()), u.data()}, count, constants);
    loops.finish({u.data(), x.data(), g.data(), lists(m.data(), nullptr), u.data()}, count, constants);
    loops.finish({u.data(), nullptr, g.data(), lists(nullptr, n.data()), g.data()}, count, constants);
    loops.finish_corrected(u.data(), g.data(), g.data(), count, (chosen & 1) != 0, {number(0.1), number(0.01)});
    keep(u);
    keep(g);
    keep(m);
    keep(n);
  }
  return everything;
}

/// All momenta and states in bf16, of elements from the second block of 256 on.
std::vector<float> run_narrow(const Loops& all, std::int64_t count, const kernels::TensorRounding& rounding) {
  const cpu::GraftLoops<float>& loops = all.graft<float>();
  const auto size = static_cast<std::size_t>(count);
  const auto x = random_values<float>(size, 1);
  auto m = narrowed(random_values<float>(size, 3));
  std::vector<kernels::BFloat16> v(size, kernels::to_bfloat16(0.25F));
  std::vector<float> u(size);
  cpu::StateLists states = lists(m.data(), v.data());
  states.is_narrow = true;
  states.rounding = rounding;
  states.first = 256;
  states.streams[0] = 2;
  states.streams[1] = 3;
  rules::ShampooConstants constants;
  const rules::ShampooValues values{
      .learning_rate = 0.1, .beta1 = 0.9, .diagonal_epsilon = 1e-8, .graft_beta1 = 0.9, .graft_beta2 = 0.99};
  rules::set_shampoo_constants({.graft = Graft::adam}, values, 3, true, constants);
  loops.write_direction(Graft::adam, constants.direction, 1, {x.data(), u.data(), states}, count);
  loops.finish({u.data(), x.data(), x.data(), states, u.data()}, count, constants.f32.grafted);
  for (const auto& list : {m, v}) {
    for (const kernels::BFloat16 number : list) u.push_back(kernels::to_float(number));
  }
  return u;
}

// Bits are those of element by element, which devices make.
TEST(Grafting, StateInBf16IsRoundedByThePlaceOfEachElement) {
  const kernels::TensorRounding rounding{77, 5};
  constexpr std::int64_t kCount = 700;
  const auto x = random_values<float>(kCount, 1);
  auto m = narrowed(random_values<float>(kCount, 3));
  cpu::StateLists states = lists(m.data(), nullptr);
  states.is_narrow = true;
  states.rounding = rounding;
  states.first = 256;
  states.streams[0] = 2;
  kernels::FinishConstants<float> constants;
  constants.beta1 = 0.9F;
  std::vector<float> out(kCount);
  std::vector<std::uint16_t> expected;
  int up = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const float next = 0.9F * kernels::to_float(m[i]) + x[i];
    expected.push_back(rounding.round<kernels::BFloat16>(next, 2, 256 + static_cast<std::int64_t>(i)).bits);
    up += expected.back() != kernels::to_bfloat16(next).bits ? 1 : 0;
  }
  cpu::choose_loops().graft_f32.finish({x.data(), nullptr, x.data(), states, out.data()}, kCount, constants);
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(m[i].bits, expected[i]) << i;
  EXPECT_GT(up, 100) << "rounded to nearest";
}

TEST(Grafting, EveryInstructionSetGivesTheSameBits) {
  const auto loops_at_most = [](const char* instruction_set) -> const Loops& {
    const ScopedEnvironment environment("GRADSTEP_INSTRUCTION_SET", instruction_set);
    return cpu::choose_loops();
  };
  const std::vector<std::string> sets = cpu::compiled_instruction_sets();
  const Loops& lowest = loops_at_most(sets.front().c_str());
  for (const std::int64_t count : {1, 5, 8, 33, 1000}) {
    const std::vector<float> expected = run_all<float>(lowest, count);
    const std::vector<double> wide = run_all<double>(lowest, count);
    for (const std::string& set : sets) {
      const Loops& loops = loops_at_most(set.c_str());
      EXPECT_EQ(run_all<float>(loops, count), expected) << set << count;
      EXPECT_EQ(run_all<double>(loops, count), wide) << set << count;
      for (const kernels::TensorRounding rounding : {kernels::TensorRounding{}, kernels::TensorRounding{9, 4}}) {
        EXPECT_EQ(run_narrow(loops, count, rounding), run_narrow(lowest, count, rounding)) << set << count;
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::test
