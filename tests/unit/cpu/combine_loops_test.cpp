// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

class CombineLoops : public testing::TestWithParam<std::string> {
 protected:
  CombineLoops() : context_(make_cpu_context(1, GetParam().c_str())), backend_(context_->backend()) {}

  std::unique_ptr<Context> context_;
  Backend& backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, CombineLoops, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

// Two products, one sum, one rounding to the destination, in f64 where one of the three is f64.
TEST_P(CombineLoops, combine_is_its_formula_for_all_dtypes_and_layouts) {
  for (const DType to_type : kFloatTypes) {
    for (const DType from_type : kFloatTypes) {
      for (const Layout layout : kLayouts) {
        TestArray a(from_type, 16400, layout);
        TestArray b(from_type, 16400);
        TestArray to(to_type, 16400, layout);
        WorkList work;
        work.append(16400);
        const CombineItem item{to.array(), a.fill(1).array(), b.fill(2).array(), 0.3, -1.7};
        backend_.combine(work, {&item, 1});
        const bool in_double = to_type == DType::f64 || from_type == DType::f64;
        for (std::int64_t i = 0; i < 16400; ++i) {
          const double x = a.get(i);
          const double y = b.get(i);
          const float in_float = 0.3F * static_cast<float>(x) + -1.7F * static_cast<float>(y);
          ASSERT_EQ(to.get(i), rounded(to_type, in_double ? 0.3 * x + -1.7 * y : static_cast<double>(in_float))) << i;
        }
      }
    }
  }
}

TEST_P(CombineLoops, what_is_absent_counts_as_zeros) {
  TestArray a(DType::f32, 1000);
  TestArray to(DType::f32, 1000);
  WorkList work;
  work.append(1000);
  const CombineItem item{to.array(), {}, a.fill(1).array(), 1, 2};
  backend_.combine(work, {&item, 1});
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(to.get(i), 2 * a.get(i));
}

// Integers below 2^26 add up exactly in f64, so the order of the sum does not matter.
TEST_P(CombineLoops, dots_are_exact_where_f64_is) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t size : odd_sizes()) {
      TestArray a(dtype, size);
      TestArray b(dtype, size);
      for (std::int64_t i = 0; i < size; ++i) {
        a.set(i, static_cast<double>(i % 1001) - 500);
        b.set(i, static_cast<double>(i * 7 % 911) - 400);
      }
      WorkList work;
      work.append(size);
      std::vector<Dots> dots(work.chunks().size());
      const CombineItem item{{}, a.array(), b.array()};
      backend_.dot_chunks(work, {&item, 1}, dots);
      Dots found;
      for (const Dots& chunk : dots) {
        found.ab += chunk.ab;
        found.aa += chunk.aa;
        found.bb += chunk.bb;
      }
      Dots expected;
      for (std::int64_t i = 0; i < size; ++i) {
        expected.ab += a.get(i) * b.get(i);
        expected.aa += a.get(i) * a.get(i);
        expected.bb += b.get(i) * b.get(i);
      }
      EXPECT_EQ(found.ab, expected.ab) << size;
      EXPECT_EQ(found.aa, expected.aa) << size;
      EXPECT_EQ(found.bb, expected.bb) << size;
    }
  }
}

}  // namespace
}  // namespace gradstep::test
