// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "unit/accumulate/accumulator_fixture.h"

namespace gradstep::test {
namespace {

class SparseRows : public ::testing::Test {
 protected:
  SparseRows() : schema(make_schema({{5, 2}, {3}})) {}

  gradstep_rows rows() {
    index_tensor = indices.tensor();
    value_tensor = values.tensor();
    gradstep_rows r{};
    r.struct_size = sizeof r;
    r.parameter = 0;
    r.indices = &index_tensor;
    r.values = &value_tensor;
    return r;
  }

  Schema schema;
  TestTensor<std::int64_t> indices{{3}, {4, 1, 4}};
  TestTensor<float> values{{3, 2}, {1, 2, 3, 4, 10, 20}};
  gradstep_tensor index_tensor{};
  gradstep_tensor value_tensor{};
};

TEST_F(SparseRows, RepeatedIndicesAddUpInEveryMode) {
  for (const std::int32_t mode : {GRADSTEP_ACCUMULATE_SUM, GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_ACCUMULATE_MEAN,
                                  GRADSTEP_ACCUMULATE_RUNNING_MEAN, GRADSTEP_ACCUMULATE_WEIGHTED}) {
    auto accumulator = make_accumulator(AccumulatorOptions().with_mode(mode).with_steps(2), schema);
    TestTensor<float> dense({5, 2}, 1.0F), other({3}, 6.0F);
    const gradstep_rows r = rows();
    const gradstep_tensor first[] = {dense.tensor(), other.tensor()};
    const gradstep_tensor second[] = {dense.absent(), other.tensor()};
    EXPECT_FALSE(host::add_rows(*accumulator, first, 2, &r, 1, 1));
    EXPECT_TRUE(host::add_rows(*accumulator, second, 2, &r, 1, 1));
    // Two micro-batches: ones and rows, rows alone.
    std::vector<float> expected = {1, 1, 7, 9, 1, 1, 1, 1, 23, 45};
    if (mode != GRADSTEP_ACCUMULATE_SUM) {
      for (float& value : expected) value /= 2;
    }
    EXPECT_EQ(result<float>(*accumulator), expected) << "mode " << mode;
    double squares = 0;
    for (const float value : expected) squares += static_cast<double>(value) * value;
    squares += 3 * (mode == GRADSTEP_ACCUMULATE_SUM ? 144.0 : 36.0);
    EXPECT_NEAR(*accumulator->norm(), std::sqrt(squares), 1e-12 * std::sqrt(squares)) << "mode " << mode;
  }
}

TEST_F(SparseRows, RowsAloneAreAMicroBatch) {
  auto accumulator = make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_SUM).with_steps(1), schema);
  const gradstep_rows r = rows();
  EXPECT_TRUE(host::add_rows(*accumulator, nullptr, 0, &r, 1, 1));
  EXPECT_EQ(result<float>(*accumulator), (std::vector<float>{0, 0, 3, 4, 0, 0, 0, 0, 11, 22}));
  std::vector<gradstep_tensor> views(2);
  host::read_gradients(*accumulator, views);
  EXPECT_EQ(views[1].data, nullptr);
}

TEST_F(SparseRows, SmallIndicesWorkAndNoRowsAreLegal) {
  auto accumulator = make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_SUM).with_steps(1), schema);
  TestTensor<std::int32_t> small({3}, std::vector<std::int32_t>{4, 1, 4});
  gradstep_rows r = rows();
  index_tensor = small.tensor();
  EXPECT_TRUE(host::add_rows(*accumulator, nullptr, 0, &r, 1, 1));
  EXPECT_EQ(result<float>(*accumulator)[8], 11);
  TestTensor<std::int64_t> none({0});
  TestTensor<float> no_values({0, 2});
  index_tensor = none.tensor();
  value_tensor = no_values.tensor();
  EXPECT_TRUE(host::add_rows(*accumulator, nullptr, 0, &r, 1, 1));
  EXPECT_EQ(result<float>(*accumulator), std::vector<float>(10, 0));
}

