// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/convert.h"

#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

using kernels::BFloat16;
using kernels::convert;
using kernels::Float16;

/// Both 16-bit types behind one interface.
template <class T>
class Convert16 : public testing::Test {
 public:
  static constexpr DType kType = std::is_same_v<T, Float16> ? DType::f16 : DType::bf16;

  /// A NaN must become some NaN; any other value exactly the nearest one, with its sign.
  template <class From>
  static void expect_nearest(From x) {
    const std::uint16_t bits = convert<T>(x).bits;
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(decode16(kType, bits))) << std::hex << bits;
      EXPECT_EQ(std::signbit(x), (bits & 0x8000) != 0);
    } else {
      EXPECT_EQ(bits, encode16(kType, static_cast<double>(x))) << std::hexfloat << x;
    }
  }
};

using Types16 = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(Convert16, Types16);

TYPED_TEST(Convert16, widening_is_exact_for_every_value) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const TypeParam x{static_cast<std::uint16_t>(bits)};
    const double expected = decode16(TestFixture::kType, x.bits);
    const float f32 = convert<float>(x);
    const double f64 = convert<double>(x);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(f32)) << bits;
      EXPECT_TRUE(std::isnan(f64)) << bits;
    } else {
      EXPECT_EQ(static_cast<double>(f32), expected) << bits;
      EXPECT_EQ(f64, expected) << bits;
      EXPECT_EQ(std::signbit(f32), (bits & 0x8000) != 0) << bits;
    }
  }
}

TYPED_TEST(Convert16, narrowing_what_was_widened_returns_it) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const TypeParam x{static_cast<std::uint16_t>(bits)};
    if (std::isnan(decode16(TestFixture::kType, x.bits))) {
      TestFixture::expect_nearest(convert<float>(x));
    } else {
      EXPECT_EQ(convert<TypeParam>(convert<float>(x)).bits, bits);
      EXPECT_EQ(convert<TypeParam>(convert<double>(x)).bits, bits);
    }
  }
}

// Between any two neighbours: the tie goes to the even one, and the closest f32 on either side of it to its side.
TYPED_TEST(Convert16, ties_go_to_even_and_their_neighbours_do_not) {
  for (std::uint32_t bits = 0; bits < 0xffff; ++bits) {
    const double a = decode16(TestFixture::kType, static_cast<std::uint16_t>(bits));
    const double b = decode16(TestFixture::kType, static_cast<std::uint16_t>(bits + 1));
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const auto tie = static_cast<float>((a + b) / 2);
    ASSERT_EQ(static_cast<double>(tie), (a + b) / 2) << "the tie is exact in f32";
    TestFixture::expect_nearest(tie);
    TestFixture::expect_nearest(std::nextafter(tie, 1e30F));
    TestFixture::expect_nearest(std::nextafter(tie, -1e30F));
  }
}

// A double a hair off a tie would be rounded to the tie by a detour over f32.
TYPED_TEST(Convert16, doubles_are_rounded_once) {
  for (std::uint32_t bits = 0; bits < 0xffff; ++bits) {
    const double a = decode16(TestFixture::kType, static_cast<std::uint16_t>(bits));
    const double b = decode16(TestFixture::kType, static_cast<std::uint16_t>(bits + 1));
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const double tie = (a + b) / 2;
    TestFixture::expect_nearest(tie);
    TestFixture::expect_nearest(std::nextafter(tie, 1e300));
    TestFixture::expect_nearest(std::nextafter(tie, -1e300));
  }
}

TYPED_TEST(Convert16, overflow_special_and_tiny_values) {
  const double largest = format_of(TestFixture::kType).largest;
  const double unit = largest - decode16(TestFixture::kType, TestFixture::kType == DType::f16 ? 0x7bfe : 0x7f7e);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double sign : {1.0, -1.0}) {
    for (const double x : {largest, largest + unit / 2, infinity, 1e300, 1e-300, 0.0, 5e-324}) {
      TestFixture::expect_nearest(sign * x);
      TestFixture::expect_nearest(static_cast<float>(sign * x));
    }
    TestFixture::expect_nearest(std::nextafter(sign * (largest + unit / 2), 0.0));
    TestFixture::expect_nearest(std::copysign(std::numeric_limits<double>::quiet_NaN(), sign));
    TestFixture::expect_nearest(std::copysign(std::numeric_limits<float>::quiet_NaN(), static_cast<float>(sign)));
    TestFixture::expect_nearest(std::numeric_limits<float>::denorm_min() * static_cast<float>(sign));
  }
  // A NaN whose mantissa lies wholly in the bits that are cut off.
  TestFixture::expect_nearest(std::bit_cast<float>(0x7f800001U));
  TestFixture::expect_nearest(std::bit_cast<float>(0xffffffffU));
}

TEST(Convert, equal_types_keep_every_bit) {
  EXPECT_EQ(convert<Float16>(Float16{0x7c01}).bits, 0x7c01);
  EXPECT_EQ(convert<std::uint32_t>(0x7f800001U), 0x7f800001U);
}

}  // namespace
}  // namespace gradstep::test
