// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

class Rows : public testing::TestWithParam<std::string> {
 protected:
  Rows() : context_(make_cpu_context(2, GetParam().c_str())), backend_(context_->cpu()) {}

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, Rows, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

// The reference goes through the list in order, in the sum's own type: equal bits, repeated indices included.
void expect_rows(BackendCalls& backend, DType sum_type, DType value_type, DType index_type, Layout layout,
                 std::int64_t rows, std::int64_t row_size, std::int64_t count, double factor) {
  TestArray sum(sum_type, rows * row_size);
  TestArray values(value_type, count * row_size, layout);
  TestArray indices(index_type, count, layout);
  sum.fill(1);
  values.fill(2);
  for (std::int64_t j = 0; j < count; ++j) indices.set(j, static_cast<double>(j * j % rows));
  TestArray expected = sum;
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t k = 0; k < row_size; ++k) {
      const std::int64_t at = j * j % rows * row_size + k;
      const double value = values.get(j * row_size + k);
      if (sum_type == DType::f64) {
        expected.set(at, expected.get(at) + factor * value);
      } else {
        const float product = static_cast<float>(factor) * static_cast<float>(value);
        expected.write(at, expected.read<float>(at) + product);
      }
    }
  }
  backend.add_rows(sum.array(), indices.array(), values.array(), row_size, factor);
  EXPECT_EQ(sum.bytes(), expected.bytes()) << name_of(sum_type) << " " << name_of(value_type) << " "
                                           << name_of(index_type) << " row size " << row_size << " count " << count;
}

TEST_P(Rows, add_up_in_the_order_of_the_list) {
  for (const DType sum_type : {DType::f32, DType::f64}) {
    for (const DType value_type : kFloatTypes) {
      for (const DType index_type : {DType::i32, DType::i64}) {
        for (const Layout layout : kLayouts) {
          expect_rows(backend_, sum_type, value_type, index_type, layout, 7, 3, 40, 0.3);
          expect_rows(backend_, sum_type, value_type, index_type, layout, 11, 1030, 5, 1);
        }
      }
    }
  }
}

TEST_P(Rows, long_lists_are_shared_out_without_changing_a_bit) {
  expect_rows(backend_, DType::f32, DType::f32, DType::i64, Layout::contiguous, 97, 64, 3000, 0.25);
  expect_rows(backend_, DType::f32, DType::bf16, DType::i32, Layout::transposed, 5, 2000, 60, 0.7);
  expect_rows(backend_, DType::f64, DType::f16, DType::i32, Layout::reversed, 1, 1, 70000, 1);
}

TEST_P(Rows, empty_lists_and_empty_rows_change_nothing) {
  expect_rows(backend_, DType::f32, DType::f32, DType::i64, Layout::contiguous, 4, 8, 0, 1);
  expect_rows(backend_, DType::f32, DType::f32, DType::i64, Layout::contiguous, 4, 0, 5, 1);
}

}  // namespace
}  // namespace gradstep::test
