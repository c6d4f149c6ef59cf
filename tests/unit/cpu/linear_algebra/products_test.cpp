// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Products against sums in f64, of every instruction set that this processor has.
#include "cpu/linear_algebra/products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dense_tables.h"
#include "kernels/convert.h"
#include "unit/support.h"

namespace gradstep::cpu {
namespace {

struct ProductShape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

// Around the tiles' sides (4, 12, 8 to 32), the cuts of rows and columns (96, 288, 576) and that of the depth (256).
constexpr ProductShape kProductShapes[] = {{1, 1, 1},     {3, 5, 2},     {4, 8, 3},     {12, 32, 16}, {13, 33, 17},
                                           {24, 24, 24},  {97, 65, 255}, {40, 50, 257}, {5, 577, 9},  {100, 290, 20},
                                           {130, 7, 600}, {8, 40, 30},   {20, 33, 260}};

template <class T>
struct Case {
  ProductShape shape;
  bool a_transposed;
  bool b_transposed;
  bool only_lower;
  T keep;
  T add;
};

template <class T>
std::vector<Case<T>> cases() {
  std::vector<Case<T>> all;
  for (const ProductShape& shape : kProductShapes) {
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        all.push_back({shape, a_transposed, b_transposed, false, 0, 1});
        const ProductShape square{shape.rows, shape.rows, shape.depth};
        all.push_back({square, a_transposed, b_transposed, true, T(0.75), T(0.3)});
      }
    }
  }
  return all;
}

constexpr std::int64_t kGap = 3;  // between the rows of all operands

template <class T>
struct Operands {
  explicit Operands(const Case<T>& of)
      : a_rows(of.a_transposed ? of.shape.depth : of.shape.rows),
        a_stride((of.a_transposed ? of.shape.rows : of.shape.depth) + kGap),
        b_rows(of.b_transposed ? of.shape.columns : of.shape.depth),
        b_stride((of.b_transposed ? of.shape.depth : of.shape.columns) + kGap),
        c_stride(of.shape.columns + kGap),
        a(random_numbers<T>(a_rows * a_stride, 1)),
        b(random_numbers<T>(b_rows * b_stride, 2)),
        c(random_numbers<T>(of.shape.rows * c_stride, 3)) {}

  Product<T> product(const Case<T>& of) {
    Product<T> p;
    p.rows = of.shape.rows;
    p.columns = of.shape.columns;
    p.depth = of.shape.depth;
    p.a = {a.data(), a_stride};
    if (of.a_transposed) p.a = p.a.transposed();
    p.b = {b.data(), b_stride};
    if (of.b_transposed) p.b = p.b.transposed();
    p.c = c.data();
    p.c_stride = c_stride;
    p.keep = of.keep;
    p.add = of.add;
    p.only_lower = of.only_lower;
    return p;
  }

  std::int64_t a_rows, a_stride, b_rows, b_stride, c_stride;
  std::vector<T> a, b, c;
};

template <class T>
double element(const Operand<T>& x, std::int64_t i, std::int64_t j) {
  return static_cast<double>(x.data[i * x.row_stride + j * x.column_stride]);
}

/// Nothing is promised of what is above the diagonal.
template <class T>
std::vector<T> lower_if(const Case<T>& of, Operands<T>& operands) {
  if (of.only_lower) {
    for (std::int64_t i = 0; i < of.shape.rows; ++i) {
      std::fill_n(operands.c.begin() + i * operands.c_stride + i + 1, of.shape.columns - i - 1, T{0});
    }
  }
  return operands.c;
}

template <class T>
std::vector<T> result_of(const Dense& dense, const Case<T>& of, Context* threads = nullptr) {
  Operands<T> operands(of);
  AlignedVector<T> packed;
  Products<T>(dense.in<T>(), packed, threads).multiply(operands.product(of));
  return lower_if(of, operands);
}

float to_bf16(float x) { return kernels::widen(kernels::convert<kernels::BFloat16>(x)); }

