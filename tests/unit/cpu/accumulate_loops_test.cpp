// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

using Action = AccumulateAction;
using Formula = AccumulateFormula;

class AccumulateLoops : public testing::TestWithParam<std::string> {
 protected:
  AccumulateLoops() : context_(make_cpu_context(1, GetParam().c_str())), backend_(context_->cpu()) {}

  struct Settings {
    Formula formula = Formula::plain;
    double factor = 1;
    Finish finish = Finish::nothing;
    double finish_value = 1;
    bool norm = false;
  };

  /// Returns the norm if it is wanted.
  double accumulate(const TestArray& sum, const TestArray* gradient, Action action, const Settings& settings) {
    WorkList work;
    work.append(sum.size());
    const Array sum_array = sum.array();
    Array gradient_array;
    if (gradient != nullptr) gradient_array = gradient->array();
    double norm = -1;
    AccumulateJob job;
    job.work = &work;
    job.sums = {&sum_array, 1};
    job.gradients.arrays = {&gradient_array, 1};
    job.actions = {&action, 1};
    job.formula = settings.formula;
    job.factor = settings.factor;
    job.finish = settings.finish;
    job.finish_value = settings.finish_value;
    if (settings.norm) job.norm = &norm;
    backend_.accumulate(job);
    return norm;
  }

