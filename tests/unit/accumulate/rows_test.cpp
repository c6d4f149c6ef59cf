// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/rows.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

class RowIndices : public ::testing::Test {
 protected:
  template <class T>
  void check(std::vector<T> indices, std::int64_t step = 1) {
    AddedRows rows;
    rows.indices = compact_array(indices.data(), static_cast<std::int64_t>(indices.size()), dtype_of<T>());
    if (step < 0) {  // from the last to the first
      rows.indices.data = &indices.back();
      rows.indices.ndim = 1;
      rows.indices.shape = &rows.indices.size;
      rows.indices.strides = &step;
    }
    check_indices(*context, context->site(schema), schema, 2, rows);
  }

  std::shared_ptr<Context> context = make_context();
  Schema schema = make_schema({{5, 2}});
};

TEST_F(RowIndices, OfBothWidthsReachFromTheFirstRowToTheLast) {
  check<std::int32_t>({0, 4, 4});
  check<std::int64_t>({4, 0});
  check<std::int64_t>({});
}

TEST_F(RowIndices, OutsideTheParameterAreNamedByTheirPlace) {
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "rows[2].indices[1]: is 5, parameter 'p0' has 5 rows",
               [&] { check<std::int64_t>({4, 5}); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "rows[2].indices[0]: is -1", [&] { check<std::int32_t>({-1, 7}); });
}

TEST_F(RowIndices, AreReadByTheirStride) {
  check<std::int64_t>({3, 2, 1}, -1);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "rows[2].indices[0]: is 9", [&] { check<std::int64_t>({3, 2, 9}, -1); });
}

}  // namespace
}  // namespace gradstep::test