template <class T>
class DenseProducts : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(DenseProducts, Precisions);

// The rows of a statistic are read from its packed columns.
TYPED_TEST(DenseProducts, AStatisticHasTheBitsOfAProductOfTwoMatrices) {
  constexpr std::int64_t kDepth = 260;
  for (const std::int64_t n : {1, 7, 9, 31, 97, 290, 600}) {
    const std::vector<TypeParam> x = random_numbers<TypeParam>(n * kDepth, 4);
    const std::vector<TypeParam> copy = x;
    for (const bool is_transposed : {false, true}) {
      const auto operand = [&](const std::vector<TypeParam>& numbers) {
        const Operand<TypeParam> rows{numbers.data(), kDepth};
        return is_transposed ? Operand<TypeParam>{numbers.data(), n}.transposed() : rows;
      };
      for (const Table& table : tables()) {
        const auto triangle = [&](const std::vector<TypeParam>& other) {
          std::vector<TypeParam> c(static_cast<std::size_t>(n * n));
          AlignedVector<TypeParam> packed;
          Products<TypeParam>(table.dense->in<TypeParam>(), packed)
              .multiply({.rows = n,
                         .columns = n,
                         .depth = kDepth,
                         .a = operand(x),
                         .b = operand(other).transposed(),
                         .c = c.data(),
                         .c_stride = n,
                         .only_lower = true});
          for (std::int64_t i = 0; i < n; ++i) std::fill_n(c.begin() + i * n + i + 1, n - i - 1, TypeParam{0});
          return c;
        };
        EXPECT_TRUE(triangle(x) == triangle(copy)) << table.name << ' ' << n << ' ' << is_transposed;
      }
    }
  }
}

TYPED_TEST(DenseProducts, EqualTheirDefinitionForEveryShapeAndLayout) {
  for (const Table& table : tables()) {
    for (const Case<TypeParam>& of : cases<TypeParam>()) {
      Operands<TypeParam> before(of);
      const Product<TypeParam> product = before.product(of);
      const std::vector<TypeParam> found = result_of(*table.dense, of);
      // Numbers are below 1, so a rounding is at most eps / 2 times the depth so far, and they rarely agree in sign.
      const double tolerance = std::numeric_limits<TypeParam>::epsilon() * (4 + static_cast<double>(of.shape.depth));
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < of.shape.rows; ++i) {
        for (std::int64_t j = 0; j < before.c_stride; ++j) {
          const auto at = static_cast<std::size_t>(i * before.c_stride + j);
          if (of.only_lower && j > i && j < of.shape.columns) continue;
          if (j >= of.shape.columns) {
            wrong += found[at] == before.c[at] ? 0 : 1;  // not to be written
            continue;
          }
          double sum = 0;
          for (std::int64_t p = 0; p < of.shape.depth; ++p) sum += element(product.a, i, p) * element(product.b, p, j);
          const double expected = of.keep * static_cast<double>(before.c[at]) + of.add * sum;
          wrong += std::abs(static_cast<double>(found[at]) - expected) <= tolerance ? 0 : 1;
        }
      }
      EXPECT_EQ(wrong, 0) << table.name << ' ' << of.shape.rows << ' ' << of.shape.columns << ' ' << of.shape.depth
                          << " transposed " << of.a_transposed << of.b_transposed << " lower " << of.only_lower;
    }
  }
}

/// Multiplies operands that hold numbers of bf16.
std::vector<float> result_of_bf16(const Dense& dense, const Case<float>& of, Context* threads = nullptr) {
  Operands<float> operands(of);
  for (std::vector<float>* numbers : {&operands.a, &operands.b}) {
    for (float& number : *numbers) number = to_bf16(number);
  }
  Product<float> product = operands.product(of);
  product.of_bf16 = true;
  AlignedVector<float> packed;
  Products<float>(dense.f32, packed, threads).multiply(product);
  return lower_if(of, operands);
}

