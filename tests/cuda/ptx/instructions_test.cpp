// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Instructions, by what NVIDIA's "PTX ISA" says of them. Expected values are written out.
#include <bit>
#include <cmath>
#include <limits>

#include "cuda/ptx/support.h"

namespace gradstep::ptx {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// `opcode` of one or two 32-bit operands: the low 32 bits of its result.
std::uint32_t of_32(const std::string& opcode, std::uint32_t a, std::uint32_t b = 0, bool is_unary = false) {
  const Memory memory = after("ld.global.u32 %r1, [%d0];\nld.global.u32 %r2, [%d0+8];\n" + opcode + " %r3, %r1" +
                                  (is_unary ? "" : ", %r2") + ";\nst.global.u32 [%d0+16], %r3;",
                              {a, b, 0});
  return static_cast<std::uint32_t>(memory[2]);
}

std::uint64_t of_64(const std::string& opcode, std::uint64_t a, std::uint64_t b = 0, bool is_unary = false) {
  return after("ld.global.u64 %d1, [%d0];\nld.global.u64 %d2, [%d0+8];\n" + opcode + " %d3, %d1" +
                   (is_unary ? "" : ", %d2") + ";\nst.global.u64 [%d0+16], %d3;",
               {a, b, 0})[2];
}

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

/// A comparison's result.
bool holds(const std::string& opcode, float a, float b) {
  return after("ld.global.f32 %f1, [%d0];\nld.global.f32 %f2, [%d0+8];\n" + opcode +
                   " %p1, %f1, %f2;\nselp.u64 %d1, 1, 0, %p1;\nst.global.u64 [%d0+16], %d1;",
               {bits(a), bits(b), 7})[2] == 1;
}

TEST(PtxInstructions, IntegersWrapAndDivideTowardsZero) {
  EXPECT_EQ(of_32("add.s32", 0x7fffffff, 1), 0x80000000);
  EXPECT_EQ(of_32("sub.s32", 0, 1), 0xffffffff);
  EXPECT_EQ(of_32("mul.lo.s32", 0x10001, 0x10001), 0x20001);
  EXPECT_EQ(of_32("mul.hi.u32", 0xffffffff, 0xffffffff), 0xfffffffe);
  EXPECT_EQ(of_64("mul.hi.u64", ~std::uint64_t{0}, 3), 2U);
  EXPECT_EQ(of_64("mul.hi.s64", ~std::uint64_t{0}, 3), ~std::uint64_t{0});
  EXPECT_EQ(of_32("div.s32", static_cast<std::uint32_t>(-7), 2), static_cast<std::uint32_t>(-3));
  EXPECT_EQ(of_32("rem.s32", static_cast<std::uint32_t>(-7), 2), static_cast<std::uint32_t>(-1));
  EXPECT_EQ(of_32("div.u32", static_cast<std::uint32_t>(-7), 2), 0x7ffffffcU);
  EXPECT_EQ(of_32("min.s32", static_cast<std::uint32_t>(-7), 2), static_cast<std::uint32_t>(-7));
  EXPECT_EQ(of_32("min.u32", static_cast<std::uint32_t>(-7), 2), 2U);
  EXPECT_EQ(of_32("abs.s32", 0x80000000, 0, true), 0x80000000);
  EXPECT_EQ(of_32("neg.s32", 5, 0, true), static_cast<std::uint32_t>(-5));
  EXPECT_EQ(of_32("popc.b32", 0xf0f00001, 0, true), 9U);
  EXPECT_NE(failure("div.u32 %r1, 7, 0;").find("division by zero"), std::string::npos);
}

/// What an atomic operation answers, and leaves.
std::pair<std::uint32_t, std::uint32_t> atomically(const std::string& opcode, std::uint32_t a, std::uint32_t b) {
  const Memory memory =
      after("ld.global.u32 %r2, [%d0+8];\n" + opcode + " %r3, [%d0], %r2;\nst.global.u32 [%d0+16], %r3;", {a, b, 0});
  return {static_cast<std::uint32_t>(memory[2]), static_cast<std::uint32_t>(memory[0])};
}

TEST(PtxInstructions, AtomicOnesAnswerWhatWasThere) {
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(atomically("atom.global.add.u32", 0xffffffff, 3), Pair(0xffffffff, 2));
  EXPECT_EQ(atomically("atom.global.max.u32", 0x80000000, 3), Pair(0x80000000, 0x80000000));
  EXPECT_EQ(atomically("atom.global.max.u32", 3, 0x80000000), Pair(3, 0x80000000));
}

TEST(PtxInstructions, ShiftsByMoreThanTheWidthLeaveTheSign) {
  EXPECT_EQ(of_32("shl.b32", 5, 31), 0x80000000);
  EXPECT_EQ(of_32("shl.b32", 5, 32), 0U);
  EXPECT_EQ(of_32("shr.u32", 0x80000000, 31), 1U);
  EXPECT_EQ(of_32("shr.u32", 0x80000000, 32), 0U);
  EXPECT_EQ(of_32("shr.s32", 0x80000000, 40), 0xffffffff);
  EXPECT_EQ(after("ld.global.u64 %d1, [%d0];\nclz.b64 %r1, %d1;\nst.global.u32 [%d0+8], %r1;", {1, 0})[1], 63U);
}

TEST(PtxInstructions, BitsAreInsertedAsFarAsThereIsRoom) {
  const auto inserted = [](const std::string& place) {
    const std::string text = "ld.global.v2.u32 {%r1, %r2}, [%d0];\nbfi.b32 %r3, %r1, %r2, " + place + ";\n";
    return after(text + "st.global.u32 [%d0+8], %r3;", {0x12345678'abcdef05U, 0})[1];
  };
  EXPECT_EQ(inserted("4, 28"), 0xbcdef058U);
  EXPECT_EQ(inserted("8, 8"), 0x12340578U);
  EXPECT_EQ(inserted("8, 0"), 0x12345678U);
  EXPECT_EQ(inserted("28, 32"), 0x52345678U);
}

TEST(PtxInstructions, ProductsAndSumsOfSeveralWords) {
  constexpr std::uint64_t kA = 0xfedcba9876543210U;
  constexpr std::uint64_t kB = 0xf123456789abcdefU;
  // The lower three of four words, by words.
  const Memory product = after(R"(
ld.global.v2.u32 {%r1, %r2}, [%d0];
ld.global.v2.u32 {%r3, %r4}, [%d0+8];
mul.lo.u32 %r5, %r1, %r3;
mul.hi.u32 %r6, %r1, %r3;
mad.lo.cc.u32 %r6, %r1, %r4, %r6;
madc.hi.u32 %r7, %r1, %r4, 0;
mad.lo.cc.u32 %r6, %r2, %r3, %r6;
madc.hi.cc.u32 %r7, %r2, %r3, %r7;
mad.lo.cc.u32 %r7, %r2, %r4, %r7;
st.global.v2.u32 [%d0+16], {%r5, %r6};
st.global.u32 [%d0+24], %r7;
)",
                               {kA, kB, 0, 0});
  EXPECT_EQ(product[2], kA * kB);
  EXPECT_EQ(product[3], 0x9c66c631U) << "of 0xfedcba9876543210 * 0xf123456789abcdef, the third word";
  const Memory sums = after(R"(
ld.global.v2.u32 {%r1, %r2}, [%d0];
ld.global.v2.u32 {%r3, %r4}, [%d0+8];
add.cc.u32 %r5, %r1, %r3;
addc.cc.u32 %r6, %r2, %r4;
addc.u32 %r7, 0, 0;
sub.cc.u32 %r8, %r3, %r1;
subc.u32 %r9, %r4, %r2;
st.global.v2.u32 [%d0+16], {%r5, %r6};
st.global.v2.u32 [%d0+24], {%r8, %r9};
st.global.u32 [%d0+32], %r7;
)",
                            {kA, kB, 0, 0, 0});
  EXPECT_EQ(sums[2], kA + kB);
  EXPECT_EQ(sums[3], kB - kA);
  EXPECT_EQ(sums[4], 1U) << "the carry";
  EXPECT_EQ(after("ld.global.u32 %r1, [%d0];\nmul.wide.s32 %d1, %r1, %r1;\nst.global.u64 [%d0], %d1;",
                  {static_cast<std::uint32_t>(-70000)})[0],
            4900000000U);
}

TEST(PtxInstructions, WhatDoesNotFitIntoAnIntegerBecomesTheNearestThatDoes) {
  const auto to_s32 = [](float x) {
    return static_cast<std::int32_t>(
        after("ld.global.f32 %f1, [%d0];\ncvt.rzi.s32.f32 %r1, %f1;\nst.global.u32 [%d0+8], %r1;", {bits(x), 0})[1]);
  };
  EXPECT_EQ(to_s32(-2.9F), -2);
  EXPECT_EQ(to_s32(3e9F), 2147483647);
  EXPECT_EQ(to_s32(-3e9F), -2147483647 - 1);
  EXPECT_EQ(to_s32(kNan), 0);
  const auto to_s64 = [](const std::string& rounding, double x) {
    return after("ld.global.f64 %g1, [%d0];\ncvt." + rounding + ".s64.f64 %d1, %g1;\nst.global.u64 [%d0+8], %d1;",
                 {bits(x), 0})[1];
  };
  EXPECT_EQ(to_s64("rni", 2.5), 2U);
  EXPECT_EQ(to_s64("rni", 3.5), 4U);
  EXPECT_EQ(to_s64("rmi", -2.5), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(to_s64("rzi", 1e300), 0x7fffffffffffffffU);
  EXPECT_EQ(to_s64("rzi", std::numeric_limits<double>::quiet_NaN()), 0x8000000000000000U);
}

TEST(PtxInstructions, SignsFillWiderRegisters) {
  EXPECT_EQ(after("ld.global.s8 %d1, [%d0];\nst.global.u64 [%d0+8], %d1;", {0x80, 0})[1], 0xffffffffffffff80U);
  EXPECT_EQ(after("ld.global.u8 %d1, [%d0];\nst.global.u64 [%d0+8], %d1;", {0x80, 0})[1], 0x80U);
  EXPECT_EQ(after("ld.global.u32 %r1, [%d0];\ncvt.s64.s32 %d1, %r1;\nst.global.u64 [%d0+8], %d1;", {0xfffffffe, 0})[1],
            0xfffffffffffffffeU);
  EXPECT_EQ(after("ld.global.u32 %r1, [%d0];\ncvt.u64.u32 %d1, %r1;\nst.global.u64 [%d0+8], %d1;", {0xfffffffe, 0})[1],
            0xfffffffeU);
  EXPECT_EQ(after("mov.u32 %r1, 3;\nsub.s32 %r1, %r1, 4;\ncvt.u64.u32 %d1, %r1;\nst.global.u64 [%d0], %d1;", {0})[0],
            0xffffffffU);
}

TEST(PtxInstructions, FloatsAreRoundedOnceAndSubnormalNumbersStay) {
  const float third = 1.0F / 3.0F;
  const auto fused = [](float a, float b, float c) {
    return static_cast<std::uint32_t>(
        after("ld.global.f32 %f1, [%d0];\nld.global.f32 %f2, [%d0+8];\nld.global.f32 %f3, [%d0+16];\n"
              "fma.rn.f32 %f4, %f1, %f2, %f3;\nst.global.f32 [%d0+24], %f4;",
              {bits(a), bits(b), bits(c), 0})[3]);
  };
  EXPECT_EQ(fused(third, 3.0F, -1.0F), bits(0x1p-25F)) << "the product is not rounded";
  EXPECT_EQ(of_32("mul.rn.f32", bits(third), bits(3.0F)), bits(1.0F));
  EXPECT_EQ(of_32("mul.rn.f32", bits(0x1p-126F), bits(0.5F)), bits(0x1p-127F));
  EXPECT_EQ(of_32("div.rn.f32", bits(1.0F), bits(3.0F)), 0x3eaaaaabU);
  EXPECT_EQ(of_32("sqrt.rn.f32", bits(2.0F), 0, true), 0x3fb504f3U);
  EXPECT_EQ(of_32("abs.f32", bits(-2.0F), 0, true), bits(2.0F));
  EXPECT_EQ(of_64("div.rn.f64", bits(1.0), bits(3.0)), 0x3fd5555555555555U);
  EXPECT_EQ(after("ld.global.f64 %g1, [%d0];\ncvt.rn.f32.f64 %f1, %g1;\nst.global.f32 [%d0+8], %f1;",
                  {bits(1.0 + 0x1p-24), 0})[1],
            bits(1.0F))
      << "a tie goes to the even one";
}

TEST(PtxInstructions, TheLesserOfANumberAndANanIsTheNumber) {
  EXPECT_EQ(of_32("min.f32", bits(kNan), bits(1.0F)), bits(1.0F));
  EXPECT_EQ(of_32("max.f32", bits(1.0F), bits(kNan)), bits(1.0F));
  EXPECT_EQ(of_32("min.f32", bits(0.0F), bits(-0.0F)), bits(-0.0F));
  EXPECT_EQ(of_32("max.f32", bits(-0.0F), bits(0.0F)), bits(0.0F));
}

TEST(PtxInstructions, ComparisonsSayWhatTheyMakeOfNan) {
  for (const char* ordered : {"eq", "ne", "lt", "le", "gt", "ge", "num"}) {
    EXPECT_FALSE(holds(std::string("setp.") + ordered + ".f32", kNan, 1.0F)) << ordered;
  }
  for (const char* unordered : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"}) {
    EXPECT_TRUE(holds(std::string("setp.") + unordered + ".f32", kNan, 1.0F)) << unordered;
  }
  EXPECT_TRUE(holds("setp.lt.f32", 1.0F, 2.0F));
  EXPECT_FALSE(holds("setp.ltu.f32", 2.0F, 1.0F));
  EXPECT_TRUE(holds("setp.geu.f32", 2.0F, 2.0F));
  EXPECT_FALSE(holds("setp.neu.f32", 2.0F, 2.0F));
  EXPECT_TRUE(holds("setp.ne.f32", 2.0F, 1.0F));
}

TEST(PtxInstructions, FunctionsTakeAndReturnValuesAndHaveRegistersOfTheirOwn) {
  const std::string callee = R"(
.func (.param .b64 result) twice_and_one(.param .b64 x, .param .b64 address);
.func (.param .b64 result) twice_and_one(.param .b64 x, .param .b64 address)
{
.reg .b64 %d<9>;
ld.param.u64 %d1, [x];
ld.param.u64 %d2, [address];
ld.u64 %d3, [%d2+8];
add.s64 %d1, %d1, %d1;
add.s64 %d1, %d1, %d3;
st.param.b64 [result+0], %d1;
ret;
}
)";
  const std::string body = R"(
.local .align 16 .b8 __local_depot0[16];
mov.u64 %d4, __local_depot0;
cvta.local.u64 %d5, %d4;
mov.u64 %d6, 1;
st.local.u64 [%d4+8], %d6;
ld.global.u64 %d1, [%d0];
{
.reg .b32 temp_param_reg;
.param .b64 param0;
st.param.b64 [param0+0], %d1;
.param .b64 param1;
st.param.b64 [param1+0], %d5;
.param .b64 retval0;
call.uni (retval0),
twice_and_one,
(
param0,
param1
);
ld.param.b64 %d2, [retval0+0];
}
st.global.u64 [%d0+8], %d1;
st.global.u64 [%d0+16], %d2;
)";
  Memory memory = {21, 0, 0};
  run_text(kernel_of(body, callee), memory);
  EXPECT_EQ(memory, (Memory{21, 21, 43}));
}

TEST(PtxInstructions, RegistersArePackedAndUnpackedFromTheLowestBits) {
  EXPECT_EQ(after("mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.b64 %d1, {%r1, %r2};\nst.global.u64 [%d0], %d1;", {0})[0],
            0x200000001U);
  EXPECT_EQ(after("ld.global.u64 %d1, [%d0];\n{\n.reg .b32 %temp;\nmov.b64 {%temp, %r1}, %d1;\n}\nst.global.u32 "
                  "[%d0], %r1;",
                  {0x500000006})[0],
            0x500000005U);
}

TEST(PtxInstructions, ThoseWhoseResultIsNotSaidToTheBitAreRefused) {
  for (const std::string opcode : {"add.f32", "add.ftz.f32", "mul.rn.ftz.f32", "div.approx.f32", "sqrt.approx.f32"}) {
    const std::string text = failure(opcode + " %f1, %f2, %f3;");
    EXPECT_EQ(text, "text:15: the instruction " + opcode + " is not known");
  }
}

}  // namespace
}  // namespace gradstep::ptx
