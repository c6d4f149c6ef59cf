// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/overlap_check.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

class Overlap : public ::testing::Test {
 protected:
  static Array array(float* data, std::int64_t size) { return {data, size, DType::f32, 0, nullptr, nullptr}; }
  std::vector<float> memory = std::vector<float>(64);
};

TEST_F(Overlap, ParameterAndItsGradient) {
  const Array p[] = {array(&memory[0], 8)};
  const Array g[] = {array(&memory[7], 8)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps grads[0]", [&] { check_overlap(p, g, {}); });
}

TEST_F(Overlap, AnyParameterWithAnyOtherBuffer) {
  const Array p[] = {array(&memory[0], 8), array(&memory[8], 8)};
  const Array g[] = {array(&memory[16], 8), array(&memory[0], 8)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps", [&] { check_overlap(p, g, {}); });
  const Array twice[] = {array(&memory[0], 8), array(&memory[4], 8)};
  const Array apart[] = {array(&memory[16], 8), array(&memory[24], 8)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps params[1]", [&] { check_overlap(twice, apart, {}); });
}

TEST_F(Overlap, GradientsMayShareMemory) {
  const Array p[] = {array(&memory[0], 8), array(&memory[8], 8)};
  const Array g[] = {array(&memory[16], 8), array(&memory[16], 8)};
  EXPECT_NO_THROW(check_overlap(p, g, {}));
}

// As halves of one weight are that two layers take for theirs.
TEST_F(Overlap, ColumnsOfOneMatrixLieBesideEachOther) {
  static constexpr std::int64_t kShape[] = {4, 3};
  static constexpr std::int64_t kStrides[] = {8, 1};
  const auto columns = [&](std::size_t first) {
    Array view = array(&memory[first], 12);
    view.ndim = 2;
    view.shape = kShape;
    view.strides = kStrides;
    return view;
  };
  std::vector<float> gradients(24);
  const Array g[] = {array(gradients.data(), 12), array(&gradients[12], 12)};
  for (const std::size_t apart : {3U, 5U}) {
    const Array p[] = {columns(0), columns(apart)};
    EXPECT_NO_THROW(check_overlap(p, g, {})) << apart;
  }
  for (const std::size_t shared : {0U, 1U, 2U, 6U, 8U, 14U}) {
    const Array p[] = {columns(0), columns(shared)};
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "params[0] overlaps params[1]", [&] { check_overlap(p, g, {}); });
  }
}

/// In time that does not grow with the square of their number: a sweep over all pairs would outlast ctest's patience.
TEST_F(Overlap, AMillionGradientsMayShareMemory) {
  constexpr std::size_t kMany = 1'000'000;
  std::vector<float> values(kMany);
  std::vector<Array> p;
  for (float& value : values) p.push_back(array(&value, 1));
  const std::vector<Array> g(kMany, array(memory.data(), 64));
  EXPECT_NO_THROW(check_overlap(p, g, {}));
  p[kMany / 2] = array(&memory[63], 1);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps params[500000]", [&] { check_overlap(p, g, {}); });
}

TEST_F(Overlap, AnUpdateThatWalksItsGradientsPlaceInAnotherOrderIsRefused) {
  const std::int64_t shape[] = {4, 4};
  const std::int64_t columns[] = {1, 4};
  const std::int64_t gaps[] = {5, 1};
  const Array p[] = {array(&memory[32], 16)};
  const Array rows[] = {{&memory[0], 16, DType::f32, 2, shape, gaps}};
  const Array turned[] = {{&memory[0], 16, DType::f32, 2, shape, columns}};
  EXPECT_NO_THROW(check_overlap(p, rows, rows));
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps", [&] { check_overlap(p, rows, turned); });
}

TEST_F(Overlap, UpdatesMayBeExactlyTheGradients) {
  const Array p[] = {array(&memory[0], 8)};
  const Array g[] = {array(&memory[8], 8)};
  EXPECT_NO_THROW(check_overlap(p, g, g));
  const Array shifted[] = {array(&memory[9], 8)};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps", [&] { check_overlap(p, g, shifted); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "overlaps", [&] { check_overlap(p, g, p); });
}

}  // namespace
}  // namespace gradstep::test
