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

TEST(Schema, NamesThatAreNotUtf8AreRefusedByIndex) {
  const std::vector<std::int64_t> shape = {2};
  for (const char* name : {"plain", "na\xc3\xafve", "\xe2\x82\xac", "\xed\x9f\xbf\xee\x80\x80", "\xf0\x90\x80\x80",
                           "\xf4\x8f\xbf\xbf", "line\nbreak"}) {
    const auto p = parameter(name, shape);
    EXPECT_EQ(Schema(&p, 1)[0].name, name);
  }
  struct Bad {
    const char* name;
    int at;
  };
  for (const Bad& bad : {Bad{"\xff", 0},
                         {"w\x80", 1},
                         {"ab\xc3", 2},
                         {"\xc0\xaf", 0},
                         {"\xe0\x9f\xbf", 0},
                         {"a\xed\xa0\x80", 1},
                         {"\xf0\x8f\xbf\xbf", 0},
                         {"\xf4\x90\x80\x80", 0},
                         {"\xe2\x82", 0},
                         {"\xf8\x88\x80\x80\x80", 0},
                         {"\xe2\x82z", 0}}) {
    const gradstep_parameter p[] = {parameter("good", shape), parameter(bad.name, shape)};
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                 fmt::format("parameters[1]: name is not UTF-8 from byte {} on", bad.at).c_str(),
                 [&] { Schema(p, 2); });
  }
}

TEST(Schema, DifferencesAreToldInWords) {
  EXPECT_EQ(make_schema({{2}, {3}}).difference(make_schema({{2}, {3}})), "");
  EXPECT_EQ(make_schema({{2}, {3}}).difference(make_schema({{2}, {4}})), "parameter 'p1' has shape (3) against (4)");
  EXPECT_EQ(make_schema({{2}}).difference(make_schema({{2}, {4}})), "1 parameters against 2");
  EXPECT_EQ(make_schema({{2}}, DType::bf16).difference(make_schema({{2}})), "") << "bf16 and f32 sum in f32";
}

}  // namespace
}  // namespace gradstep::test