TEST_F(SparseRows, RowsAreDividedAsDenseGradientsAre) {
  values.values = {0.1F, 0.7F, -1.3F, 3.3F, 1e-3F, 9.9F};
  indices.values = {4, 1, 2};
  std::vector<float> same(10, 0);
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t k = 0; k < 2; ++k)
      same[static_cast<std::size_t>(indices.values[j]) * 2 + k] = values.values[2 * j + k];
  }
  for (const std::int64_t steps : {1, 3, 7}) {
    const auto options = AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_MEAN_EACH).with_steps(steps);
    auto of_rows = make_accumulator(options, schema);
    auto dense = make_accumulator(options, schema);
    TestTensor<float> first({5, 2}, same), other({3}, 6.0F);
    const gradstep_rows r = rows();
    const gradstep_tensor grads[] = {first.tensor(), other.tensor()};
    const gradstep_tensor absent[] = {first.absent(), other.tensor()};
    for (std::int64_t k = 0; k < steps; ++k) {
      host::add_rows(*of_rows, absent, 2, &r, 1, 1);
      host::add_rows(*dense, grads, 2, nullptr, 0, 1);
    }
    EXPECT_EQ(result<float>(*of_rows), result<float>(*dense)) << steps;
  }
}

TEST_F(SparseRows, RowsWithoutElementsAddNothing) {
  const Schema narrow = make_schema({{5, 0}, {3}});
  auto accumulator = make_accumulator(AccumulatorOptions().with_mode(GRADSTEP_ACCUMULATE_SUM).with_steps(1), narrow);
  TestTensor<float> empty({3, 0}), narrow_gradient({5, 0}), other({3}, 6.0F);
  gradstep_rows r = rows();
  value_tensor = empty.tensor();
  value_tensor.data = values.tensor().data;  // which no call reads
  const gradstep_tensor grads[] = {narrow_gradient.absent(), other.tensor()};
  EXPECT_TRUE(host::add_rows(*accumulator, grads, 2, &r, 1, 1));
  EXPECT_EQ(result<float>(*accumulator, 1), std::vector<float>(3, 6));
}

TEST_F(SparseRows, ANonFiniteRowSkipsItsMicroBatch) {
  auto options = AccumulatorOptions().with_steps(1);
  options.nonfinite = GRADSTEP_NONFINITE_SKIP;
  auto accumulator = make_accumulator(options, schema);
  values.values[3] = NAN;
  const gradstep_rows r = rows();
  EXPECT_FALSE(host::add_rows(*accumulator, nullptr, 0, &r, 1, 1));
  EXPECT_EQ(accumulator->skipped(), 1);
}

TEST_F(SparseRows, BadRowsAreNamedAndNothingIsAdded) {
  auto accumulator = make_accumulator(AccumulatorOptions().with_steps(1), schema);
  const auto refuse = [&](const gradstep_rows& r, const char* part) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, part, [&] { host::add_rows(*accumulator, nullptr, 0, &r, 1, 1); });
    EXPECT_EQ(accumulator->count(), 0);
  };
  indices.values[2] = 5;
  refuse(rows(), "rows[0].indices[2]: is 5, parameter 'p0' has 5 rows");
  indices.values[2] = -1;
  refuse(rows(), "rows[0].indices[2]: is -1");
  indices.values[2] = 0;
  gradstep_rows r = rows();
  r.parameter = 2;
  refuse(r, "rows[0].parameter: is 2");
  r = rows();
  value_tensor.shape = view_of(schema, 0, nullptr, DType::f32).shape;
  refuse(r, "rows[0].values: shape (5,2), expected (3,2)");
  r = rows();
  index_tensor = value_tensor;
  refuse(r, "rows[0].indices");
}

}  // namespace
}  // namespace gradstep::test