  std::vector<double> square_chunks(const TestArray& array) {
    WorkList work;
    work.append(array.size());
    std::vector<double> squares(work.chunks().size());
    const Array view = array.array();
    backend_.square_chunks(work, {&view, 1}, squares);
    return squares;
  }

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, AccumulateLoops, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

double reference(double a, double g, Action action, Formula formula, double factor, Finish finish, double value) {
  if (action == Action::assign) a = 0;
  const double term = action == Action::absent ? 0 : g;
  switch (formula) {
    case Formula::plain:
      a += term;
      break;
    case Formula::divided:
      a += term / factor;
      break;
    case Formula::weighted:
      a += factor * term;
      break;
    case Formula::running:
      a += (term - a) / factor;
      break;
  }
  if (finish == Finish::divide) a /= value;
  if (finish == Finish::multiply) a *= value;
  return a;
}

// Tolerance: four roundings in the sum's type of quantities no larger than |a| + |g| + |result|.
TEST_P(AccumulateLoops, every_formula_finish_and_action_matches_its_definition) {
  for (const Action action : {Action::assign, Action::add, Action::absent}) {
    for (const Formula formula : {Formula::plain, Formula::divided, Formula::weighted, Formula::running}) {
      for (const Finish finish : {Finish::nothing, Finish::divide, Finish::multiply}) {
        for (const double factor : {1.0, 3.0, 4.0}) {
          for (const DType sum_dtype : {DType::f32, DType::f64}) {
            for (const DType dtype : kFloatTypes) {
              TestArray sum(sum_dtype, 2100);
              TestArray gradient(dtype, 2100);
              sum.fill(1);
              gradient.fill(2);
              const TestArray before = sum;
              accumulate(sum, &gradient, action, {formula, factor, finish, 0.3, false});
              for (std::int64_t i = 0; i < sum.size(); ++i) {
                const double a = before.get(i);
                const double g = gradient.get(i);
                const double expected = reference(a, g, action, formula, factor, finish, 0.3);
                const double magnitude = std::abs(a) + factor * std::abs(g) + std::abs(expected);
                ASSERT_NEAR(sum.get(i), expected, tolerance(sum_dtype, magnitude, 4))
                    << "action " << static_cast<int>(action) << " formula " << static_cast<int>(formula) << " finish "
                    << static_cast<int>(finish) << " factor " << factor << " " << name_of(dtype) << " into "
                    << name_of(sum_dtype) << " [" << i << "]";
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(AccumulateLoops, sizes_and_layouts) {
  for (const std::int64_t size : odd_sizes()) {
    for (const Layout layout : kLayouts) {
      for (const DType dtype : kFloatTypes) {
        TestArray sum(DType::f32, size);
        TestArray first(dtype, size, layout);
        TestArray second(dtype, size, layout);
        accumulate(sum, &first.fill(1), Action::assign, {});
        accumulate(sum, &second.fill(2), Action::add, {});
        for (std::int64_t i = 0; i < size; ++i) {
          const float expected = static_cast<float>(first.get(i)) + static_cast<float>(second.get(i));
          ASSERT_EQ(sum.read<float>(i), expected) << size << " " << name_of(dtype) << " " << i;
        }
      }
    }
  }
}

TEST_P(AccumulateLoops, first_add_assigns_whatever_the_sum_held) {
  TestArray sum(DType::f32, 100);
  TestArray gradient(DType::f32, 100);
  for (std::int64_t i = 0; i < 100; ++i) sum.set(i, std::numeric_limits<double>::quiet_NaN());
  gradient.fill(1);
  gradient.set(3, -0.0);
  accumulate(sum, &gradient, Action::assign, {});
  EXPECT_EQ(sum.bytes(), gradient.bytes());
}

// Past the cache, sums are written by streaming stores: on any alignment, with any finish.
TEST_P(AccumulateLoops, large_sums_are_assigned_right) {
  const std::int64_t size = (8 << 20) / 4 + 5;
  for (const std::int64_t shift : {0, 7}) {
    TestArray storage(DType::f32, size + shift);
    TestArray gradient(DType::f32, size);
    gradient.fill(1);
    WorkList work;
    work.append(size);
    Array sum = storage.array();
    sum.data = static_cast<float*>(sum.data) + shift;
    sum.size = size;
    const Array gradient_array = gradient.array();
    const Action action = Action::assign;
    double norm = 0;
    AccumulateJob job;
    job.work = &work;
    job.sums = {&sum, 1};
    job.gradients.arrays = {&gradient_array, 1};
    job.actions = {&action, 1};
    for (const Formula formula : {Formula::plain, Formula::divided}) {
      for (const Finish finish : {Finish::nothing, Finish::multiply}) {
        for (const bool wants_norm : {false, true}) {
          std::memset(sum.data, 0xff, static_cast<std::size_t>(sum.bytes()));
          job.formula = formula;
          job.factor = 3;
          job.finish = finish;
          job.finish_value = 5;
          job.norm = wants_norm ? &norm : nullptr;
          backend_.accumulate(job);
          for (std::int64_t i = 0; i < size; ++i) {
            float expected = gradient.read<float>(i);
            if (formula == Formula::divided) expected /= 3;
            if (finish == Finish::multiply) expected *= 5;
            ASSERT_EQ(storage.read<float>(i + shift), expected) << i;
          }
          if (!wants_norm) continue;
          EXPECT_EQ(norm, backend_.norm(work, {&sum, 1}));
        }
      }
    }
  }
}

TEST_P(AccumulateLoops, the_norm_of_the_pass_is_the_norm_of_the_results) {
  for (const Action action : {Action::assign, Action::add, Action::absent}) {
    for (const DType sum_dtype : {DType::f32, DType::f64}) {
      for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
        for (const std::int64_t size : odd_sizes()) {
          for (const Finish finish : {Finish::nothing, Finish::divide}) {
            TestArray sum(sum_dtype, size);
            TestArray gradient(dtype, size);
            sum.fill(1);
            const double norm = accumulate(sum, &gradient.fill(2), action, {Formula::running, 3, finish, 7, true});
            EXPECT_EQ(norm, std::sqrt(fold_partials(square_chunks(sum)))) << size;
            EXPECT_EQ(accumulate(sum, nullptr, Action::none, {.norm = true}), 0);
          }
        }
      }
    }
  }
}

/// Lane l of 16 sums the squares of elements l, l + 16, ... of a quarter of a chunk; then the upper half of the lanes
/// is added to the lower until one is left.
double reference_squares_of_quarter(const TestArray& array, std::int64_t begin, std::int64_t end) {
  double lanes[16] = {};
  for (std::int64_t i = begin; i < end; ++i) lanes[(i - begin) % 16] += array.get(i) * array.get(i);
  for (int width = 8; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

double reference_squares(const TestArray& array, std::int64_t begin, std::int64_t end) {
  double quarters[4] = {};
  for (std::int64_t q = 0; q < 4; ++q) {
    const std::int64_t first = begin + q * kChunk / 4;
    quarters[q] = reference_squares_of_quarter(array, first, std::min(first + kChunk / 4, end));
  }
  return (quarters[0] + quarters[1]) + (quarters[2] + quarters[3]);
}

TEST_P(AccumulateLoops, squares_follow_the_documented_lanes_bit_for_bit) {
  for (const DType dtype : kFloatTypes) {
    for (const Layout layout : kLayouts) {
      for (const std::int64_t size : odd_sizes()) {
        TestArray array(dtype, size, layout);
        const std::vector<double> squares = square_chunks(array.fill(5));
        for (std::size_t chunk = 0; chunk < squares.size(); ++chunk) {
          const std::int64_t begin = static_cast<std::int64_t>(chunk) * kChunk;
          ASSERT_EQ(squares[chunk], reference_squares(array, begin, std::min(begin + kChunk, size)))
              << name_of(dtype) << " " << size;
        }
      }
    }
  }
}

TEST_P(AccumulateLoops, squares_of_absent_arrays_are_zero_and_non_finite_ones_show) {
  const std::int64_t sizes[] = {20000, 50, 33};
  const WorkList work(sizes);
  TestArray with_nan(DType::f32, 50);
  TestArray with_infinity(DType::f16, 33);
  with_nan.fill(1).set(49, std::numeric_limits<double>::quiet_NaN());
  with_infinity.fill(1).set(0, -std::numeric_limits<double>::infinity());
  Array absent;
  absent.size = 20000;
  const Array arrays[] = {absent, with_nan.array(), with_infinity.array()};
  std::vector<double> squares(work.chunks().size(), -1.0);
  backend_.square_chunks(work, arrays, squares);
  EXPECT_EQ(squares[0], 0);
  EXPECT_EQ(squares[1], 0);
  EXPECT_TRUE(std::isnan(squares[2]));
  EXPECT_EQ(squares[3], std::numeric_limits<double>::infinity());
}

TEST_P(AccumulateLoops, huge_f32_values_do_not_overflow_their_squares) {
  TestArray array(DType::f32, 64);
  for (std::int64_t i = 0; i < 64; ++i) array.set(i, 1e30);
  const double square = static_cast<double>(1e30F) * static_cast<double>(1e30F);
  EXPECT_EQ(square_chunks(array)[0], 64 * square);
}

TEST(FoldPartials, is_one_fixed_tree) {
  EXPECT_EQ(fold_partials({}), 0);
  // 0.1 + 0.2 + 0.3 depends on the order: the tree of three is (a + b) + c, of five ((a + b) + (c + d)) + e.
  const std::vector<double> x = {0.1, 0.2, 0.3, 0.7, 0.9};
  EXPECT_EQ(fold_partials(std::span(x).first(3)), (0.1 + 0.2) + 0.3);
  EXPECT_EQ(fold_partials(x), ((0.1 + 0.2) + (0.3 + 0.7)) + 0.9);
}

}  // namespace
}  // namespace gradstep::test
