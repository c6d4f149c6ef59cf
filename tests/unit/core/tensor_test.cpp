// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/tensor.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(Tensor, ElementCountRefusesNegativeAndOverflowingShapes) {
  const std::vector<std::int64_t> good = {3, 0, 5};
  EXPECT_EQ(element_count("x", 0, good), 0);
  const std::vector<std::int64_t> negative = {3, -1};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "x[2]: shape (3,-1) has a negative",
               [&] { element_count("x", 2, negative); });
  const std::vector<std::int64_t> huge = {INT64_MAX / 2, 4};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "more elements", [&] { element_count("x", 0, huge); });
  const std::vector<std::int64_t> many(33, 1);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "33 dimensions", [&] { element_count("x", 0, many); });
}

TEST(Tensor, CompactStridesAreRecognisedWhateverDimensionsOfOneSay) {
  TestTensor<float> t({2, 1, 3});
  std::vector<std::int64_t> strides = {3, 99, 1};
  gradstep_tensor tensor = t.tensor();
  tensor.strides = strides.data();
  EXPECT_TRUE(is_compact(tensor));
  EXPECT_TRUE(to_array("x", 0, tensor).contiguous());
  strides[0] = 4;
  EXPECT_FALSE(is_compact(tensor));
}

TEST(Tensor, ByteOffsetMovesTheData) {
  TestTensor<float> t({4});
  gradstep_tensor tensor = t.tensor();
  tensor.shape[0] = 2;
  tensor.byte_offset = 8;
  EXPECT_EQ(to_array("x", 0, tensor).data, &t.values[2]);
}

TEST(Tensor, UnknownDtypesDevicesAndMisalignmentAreNamed) {
  TestTensor<float> t({4});
  gradstep_tensor tensor = t.tensor();
  tensor.dtype.lanes = 2;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[5]: dtype {code 2, bits 32, lanes 2}",
               [&] { to_array("grads", 5, tensor); });
  tensor = t.tensor();
  tensor.device = {GRADSTEP_DEVICE_CUDA, 1};
  expect_error(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "cuda:1", [&] { to_array("grads", 0, tensor); });
  tensor.device = {12, 0};
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "type 12", [&] { to_array("grads", 0, tensor); });
  tensor = t.tensor();
  tensor.byte_offset = 2;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "not aligned", [&] { to_array("grads", 0, tensor); });
}

TEST(Tensor, ByteRangeCoversNegativeStrides) {
  TestTensor<float> t({3, 2});
  std::vector<std::int64_t> strides = {-2, 1};
  gradstep_tensor tensor = t.tensor();
  tensor.data = &t.values[4];
  tensor.strides = strides.data();
  const ByteRange range = byte_range(to_array("x", 0, tensor));
  EXPECT_EQ(range.begin, reinterpret_cast<std::uintptr_t>(t.values.data()));
  EXPECT_EQ(range.end - range.begin, 24U);
}

}  // namespace
}  // namespace gradstep::test
