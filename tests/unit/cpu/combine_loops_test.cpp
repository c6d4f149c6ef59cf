// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

class CombineLoops : public testing::TestWithParam<std::string> {
 protected:
  CombineLoops() : context_(make_cpu_context(1, GetParam().c_str())), backend_(context_->cpu()) {}

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
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

/// factors[0] * vectors[0] + factors[1] * vectors[1] + ..., from left to right in f64.
double combination(const std::vector<TestArray>& vectors, const std::vector<double>& factors, std::int64_t i) {
  double sum = factors[0] * vectors[0].get(i) + factors[1] * vectors[1].get(i);
  for (std::size_t v = 2; v < vectors.size(); ++v) sum += factors[v] * vectors[v].get(i);
  return sum;
}

// One factor is none that f32 has, though its products are ordinary numbers.
TEST_P(CombineLoops, vectors_are_combined_in_f64_and_rounded_once_for_all_dtypes_and_layouts) {
  for (const DType to_type : kFloatTypes) {
    for (const DType from_type : kFloatTypes) {
      const double scale = from_type == DType::f16 ? 1 : 1e-36;
      const std::vector<double> factors = {0.3, from_type == DType::f16 ? -1.7 : -1.7e40, 1.1, 2.5, -0.1};
      for (const Layout layout : kLayouts) {
        for (std::size_t count = 2; count <= factors.size(); ++count) {
          std::vector<TestArray> vectors;
          std::vector<Array> arrays;
          for (std::size_t v = 0; v < count; ++v) {
            vectors.emplace_back(from_type, 5003, v % 2 == 0 ? layout : Layout::contiguous);
            vectors[v].fill(static_cast<int>(v), v == 1 ? scale : 1);
          }
          for (const TestArray& vector : vectors) arrays.push_back(vector.array());
          TestArray to(to_type, 5003, layout);
          WorkList work;
          work.append(5003);
          const LinearCombination item{to.array(), arrays, std::span(factors).first(count)};
          backend_.combine_vectors(work, {&item, 1});
          for (std::int64_t i = 0; i < 5003; ++i) {
            ASSERT_EQ(to.get(i), rounded(to_type, combination(vectors, factors, i))) << i;
          }
        }
      }
    }
  }
}

TEST_P(CombineLoops, a_combination_may_take_the_place_of_any_of_its_vectors) {
  const std::vector<double> factors = {0.5, -1.25, 3};
  for (const DType dtype : kFloatTypes) {
    for (const std::size_t count : {2U, 3U}) {
      for (std::size_t place = 0; place < count; ++place) {
        for (const std::int64_t size : odd_sizes()) {
          std::vector<TestArray> vectors;
          std::vector<Array> arrays;
          for (std::size_t v = 0; v < count; ++v) vectors.emplace_back(dtype, size).fill(static_cast<int>(v));
          for (const TestArray& vector : vectors) arrays.push_back(vector.array());
          const std::vector<TestArray> before = vectors;
          WorkList work;
          work.append(size);
          const LinearCombination item{arrays[place], arrays, std::span(factors).first(count)};
          backend_.combine_vectors(work, {&item, 1});
          for (std::int64_t i = 0; i < size; ++i) {
            ASSERT_EQ(vectors[place].get(i), rounded(dtype, combination(before, factors, i))) << i;
          }
        }
      }
    }
  }
}

// Half a unit above 1, and 2^-40 more, which f32 does not have: on the way through it the tie would go to the even 1.
TEST_P(CombineLoops, a_combination_of_16_bits_is_not_rounded_to_f32_first) {
  for (const auto& [dtype, unit] : {std::pair{DType::f16, 0x1p-10}, std::pair{DType::bf16, 0x1p-7}}) {
    TestArray one(dtype, 100);
    TestArray to(dtype, 100);
    for (std::int64_t i = 0; i < 100; ++i) one.set(i, 1);
    WorkList work;
    work.append(100);
    const Array vectors[] = {one.array(), one.array()};
    const double factors[] = {1, unit / 2 + 0x1p-40};
    const LinearCombination item{to.array(), vectors, factors};
    backend_.combine_vectors(work, {&item, 1});
    for (std::int64_t i = 0; i < 100; ++i) ASSERT_EQ(to.get(i), 1 + unit);
  }
}

TEST_P(CombineLoops, absent_vectors_of_a_combination_are_zeros) {
  TestArray a(DType::f32, 1000);
  TestArray to(DType::f32, 1000);
  WorkList work;
  work.append(1000);
  const Array vectors[] = {{}, a.fill(1).array(), {}};
  for (const double factor : {2.0, std::numeric_limits<double>::quiet_NaN()}) {
    const double factors[] = {factor, 2, 1};
    const LinearCombination item{to.array(), vectors, factors};
    backend_.combine_vectors(work, {&item, 1});
    for (std::int64_t i = 0; i < 1000; ++i) {
      if (std::isnan(factor)) {
        ASSERT_EQ(to.read<std::uint32_t>(i), 0x7fc00000U);
      } else {
        ASSERT_EQ(to.get(i), 2 * a.get(i));
      }
    }
  }
}

// Integers below 2^26 add up exactly in f64, so the order of the sum does not matter.
TEST_P(CombineLoops, dots_are_exact_where_f64_is) {
  for (const auto& [a_type, b_type] :
       {std::pair{DType::f32, DType::f32}, std::pair{DType::f64, DType::f64}, std::pair{DType::f32, DType::f64}}) {
    for (const std::int64_t size : odd_sizes()) {
      TestArray a(a_type, size);
      TestArray b(b_type, size);
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