TEST(ProductsOfBf16, AreSumsInF32RoundedOnce) {
  for (const Table& table : tables_of_products()) {
    for (const Case<float>& of : cases<float>()) {
      Operands<float> before(of);
      const Product<float> product = before.product(of);
      const std::vector<float> found = result_of_bf16(*table.dense, of);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < of.shape.rows; ++i) {
        for (std::int64_t j = 0; j < (of.only_lower ? i + 1 : of.shape.columns); ++j) {
          const auto at = static_cast<std::size_t>(i * before.c_stride + j);
          double sum = 0;
          for (std::int64_t p = 0; p < of.shape.depth; ++p) {
            sum +=
                static_cast<double>(to_bf16(product.a.data[i * product.a.row_stride + p * product.a.column_stride])) *
                to_bf16(product.b.data[p * product.b.row_stride + j * product.b.column_stride]);
          }
          const double expected = of.keep * static_cast<double>(before.c[at]) + of.add * sum;
          const double summed = std::numeric_limits<float>::epsilon() * (4 + static_cast<double>(of.shape.depth));
          const double rounded = std::abs(expected) / 256 + summed;  // bf16 has 8 bits
          wrong += std::abs(found[at] - expected) <= rounded && found[at] == to_bf16(found[at]) ? 0 : 1;
        }
      }
      EXPECT_EQ(wrong, 0) << table.name << ' ' << of.shape.rows << ' ' << of.shape.columns << ' ' << of.shape.depth
                          << " transposed " << of.a_transposed << of.b_transposed << " lower " << of.only_lower;
    }
  }
}

/// Products of two numbers of bf16 are exact in f32, so it does not matter whether operations are fused.
TEST(ProductsOfBf16, HaveTheSameBitsOnEveryInstructionSet) {
  for (const Table& table : tables()) {
    for (const Case<float>& of : cases<float>()) {
      EXPECT_EQ(result_of_bf16(kDenseBaseline, of), result_of_bf16(*table.dense, of)) << table.name;
    }
  }
}

TEST(ProductsOfBf16, AreTheSameWhenThreadsShareThem) {
  const auto context = test::make_context(3);
  for (const Table& table : tables_of_products()) {
    for (const ProductShape& shape : {ProductShape{190, 290, 101}, ProductShape{250, 250, 300}}) {
      const Case<float> of{shape, false, true, shape.rows == shape.columns, 0.75F, 0.3F};
      EXPECT_EQ(result_of_bf16(*table.dense, of), result_of_bf16(*table.dense, of, context.get())) << table.name;
    }
  }
}

TEST(ProductsOfBf16, KeepNaNAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Table& table : tables_of_products()) {
    const float a[] = {kInfinity, std::numeric_limits<float>::quiet_NaN()};
    const float b[] = {2};
    for (const std::int64_t columns : {1, 64}) {
      std::vector<float> wide(static_cast<std::size_t>(columns), b[0]);
      std::vector<float> c(static_cast<std::size_t>(2 * columns));
      AlignedVector<float> packed;
      Products<float>(table.dense->f32, packed)
          .multiply({.rows = 2,
                     .columns = columns,
                     .depth = 1,
                     .a = {a, 1},
                     .b = {wide.data(), columns},
                     .c = c.data(),
                     .c_stride = columns,
                     .of_bf16 = true});
      EXPECT_EQ(c.front(), kInfinity) << table.name;
      EXPECT_TRUE(std::isnan(c.back())) << table.name;
    }
  }
}

TYPED_TEST(DenseProducts, AMirroredTriangleIsSymmetricAndNothingElseChanges) {
  for (const Table& table : tables()) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 15, 16, 31, 32, 33, 66, 100}) {
      const std::int64_t stride = n + kGap;
      const std::vector<TypeParam> before = random_numbers<TypeParam>(n * stride, 4);
      std::vector<TypeParam> s = before;
      table.dense->in<TypeParam>().mirror_lower(s.data(), stride, n);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < stride; ++j) {
          const bool is_upper = j > i && j < n;
          EXPECT_EQ(s[static_cast<std::size_t>(i * stride + j)],
                    before[static_cast<std::size_t>(is_upper ? j * stride + i : i * stride + j)])
              << table.name << ' ' << n << ' ' << i << ' ' << j;
        }
      }
    }
  }
}

