// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <gradstep/tensor.hpp>

namespace gradstep {
namespace {

TEST(CppTensor, ASpanIsShownWithItsOwnMemoryAndShape) {
  std::array<float, 6> elements{};
  const Tensor tensor(std::span<float>(elements), {2, 3});
  const gradstep_tensor c = tensor.c();
  EXPECT_EQ(c.data, elements.data());
  EXPECT_EQ(c.ndim, 2);
  EXPECT_EQ(c.shape[1], 3);
  EXPECT_EQ(Dtype(c.dtype), kDtypeF32);
  EXPECT_EQ(c.strides, nullptr);
}

TEST(CppTensor, AShapeOfAnotherSizeIsRefusedWithBothNumbers) {
  std::vector<double> elements(5);
  try {
    const Tensor tensor(elements, {2, 3});
    FAIL() << "a tensor of 6 elements was made of 5";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("span of 5 elements"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("shape of 6"), std::string::npos) << error.what();
  }
}

TEST(CppTensor, AShapeThatNoTensorHasIsRefused) {
  std::vector<float> four(4);
  std::vector<float> none;
  EXPECT_THROW(Tensor(four, {-2, -2}), InvalidArgument);
  EXPECT_THROW(Tensor(four.data(), kDtypeF32, {-2, -2}), InvalidArgument);
  // 2^64 elements, which wrap to none.
  EXPECT_THROW(Tensor(none, {std::int64_t{1} << 32, std::int64_t{1} << 32}), InvalidArgument);
  EXPECT_EQ(Tensor(none, {INT64_MAX, INT64_MAX, 0}).element_count(), 0U);
}

TEST(CppTensor, WhatIsOnlyReadMayBeConstAndWhatIsWrittenMayNot) {
  const std::vector<float> constant{1, 2};
  const ConstTensor read(constant);
  EXPECT_EQ(read.data(), constant.data());
  static_assert(std::is_constructible_v<ConstTensor, const std::vector<float>&>);
  static_assert(!std::is_constructible_v<Tensor, const std::vector<float>&>);
  static_assert(!std::is_constructible_v<Tensor, std::span<const float>>);
  static_assert(std::is_convertible_v<Tensor, ConstTensor> && !std::is_convertible_v<ConstTensor, Tensor>);
}

TEST(CppTensor, AListKeepsItsShapesWhenItGrowsAndMoves) {
  std::vector<float> elements(24);
  TensorList list;
  for (int i = 0; i < 100; ++i) list.push_back(Tensor(elements, {2, 3, 4}));
  const TensorList moved = std::move(list);
  ASSERT_EQ(moved.size(), 100U);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    ASSERT_EQ(moved.c()[i].ndim, 3);
    EXPECT_EQ(moved.c()[i].shape[0] * moved.c()[i].shape[1] * moved.c()[i].shape[2], 24);
    EXPECT_EQ(moved.c()[i].data, elements.data());
  }
}

TEST(CppTensor, AListStaysWhereItIsWhileItHasRoom) {
  std::vector<float> elements(6);
  TensorList list;
  list.reserve(10);
  list.push_back(Tensor(elements, {2, 3}));
  const gradstep_tensor* const first = list.c();
  for (int i = 1; i < 10; ++i) list.push_back(Tensor(elements, {6}));
  EXPECT_EQ(list.c(), first);
  EXPECT_EQ(list.c()[0].shape, list[0].shape().data());
  EXPECT_EQ(list.c()[9].shape, list[9].shape().data());
}

TEST(CppTensor, AnEntryIsPointedAtAnotherBuffer) {
  std::vector<float> first(2);
  std::vector<float> second(2);
  ConstTensorList list{first};
  list.set_data(0, second.data());
  EXPECT_EQ(list.c()[0].data, second.data());
  EXPECT_EQ(list[0].data(), second.data());
  list.push_back(first);
  EXPECT_EQ(list.c()[0].data, second.data()) << "entries stay where they point";
  list.set_data(1, second.data());
  EXPECT_THROW(list.set_data(2, first.data()), std::out_of_range);
}

static_assert(std::is_constructible_v<ConstTensor, const std::vector<float>&>);
static_assert(!std::is_constructible_v<ConstTensor, std::vector<float>>, "its elements would be gone");
static_assert(!std::is_constructible_v<Tensor, std::vector<float>>);

TEST(CppTensor, StridesHaveTheNumberOfDimensions) {
  std::vector<float> elements(4);
  EXPECT_THROW(Tensor(elements.data(), kDtypeF32, {2, 2}, kCpu, {1}), InvalidArgument);
}

TEST(CppTensor, AViewIsReadAsWhatItIsAndNothingElse) {
  std::vector<float> elements{1, 2, 3};
  const Tensor tensor(elements);
  const View view(tensor.c());
  EXPECT_EQ(view.as<float>()[2], 3);
  EXPECT_EQ(view.as<const float>().size(), 3U);
  EXPECT_THROW(static_cast<void>(view.as<double>()), InvalidArgument);
  EXPECT_TRUE(View().as<float>().empty());
}

}  // namespace
}  // namespace gradstep
