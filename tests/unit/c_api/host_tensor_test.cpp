// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/host_tensor.h"

#include "core/shape.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(HostTensor, CompactStridesAreRecognisedWhateverDimensionsOfOneSay) {
  TestTensor<float> t({2, 1, 3});
  std::vector<std::int64_t> strides = {3, 99, 1};
  gradstep_tensor tensor = t.tensor();
  tensor.strides = strides.data();
  EXPECT_TRUE(is_compact(tensor));
  EXPECT_TRUE(to_array("x", 0, tensor).contiguous());
  strides[0] = 4;
  EXPECT_FALSE(is_compact(tensor));
}

TEST(HostTensor, ByteOffsetMovesTheData) {
  TestTensor<float> t({4});
  gradstep_tensor tensor = t.tensor();
  tensor.shape[0] = 2;
  tensor.byte_offset = 8;
  EXPECT_EQ(to_array("x", 0, tensor).data, &t.values[2]);
}

TEST(HostTensor, AByteOffsetThatWrapsAroundIsRefused) {
  TestTensor<float> t({4});
  gradstep_tensor tensor = t.tensor();
  tensor.byte_offset = UINT64_MAX - 3;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[2]: byte_offset is 18446744073709551612",
               [&] { to_array("grads", 2, tensor); });
}

TEST(HostTensor, UnknownDtypesDevicesAndMisalignmentAreNamed) {
  TestTensor<float> t({4});
  gradstep_tensor tensor = t.tensor();
  tensor.dtype.lanes = 2;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[5]: dtype {code 2, bits 32, lanes 2}",
               [&] { to_array("grads", 5, tensor); });
  tensor = t.tensor();
  tensor.device = {GRADSTEP_DEVICE_CUDA, 1};
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "is on cuda:1, expected the host's memory",
               [&] { to_array("output", &tensor); });
  tensor.device = {12, 0};
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "type 12", [&] { to_array("output", &tensor); });
  tensor = t.tensor();
  tensor.byte_offset = 2;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "not aligned", [&] { to_array("grads", 0, tensor); });
}

TEST(HostTensor, ByteRangeCoversNegativeStrides) {
  TestTensor<float> t({3, 2});
  std::vector<std::int64_t> strides = {-2, 1};
  gradstep_tensor tensor = t.tensor();
  tensor.data = &t.values[4];
  tensor.strides = strides.data();
  const ByteRange range = byte_range(to_array("x", 0, tensor));
  EXPECT_EQ(range.begin, reinterpret_cast<std::uintptr_t>(t.values.data()));
  EXPECT_EQ(range.end - range.begin, 24U);
}

TEST(HostTensor, IsCheckedAgainstItsParameter) {
  const Schema schema = make_schema({{5, 4}});
  TestTensor<float> wrong_shape({4, 5});
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[0]: shape (4,5), parameter 'p0' has (5,4)",
               [&] { gradient_array(schema, "grads", 0, wrong_shape.tensor()); });
  TestTensor<double> wide({5, 4});
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "dtype f64", [&] { gradient_array(schema, "grads", 0, wide.tensor()); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "dtype f64",
               [&] { parameter_array(schema, "params", 0, wide.tensor()); });
  TestTensor<float> good({5, 4});
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0]: data is NULL",
               [&] { parameter_array(schema, "params", 0, good.absent()); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0]: is absent, parameter 'p0' has shape (5,4)",
               [&] { parameter_array(schema, "params", 0, gradstep_tensor{}); });
  EXPECT_EQ(gradient_array(schema, "grads", 0, good.absent()).data, nullptr) << "an absent gradient is legal";
  EXPECT_EQ(parameter_array(schema, "params", 0, good.tensor()).size, 20);
}

}  // namespace
}  // namespace gradstep::test
