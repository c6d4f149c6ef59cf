// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <gradstep/gradstep.hpp>
#include <numeric>

#include "spans.h"

namespace gradstep {
namespace {

using spans::LayoutLeft;
using spans::LayoutPacked;
using spans::LayoutRight;
using spans::Mdspan;

static_assert(StridedMdspan<Mdspan<float, 2>> && StridedMdspan<Mdspan<const double, 2, LayoutLeft>>);
static_assert(!StridedMdspan<Mdspan<float, 2, LayoutPacked>>, "there are no strides");
static_assert(!StridedMdspan<Mdspan<float, 2, LayoutRight, spans::ScaledAccessor<float>>>, "the memory has others");
static_assert(!StridedMdspan<Mdspan<char, 1>>, "no parameter is of bytes");
static_assert(!StridedMdspan<std::vector<float>>);

template <class T>
concept Written = requires(const T& mdspan) { tensor_of(mdspan); };
static_assert(Written<Mdspan<float, 1>> && !Written<Mdspan<const float, 1>>, "what is constant is only read");

TEST(CppMdspan, IsShownInItsOwnMemoryByItsStrides) {
  std::vector<float> elements(6);
  const Tensor rows = tensor_of(Mdspan<float, 2>(elements.data(), {2, 3}));
  EXPECT_EQ(rows.data(), elements.data());
  EXPECT_EQ(rows.shape(), (Shape{2, 3}));
  EXPECT_EQ(rows.dtype(), kDtypeF32);
  EXPECT_EQ(rows.c().strides[0], 3);
  EXPECT_EQ(rows.c().strides[1], 1);
  const ConstTensor columns = const_tensor_of(Mdspan<const float, 2, LayoutLeft>(elements.data(), {2, 3}), cuda(1));
  EXPECT_EQ(columns.c().strides[0], 1);
  EXPECT_EQ(columns.c().strides[1], 2);
  EXPECT_EQ(columns.device().device_type, GRADSTEP_DEVICE_CUDA);
  EXPECT_EQ(columns.device().device_id, 1);
}

TEST(CppMdspan, OfRankZeroIsAScalar) {
  double value = 1;
  EXPECT_EQ(tensor_of(Mdspan<double, 0>(&value, {})).element_count(), 1U);
  EXPECT_EQ(tensor_of(Mdspan<double, 2>(&value, {0, 3})).element_count(), 0U);
}

TEST(CppMdspan, ColumnsAreSteppedByRowsOfGradients) {
  const Context context;
  std::vector<float> elements(6);
  std::vector<float> gradient(6);
  std::iota(gradient.begin(), gradient.end(), 1.0F);
  const Mdspan<float, 2, LayoutLeft> weight(elements.data(), {2, 3});
  const TensorList params{tensor_of(weight)};
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1}, parameters_of(params));
  sgd.step(params, ConstTensorList{ConstTensor(gradient, {2, 3})});
  EXPECT_EQ(elements, (std::vector<float>{-1, -4, -2, -5, -3, -6}));
}

}  // namespace
}  // namespace gradstep
