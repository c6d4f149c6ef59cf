// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/schema.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

gradstep_parameter parameter(const char* name, const std::vector<std::int64_t>& shape) {
  gradstep_parameter p{};
  p.struct_size = sizeof p;
  p.name = name;
  p.shape = shape.data();
  p.ndim = static_cast<std::int32_t>(shape.size());
  p.dtype = to_dlpack(DType::f32);
  p.device = {GRADSTEP_DEVICE_CPU, 0};
  return p;
}

TEST(Schema, NamesDefaultToTheirPositionAndMustBeUnique) {
  const std::vector<std::int64_t> shape = {2};
  const gradstep_parameter unnamed[] = {parameter(nullptr, shape), parameter("b", shape)};
  Schema schema(unnamed, 2);
  EXPECT_EQ(schema[0].name, "param.0");
  const gradstep_parameter again[] = {parameter("c", shape), parameter("b", shape)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "parameters[1]: the name 'b' is already taken by parameter 1",
               [&] { schema.append(again, 2); });
  EXPECT_EQ(schema.size(), 2U) << "a failing append must add nothing";
}

TEST(Schema, BadParametersAreNamedByIndex) {
  const std::vector<std::int64_t> shape = {2};
  auto p = parameter("w", shape);
  p.dtype = to_dlpack(DType::i32);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "parameters[0] ('w'): int32", [&] { Schema(&p, 1); });
  p = parameter("w", shape);
  p.group = -1;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "group is -1", [&] { Schema(&p, 1); });
  p = parameter("w", shape);
  p.flags = 0x80;
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "flags 0x80", [&] { Schema(&p, 1); });
  p = parameter("", shape);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "name is empty", [&] { Schema(&p, 1); });
  const std::string longest(1024, 'n');
  p = parameter(longest.c_str(), shape);
  EXPECT_NO_THROW(Schema(&p, 1));
  const std::string longer(1025, 'n');
  p = parameter(longer.c_str(), shape);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "parameters[0]: name has 1025 bytes, expected at most 1024",
               [&] { Schema(&p, 1); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "parameters: is NULL with n = 3", [&] { Schema(nullptr, 3); });
}

TEST(Schema, BuffersAreCheckedAgainstIt) {
  const Schema schema = make_schema({{5, 4}});
  TestTensor<float> wrong_shape({4, 5});
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "grads[0]: shape (4,5), parameter 'p0' has (5,4)",
               [&] { schema.gradient_array("grads", 0, wrong_shape.tensor()); });
  TestTensor<double> wide({5, 4});
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "dtype f64", [&] { schema.gradient_array("grads", 0, wide.tensor()); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "dtype f64", [&] { schema.parameter_array("params", 0, wide.tensor()); });
  TestTensor<float> good({5, 4});
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0]: data is NULL",
               [&] { schema.parameter_array("params", 0, good.absent()); });
  EXPECT_EQ(schema.gradient_array("grads", 0, good.absent()).data, nullptr) << "an absent gradient is legal";
  EXPECT_EQ(schema.parameter_array("params", 0, good.tensor()).size, 20);
}

TEST(Schema, DifferencesAreToldInWords) {
  EXPECT_EQ(make_schema({{2}, {3}}).difference(make_schema({{2}, {3}})), "");
  EXPECT_EQ(make_schema({{2}, {3}}).difference(make_schema({{2}, {4}})), "parameter 'p1' has shape (3) against (4)");
  EXPECT_EQ(make_schema({{2}}).difference(make_schema({{2}, {4}})), "1 parameters against 2");
  EXPECT_EQ(make_schema({{2}}, DType::bf16).difference(make_schema({{2}})), "") << "bf16 and f32 sum in f32";
}

class Overlap : public ::testing::Test {
 protected:
  static Array array(float* data, std::int64_t size) { return {data, size, DType::f32, 0, nullptr, nullptr}; }
  std::vector<float> memory = std::vector<float>(64);
  OverlapCheck check;
};

TEST_F(Overlap, ParameterAndItsGradient) {
  const Array p[] = {array(&memory[0], 8)};
  const Array g[] = {array(&memory[7], 8)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps grads[0]", [&] { check.check(p, g, {}); });
  // A failed check is not remembered as a good one.
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps grads[0]", [&] { check.check(p, g, {}); });
}

TEST_F(Overlap, AnyParameterWithAnyOtherBuffer) {
  const Array p[] = {array(&memory[0], 8), array(&memory[8], 8)};
  const Array g[] = {array(&memory[16], 8), array(&memory[0], 8)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps", [&] { check.check(p, g, {}); });
  const Array twice[] = {array(&memory[0], 8), array(&memory[4], 8)};
  const Array apart[] = {array(&memory[16], 8), array(&memory[24], 8)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps params[1]", [&] { check.check(twice, apart, {}); });
}

TEST_F(Overlap, GradientsMayShareMemory) {
  const Array p[] = {array(&memory[0], 8), array(&memory[8], 8)};
  const Array g[] = {array(&memory[16], 8), array(&memory[16], 8)};
  EXPECT_NO_THROW(check.check(p, g, {}));
}

/// In time that does not grow with the square of their number: a sweep over all pairs would outlast ctest's patience.
TEST_F(Overlap, AMillionGradientsMayShareMemory) {
  constexpr std::size_t kMany = 1'000'000;
  std::vector<float> values(kMany);
  std::vector<Array> p;
  for (float& value : values) p.push_back(array(&value, 1));
  const std::vector<Array> g(kMany, array(memory.data(), 64));
  EXPECT_NO_THROW(check.check(p, g, {}));
  p[kMany / 2] = array(&memory[63], 1);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps params[500000]", [&] { check.check(p, g, {}); });
}

TEST_F(Overlap, LongerBuffersAtTheSameAddressesAreComparedAnew) {
  const Array p[] = {array(&memory[0], 8)};
  const Array apart[] = {array(&memory[8], 8)};
  EXPECT_NO_THROW(check.check(p, apart, {}));
  const Array longer[] = {array(&memory[0], 9)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps grads[0]", [&] { check.check(longer, apart, {}); });
}

TEST_F(Overlap, AnUpdateThatWalksItsGradientsPlaceInAnotherOrderIsRefused) {
  const std::int64_t shape[] = {4, 4};
  const std::int64_t columns[] = {1, 4};
  const std::int64_t gaps[] = {5, 1};
  const Array p[] = {array(&memory[32], 16)};
  const Array rows[] = {{&memory[0], 16, DType::f32, 2, shape, gaps}};
  const Array turned[] = {{&memory[0], 16, DType::f32, 2, shape, columns}};
  EXPECT_NO_THROW(check.check(p, rows, rows));
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps", [&] { check.check(p, rows, turned); });
}

TEST_F(Overlap, UpdatesMayBeExactlyTheGradients) {
  const Array p[] = {array(&memory[0], 8)};
  const Array g[] = {array(&memory[8], 8)};
  EXPECT_NO_THROW(check.check(p, g, g));
  const Array shifted[] = {array(&memory[9], 8)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps", [&] { check.check(p, g, shifted); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps", [&] { check.check(p, g, p); });
}

}  // namespace
}  // namespace gradstep::test
