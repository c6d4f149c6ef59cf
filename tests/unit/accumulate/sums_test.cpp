// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/sums.h"

#include <limits>

#include "unit/accumulate/accumulator_fixture.h"

namespace gradstep::test {
namespace {

class Sums : public ::testing::Test {
 protected:
  WindowSums make(bool keeps, gradstep_dtype dtype = {}) { return WindowSums(site, schema, dtype, keeps); }

  /// Two parameters, of which the second may have no gradient.
  static BufferList list(std::vector<Array>& arrays) {
    BufferList grads;
    grads.arrays = arrays;
    return grads;
  }
  template <class T>
  static Array array(std::vector<T>& values) {
    return compact_array(values.data(), static_cast<std::int64_t>(values.size()), dtype_of<T>());
  }
  static Array absent() {
    Array none;
    none.dtype = DType::f32;
    none.size = 1;
    return none;
  }
  static const float* numbers(const Array& shown) { return static_cast<const float*>(shown.data); }

  std::shared_ptr<Context> context = make_context();
  Schema schema = make_schema({{2}, {1}});
  Site site = context->site(schema);
  std::vector<float> first = {3, 4};
  std::vector<float> second = {12};
  std::vector<Array> both = {array(first), array(second)};
  std::vector<Array> one = {array(first), absent()};
};

TEST_F(Sums, AssignAtFirstAndShowNothingWhereNothingCame) {
  WindowSums sums = make(false);
  const Addend plain;
  for (int window = 0; window < 2; ++window) {
    sums.reset();
    sums.add(list(one), {}, plain, nullptr);
    BufferList shown = sums.show();
    EXPECT_EQ(numbers(shown[0])[1], 4);
    EXPECT_EQ(shown[1].data, nullptr);
    sums.add(list(both), {}, plain, nullptr);
    shown = sums.show();
    EXPECT_EQ(numbers(shown[0])[1], 8);
    EXPECT_EQ(numbers(shown[1])[0], 12);
  }
}

TEST_F(Sums, TheLastAddMakesAndMeasuresTheResults) {
  WindowSums sums = make(false);
  const Ending halved{Finish::divide, 2};
  sums.add(list(both), {}, {}, &halved);
  EXPECT_EQ(numbers(sums.show()[0])[0], 1.5F);
  EXPECT_EQ(*sums.norm(), 6.5);  // of (3, 4, 12) / 2
  sums.complete(halved);         // it is complete: nothing is divided again
  EXPECT_EQ(numbers(sums.show()[0])[0], 1.5F);
  EXPECT_FALSE(sums.undivided());
}

TEST_F(Sums, KeptSumsAreDividedWhenResultsAreWanted) {
  WindowSums sums = make(true);
  const Ending halved{Finish::divide, 2};
  sums.add(list(both), {}, {}, nullptr);
  sums.complete(halved);
  EXPECT_TRUE(sums.undivided());
  EXPECT_EQ(numbers(sums.show()[1])[0], 12);
  EXPECT_EQ(*sums.norm(), 6.5);  // that of the results
  sums.divide(halved);
  EXPECT_FALSE(sums.undivided());
  EXPECT_EQ(numbers(sums.show()[1])[0], 6);
}

TEST_F(Sums, RowsOfARunningMeanFollowItsDecayAndAreMeasured) {
  WindowSums sums = make(false);
  std::vector<std::int64_t> indices = {1};
  std::vector<float> values = {8};
  const AddedRows rows[] = {{0, array(indices), array(values), 1}};
  sums.add(list(both), {}, {AccumulateFormula::running, 1}, nullptr);
  const Ending nothing;
  sums.add(list(one), rows, {AccumulateFormula::running, 2}, &nothing);
  sums.complete(nothing);
  // Means over two: (3 + 3) / 2, (4 + 4 + 8) / 2, 12 / 2.
  EXPECT_EQ(numbers(sums.show()[0])[0], 3);
  EXPECT_EQ(numbers(sums.show()[0])[1], 8);
  EXPECT_EQ(numbers(sums.show()[1])[0], 6);
  EXPECT_NEAR(*sums.norm(), std::sqrt(9.0 + 64 + 36), 1e-12);
}

TEST_F(Sums, InfinitiesAreSeenInGradientsAndInRows) {
  WindowSums sums = make(false);
  EXPECT_TRUE(sums.is_finite(list(both), {}));
  std::vector<std::int64_t> indices = {0};
  std::vector<float> values = {std::numeric_limits<float>::infinity()};
  const AddedRows rows[] = {{0, array(indices), array(values), 1}};
  EXPECT_FALSE(sums.is_finite(list(both), rows));
  EXPECT_FALSE(sums.is_finite({}, rows));
  second[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(sums.is_finite(list(both), {}));
}

TEST_F(Sums, WideGradientsNeedWideSums) {
  std::vector<double> wide = {1, 2};
  std::vector<Array> grads = {array(wide), array(second)};
  WindowSums narrow = make(false);
  EXPECT_FALSE(narrow.all_are_f64());
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[0]: is f64, the accumulator of parameter 'p0' is f32",
               [&] { narrow.check(grads); });
  WindowSums sums = make(false, to_dlpack(DType::f64));
  EXPECT_TRUE(sums.all_are_f64());
  sums.check(grads);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.dtype: is", [&] { make(false, to_dlpack(DType::f16)); });
}

}  // namespace
}  // namespace gradstep::test
