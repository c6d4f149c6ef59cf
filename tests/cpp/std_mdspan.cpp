// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// std::mdspan itself, in a program beside the tests, because only some standard libraries have it.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <gradstep/gradstep.hpp>
#include <mdspan>

namespace {

template <class Layout>
using Matrix = std::mdspan<float, std::dextents<int, 2>, Layout>;

static_assert(gradstep::StridedMdspan<Matrix<std::layout_right>>);
static_assert(gradstep::StridedMdspan<Matrix<std::layout_left>>);
static_assert(gradstep::StridedMdspan<Matrix<std::layout_stride>>);
static_assert(gradstep::StridedMdspan<std::mdspan<const double, std::extents<int, 3, 2>>>);

/// A layout whose mapping says that it has no strides.
struct Packed {
  template <class Extents>
  struct mapping : std::layout_right::mapping<Extents> {
    using layout_type = Packed;
    static constexpr bool is_always_strided() noexcept { return false; }
  };
};
static_assert(!gradstep::StridedMdspan<Matrix<Packed>>);

}  // namespace

int main() try {
  std::array<float, 12> elements{};
  // The first two columns of a matrix of 3 x 4, and a scalar.
  const std::array<int, 2> strides{4, 1};
  const std::layout_stride::mapping<std::dextents<int, 2>> mapping(std::dextents<int, 2>(3, 2), strides);
  float scalar = 0;
  const gradstep::TensorList params{
      gradstep::tensor_of(Matrix<std::layout_stride>(elements.data(), mapping)),
      gradstep::tensor_of(std::mdspan<float, std::extents<int>>(&scalar)),
  };
  const std::array<float, 6> gradient{1, 2, 3, 4, 5, 6};
  const gradstep::ConstTensorList grads{
      gradstep::const_tensor_of(std::mdspan<const float, std::extents<int, 3, 2>>(gradient.data())),
      gradstep::const_tensor_of(std::mdspan<const float, std::extents<int>>(gradient.data())),
  };
  const gradstep::Context context;
  std::array<float, 6> memory{};
  // docs:begin step
  const std::mdspan weight(memory.data(), 2, 3);
  const gradstep::TensorList list{gradstep::tensor_of(weight)};
  auto sgd = gradstep::Optimizer::sgd(context, {.learning_rate = 1}, gradstep::parameters_of(list));
  sgd.step(list, gradstep::ConstTensorList{gradstep::const_tensor_of(std::mdspan(gradient.data(), 2, 3))});
  // docs:end step
  gradstep::Optimizer::sgd(context, {.learning_rate = 1}, gradstep::parameters_of(params)).step(params, grads);
  const std::array<float, 12> expected{-1, -2, 0, 0, -3, -4, 0, 0, -5, -6, 0, 0};
  const bool is_stepped = memory == std::array<float, 6>{-1, -2, -3, -4, -5, -6};
  return is_stepped && elements == expected && scalar == -1 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
