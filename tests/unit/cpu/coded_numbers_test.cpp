// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Codes of a backend's loops are those of the formula of one number (tests/unit/kernels/scaled_code_test.cpp), however
// many numbers there are.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "cpu_test_support.h"
#include "kernels/scaled_code.h"

namespace gradstep::test {
namespace {

using kernels::NumberCode;

class CodedNumbersOf : public testing::TestWithParam<std::string> {
 protected:
  CodedNumbersOf() : context_(make_cpu_context(2, GetParam().c_str())), backend_(context_->cpu()) {}

  template <class Format>
  void expect_codes_of_the_formula(NumberCode code);
  void expect_rest_and_sum(const std::vector<float>& numbers, const CodedNumbers& codes,
                           const std::vector<float>& decoded);

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, CodedNumbersOf, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

std::vector<float> some_numbers(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> exponent(-9, 3);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    number = static_cast<float>(std::pow(10.0, exponent(generator)));
    if (generator() % 2 == 0) number = -number;
    if (generator() % 50 == 0) number = 0;
  }
  return numbers;
}

/// `codes` are those of the numbers, and stand for `decoded`.
void CodedNumbersOf::expect_rest_and_sum(const std::vector<float>& numbers, const CodedNumbers& codes,
                                         const std::vector<float>& decoded) {
  const std::size_t count = numbers.size();
  const auto bytes = static_cast<std::size_t>(kernels::coded_bytes(codes.code)) * ((count + 255) / 256);
  std::vector<std::uint8_t> found(bytes);
  std::vector<float> factors(count / 64 + 1);
  CodedNumbers to = codes;
  to.codes = found.data();
  to.factors = factors.data();
  std::vector<float> rest = numbers;
  const auto nonfinite = std::ranges::count_if(numbers, [](float x) { return !std::isfinite(x); });
  EXPECT_EQ(backend_.encode_rest(rest.data(), to), nonfinite);
  std::vector<float> again(count);
  backend_.decode(to, again.data());
  std::vector<float> sums = numbers;
  backend_.add_decoded(to, sums.data(), 3);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(kernels::bits_of(again[i]), kernels::bits_of(decoded[i])) << i << " of " << count;
    if (!std::isfinite(numbers[i])) continue;
    ASSERT_EQ(rest[i], numbers[i] - decoded[i]) << i << " of " << count;
    ASSERT_EQ(sums[i], (numbers[i] + decoded[i]) / 3) << i << " of " << count;
  }
}

template <class Format>
void CodedNumbersOf::expect_codes_of_the_formula(NumberCode kind) {
  using Code = kernels::ScaledCode<Format>;
  constexpr auto kBlock = static_cast<std::size_t>(Code::kBlock);
  constexpr bool kPairs = std::is_same_v<Format, kernels::Int4>;
  std::vector<std::size_t> counts = {513, 1024, 70000};
  for (std::size_t count = 1; count <= 257; ++count) counts.push_back(count);
  for (const std::size_t count : counts) {
    std::vector<float> numbers = some_numbers(count, static_cast<std::uint32_t>(count));
    if (count > 600) {
      std::fill(numbers.begin() + 64, numbers.begin() + 512, -1e-39F);
      numbers[599] = std::numeric_limits<float>::infinity();
      numbers[598] = -std::numeric_limits<float>::quiet_NaN();
    }
    std::vector<std::uint8_t> codes(kPairs ? (count + 63) / 64 * 32 : count, 0xee);
    std::vector<float> factors((count + kBlock - 1) / kBlock, -1.0F);
    CodedNumbers coded{codes.data(), factors.data(), static_cast<std::int64_t>(count), true, kind};
    backend_.encode(numbers.data(), coded);
    std::vector<float> back(count);
    backend_.decode(coded, back.data());
    expect_rest_and_sum(numbers, coded, back);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t begin = i / kBlock * kBlock;
      std::uint32_t largest = 0;
      for (std::size_t k = begin; k < std::min(count, begin + kBlock); ++k) {
        kernels::take_finite(kernels::bits_of(numbers[k]), largest);
      }
      const float factor = Code::factor_of(kernels::float_of(largest));
      ASSERT_EQ(factors[i / kBlock], factor);
      const Code formula(factor);
      const std::uint32_t expected = formula.encode(kernels::codable(kernels::bits_of(numbers[i]), largest));
      const std::size_t place = i - begin;
      const std::uint32_t found =
          kPairs ? codes[begin / 2 + place % 32] >> (place / 32 * 4) & 15U : std::uint32_t{codes[i]};
      ASSERT_EQ(found, expected) << i << " of " << count;
      ASSERT_EQ(kernels::bits_of(back[i]), formula.decode(expected)) << i << " of " << count;
    }
  }
}

TEST_P(CodedNumbersOf, loops_have_the_codes_of_the_formula) {
  expect_codes_of_the_formula<kernels::Int4>(NumberCode::int4);
  expect_codes_of_the_formula<kernels::E4M3>(NumberCode::e4m3);
  expect_codes_of_the_formula<kernels::E5M2>(NumberCode::e5m2);
}

TEST_P(CodedNumbersOf, rests_and_sums_of_octaves_are_those_of_their_codes) {
  for (const std::size_t count : {1U, 255U, 256U, 257U, 70000U}) {
    std::vector<float> numbers = some_numbers(count, static_cast<std::uint32_t>(count));
    if (count > 256) numbers[200] = std::numeric_limits<float>::infinity();
    std::vector<std::uint8_t> codes(count);
    std::vector<float> factors((count + 255) / 256);
    const CodedNumbers coded{codes.data(), factors.data(), static_cast<std::int64_t>(count), true, NumberCode::octaves};
    backend_.encode(numbers.data(), coded);
    std::vector<float> decoded(count);
    backend_.decode(coded, decoded.data());
    expect_rest_and_sum(numbers, coded, decoded);
  }
}

}  // namespace
}  // namespace gradstep::test
