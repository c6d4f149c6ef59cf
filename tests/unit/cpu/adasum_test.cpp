// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Merges of Adasum are the linear combinations that their factors make of them.
#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

class AdasumMerges : public testing::TestWithParam<std::string> {
 protected:
  AdasumMerges() : context_(make_cpu_context(2, GetParam().c_str())), backend_(context_->cpu()) {}

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, AdasumMerges, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

constexpr std::int64_t kElements = 3 * kChunk + 7;

std::vector<TestArray> vectors_of(DType dtype, std::size_t count) {
  std::vector<TestArray> vectors;
  for (std::size_t v = 0; v < count; ++v) vectors.emplace_back(dtype, kElements).fill(static_cast<int>(v));
  return vectors;
}

// The dots of two parameters and two lists lie side by side, as an exchange gathers them. The second merge has a NaN in
// its second chunk.
TEST_P(AdasumMerges, are_combinations_by_their_factors_and_nan_as_a_whole) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const std::vector<TestArray> before = vectors_of(dtype, 2);
    std::vector<TestArray> finite = before;
    std::vector<TestArray> broken = before;
    const std::vector<Dots> dots = {{1, 8, 4}, {9, 9, 9}, {3, 8, 4}, {std::numeric_limits<double>::quiet_NaN(), 9, 9}};
    const Array vectors[] = {finite[0].array(), finite[1].array(), broken[0].array(), broken[1].array()};
    const AdasumMerge merges[] = {{vectors[0], std::span(vectors).first(2), dots.data(), 2, {}},
                                  {vectors[2], std::span(vectors).last(2), dots.data() + 1, 2, {}}};
    WorkList work;
    for (int i = 0; i < 2; ++i) work.append(kElements);
    backend_.adasum({&work, merges, kernels::AdasumRule::pair, 2, {}});
    for (std::int64_t i = 0; i < kElements; ++i) {
      const double expected = (1 - 4.0 / 32) * before[0].get(i) + (1 - 4.0 / 16) * before[1].get(i);
      ASSERT_EQ(finite[0].get(i), rounded(dtype, expected)) << i;
      ASSERT_EQ(finite[1].get(i), before[1].get(i)) << i;
      if (dtype == DType::f32) {
        ASSERT_EQ(broken[0].read<std::uint32_t>(i), 0x7fc00000U) << i;
      } else {
        ASSERT_EQ(broken[0].read<std::uint64_t>(i), 0x7ff8000000000000U) << i;
      }
    }
  }
}

// The vectors lie in other places the second time: what the first call has kept of its plan does not show.
TEST_P(AdasumMerges, of_all_at_once_follow_a_plan_that_changes) {
  AdasumPlan plan;
  const Dots dots[] = {{6, 4, 0}, {5, 2, 0}, {8, 8, 0}};
  const int exponents[] = {0, -2, 0};
  WorkList work;
  work.append(kElements);
  plan.work = &work;
  plan.rule = kernels::AdasumRule::all;
  plan.stride = 3;
  for (const bool scaled : {false, true}) {
    const std::vector<TestArray> before = vectors_of(DType::f32, 3);
    std::vector<TestArray> vectors = before;
    const Array arrays[] = {vectors[0].array(), vectors[1].array(), vectors[2].array()};
    AdasumMerge merge{arrays[0], arrays, dots, 1, {}};
    if (scaled) merge.exponents = exponents;
    plan.items = {&merge, 1};
    backend_.adasum(plan);
    const double kept = scaled ? 0.25 : 1;  // the second one is stored for a fourth of itself, and so is the outcome
    const double factors[] = {kept - (6 - kept * 4) / 12, 1 - (5 - 2) / 6.0, kept - (8 - kept * 8) / 24};
    for (std::int64_t i = 0; i < kElements; ++i) {
      const double expected =
          factors[0] * before[0].get(i) + factors[1] * before[1].get(i) + factors[2] * before[2].get(i);
      ASSERT_EQ(vectors[0].get(i), rounded(DType::f32, expected)) << i;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