TYPED_TEST(DenseProducts, HaveTheSameBitsWhereverThereAreFusedOperations) {
  const std::vector<Table> all = tables();
  for (std::size_t i = 2; i < all.size(); ++i) {
    for (const Case<TypeParam>& of : cases<TypeParam>()) {
      EXPECT_EQ(result_of(*all[1].dense, of), result_of(*all[i].dense, of)) << all[i].name;
    }
  }
}

TYPED_TEST(DenseProducts, LayoutsAndAddressesChangeNoBit) {
  const ProductShape shape{37, 41, 300};
  const std::vector<TypeParam> a = random_numbers<TypeParam>(shape.rows * shape.depth, 1);
  const std::vector<TypeParam> b = random_numbers<TypeParam>(shape.depth * shape.columns, 2);
  std::vector<TypeParam> a_columns(a.size() + 1);  // transposed, from an odd address on
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t p = 0; p < shape.depth; ++p) {
      a_columns[static_cast<std::size_t>(p * shape.rows + i + 1)] = a[static_cast<std::size_t>(i * shape.depth + p)];
    }
  }
  for (const Table& table : tables()) {
    std::vector<TypeParam> results[2];
    for (const bool transposed : {false, true}) {
      std::vector<TypeParam>& c = results[transposed ? 1 : 0];
      c.resize(static_cast<std::size_t>(shape.rows * shape.columns));
      Product<TypeParam> product;
      product.rows = shape.rows;
      product.columns = shape.columns;
      product.depth = shape.depth;
      product.a = {a.data(), shape.depth};
      if (transposed) product.a = Operand<TypeParam>{a_columns.data() + 1, shape.rows}.transposed();
      product.b = {b.data(), shape.columns};
      product.c = c.data();
      product.c_stride = shape.columns;
      AlignedVector<TypeParam> packed;
      Products<TypeParam>(table.dense->in<TypeParam>(), packed).multiply(product);
    }
    EXPECT_EQ(results[0], results[1]) << table.name;
  }
}

TYPED_TEST(DenseProducts, TransposesAreOfAnyShape) {
  constexpr std::int64_t kSides[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 37, 64};
  for (const Table& table : tables()) {
    for (const std::int64_t rows : kSides) {
      for (const std::int64_t columns : kSides) {
        const std::vector<TypeParam> from = random_numbers<TypeParam>(rows * columns, 1);
        std::vector<TypeParam> to(from.size());
        std::vector<TypeParam> expected;
        for (std::int64_t j = 0; j < columns; ++j) {
          for (std::int64_t i = 0; i < rows; ++i) expected.push_back(from[static_cast<std::size_t>(i * columns + j)]);
        }
        table.dense->in<TypeParam>().transpose(from.data(), rows, columns, to.data());
        EXPECT_TRUE(to == expected) << table.name << ' ' << rows << ' ' << columns;
      }
    }
  }
}

TYPED_TEST(DenseProducts, WhatIsNotKeptIsNotRead) {
  for (const Table& table : tables()) {
    const TypeParam a[] = {2};
    const TypeParam b[] = {3};
    for (const std::int64_t depth : {std::int64_t{0}, std::int64_t{1}}) {
      TypeParam c[] = {std::numeric_limits<TypeParam>::quiet_NaN()};
      AlignedVector<TypeParam> packed;
      Products<TypeParam>(table.dense->in<TypeParam>(), packed)
          .multiply({.rows = 1, .columns = 1, .depth = depth, .a = {a, 1}, .b = {b, 1}, .c = c, .c_stride = 1});
      EXPECT_EQ(c[0], depth == 0 ? 0 : 6) << table.name;
    }
  }
}

TYPED_TEST(DenseProducts, DotsHaveTheSameBitsOnEveryInstructionSet) {
  const std::vector<TypeParam> x = random_numbers<TypeParam>(300, 4);
  const std::vector<TypeParam> y = random_numbers<TypeParam>(300, 5);
  for (const std::int64_t count : {0, 1, 3, 7, 8, 31, 32, 33, 100, 300}) {
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) sum += static_cast<double>(x[i]) * y[i];
    const TypeParam first = kDenseBaseline.in<TypeParam>().dot(x.data(), y.data(), count);
    EXPECT_NEAR(first, sum, 300 * std::numeric_limits<TypeParam>::epsilon());
    for (const Table& table : tables()) {
      EXPECT_EQ(table.dense->in<TypeParam>().dot(x.data(), y.data(), count), first) << table.name << ' ' << count;
    }
  }
}

TYPED_TEST(DenseProducts, AreTheSameWhenThreadsShareThem) {
  constexpr ProductShape kShapes[] = {{190, 290, 100}, {290, 190, 100}, {7, 3000, 300}, {3000, 7, 300}, {250, 250, 90}};
  for (const Table& table : tables()) {
    for (const ProductShape& shape : kShapes) {
      for (const bool transposed : {false, true}) {
        const Case<TypeParam> of{shape,           transposed,    transposed, shape.rows == shape.columns,
                                 TypeParam(0.75), TypeParam(0.3)};
        const std::vector<TypeParam> alone = result_of(*table.dense, of);
        for (const int threads : {2, 5}) {
          const auto context = test::make_context(threads);
          EXPECT_TRUE(alone == result_of(*table.dense, of, context.get()))
              << table.name << ' ' << shape.rows << ' ' << shape.columns << ' ' << threads;
        }
      }
    }
  }
}

TEST(AxisProducts, AStatisticOfAViewIsThatOfItsCopy) {
  constexpr std::int64_t kRows = 20;
  constexpr std::int64_t kColumns = 34;
  constexpr std::int64_t kStride = 50;
  const std::vector<float> tensor = random_numbers<float>(kRows * kStride, 6);
  std::vector<float> copy;
  for (std::int64_t i = 0; i < kRows; ++i) {
    copy.insert(copy.end(), tensor.begin() + i * kStride, tensor.begin() + i * kStride + kColumns);
  }
  for (const Table& table : tables()) {
    AlignedVector<float> packed;
    const Products<float> products(table.dense->f32, packed);
    for (const bool last : {false, true}) {
      const AxisLayout compact =
          last ? AxisLayout{kRows, kColumns, 1, kColumns, 1} : AxisLayout{1, kRows, kColumns, 0, kColumns};
      const AxisLayout strided =
          last ? AxisLayout{kRows, kColumns, 1, kStride, 1} : AxisLayout{1, kRows, kColumns, 0, kStride};
      const std::int64_t n = compact.n;
      std::vector<float> of_copy(static_cast<std::size_t>(n * n), 1.0F);
      std::vector<float> of_view = of_copy;
      update_statistic(products, copy.data(), compact, 0.5F, 0.25F, of_copy.data());
      update_statistic(products, tensor.data(), strided, 0.5F, 0.25F, of_view.data());
      EXPECT_EQ(of_copy, of_view) << table.name;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
          EXPECT_EQ(of_copy[static_cast<std::size_t>(i * n + j)], of_copy[static_cast<std::size_t>(j * n + i)]);
        }
      }
      std::vector<float> from_copy(copy.size());
      std::vector<float> from_view(tensor.size(), 9.0F);
      contract_axis(products, copy.data(), compact, of_copy.data(), false, from_copy.data(), compact);
      contract_axis(products, tensor.data(), strided, of_copy.data(), false, from_view.data(), strided);
      for (std::int64_t i = 0; i < kRows; ++i) {
        for (std::int64_t j = 0; j < kStride; ++j) {
          const float expected = j < kColumns ? from_copy[static_cast<std::size_t>(i * kColumns + j)] : 9.0F;
          EXPECT_EQ(from_view[static_cast<std::size_t>(i * kStride + j)], expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::cpu
