// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Codes of blocks on a CUDA device are the CPU's.
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "cuda/emulated_device.h"
#include "kernels/scaled_code.h"

namespace gradstep::test {
namespace {

using kernels::NumberCode;

/// Codes and factors, and the bits of the numbers that these stand for, at the host.
struct FoundCodes {
  std::vector<std::byte> codes;
  std::vector<std::uint32_t> factors;
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint32_t> sums;  // of the numbers and what the codes stand for, / 3
  std::vector<std::uint32_t> rest;
  std::vector<std::int64_t> nonfinite;
  bool operator==(const FoundCodes&) const = default;
};

FoundCodes codes_of(Backend& backend, NumberCode code, bool is_signed, const std::vector<float>& numbers) {
  Queue& queue = backend.queue(nullptr);
  const auto count = static_cast<std::int64_t>(numbers.size());
  const std::int64_t block = kernels::block_of(code);
  const std::int64_t whole = (count + kernels::kCodeBlock - 1) / kernels::kCodeBlock * kernels::kCodeBlock;
  const auto factors_bytes = static_cast<std::size_t>((count + block - 1) / block) * sizeof(float);
  const auto codes_bytes = static_cast<std::size_t>(whole * kernels::coded_bytes(code) / kernels::kCodeBlock);
  const Buffer codes(backend.memory(), codes_bytes);
  const Buffer factors(backend.memory(), factors_bytes);
  const Buffer values(backend.memory(), numbers.size() * sizeof(float));
  queue.zero(codes.data(), codes_bytes);
  queue.upload(values.data(), numbers.data(), values.bytes());
  const CodedNumbers coded{codes.as<std::uint8_t>(), factors.as<float>(), count, is_signed, code};
  backend.encode(values.as<float>(), coded, queue);
  queue.zero(values.data(), values.bytes());
  backend.decode(coded, values.as<float>(), queue);
  const Buffer sums(backend.memory(), values.bytes());
  const Buffer rest(backend.memory(), values.bytes());
  const Buffer nonfinite(backend.memory(), sizeof(std::int64_t));
  queue.zero(nonfinite.data(), nonfinite.bytes());
  queue.upload(sums.data(), numbers.data(), values.bytes());
  queue.upload(rest.data(), numbers.data(), values.bytes());
  backend.add_decoded(coded, sums.as<float>(), 3, queue);
  backend.encode_rest(rest.as<float>(), coded, nonfinite.as<std::int64_t>(), queue);
  FoundCodes found;
  const auto download = [&](auto& to, const Buffer& from) {
    to.resize(from.bytes() / sizeof to[0]);
    queue.download(to.data(), from.data(), from.bytes());
  };
  download(found.codes, codes);
  download(found.factors, factors);
  download(found.numbers, values);
  download(found.sums, sums);
  download(found.rest, rest);
  download(found.nonfinite, nonfinite);
  return found;
}

TEST(CudaCodedNumbers, TheCpusCodesForAnyCount) {
  EmulatedCuda device{1};
  Backend& cpu = object_of(device.context())->cpu();
  Backend& cuda = object_of(device.context())->backend(device.id(), "device", 0);
  std::mt19937 generator(4);
  std::uniform_real_distribution<double> exponent(-12, 3);
  for (const std::size_t count : {1U, 31U, 32U, 33U, 63U, 64U, 65U, 97U, 200U, 256U, 257U, 5000U}) {
    std::vector<float> numbers(count);
    for (float& number : numbers) {
      number = static_cast<float>(std::pow(10.0, exponent(generator)));
      if (generator() % 2 == 0) number = -number;
    }
    if (count > 1000) {
      std::fill(numbers.begin() + 64, numbers.begin() + 512, -1e-36F);
      numbers[700] = std::numeric_limits<float>::infinity();
      numbers[701] = std::numeric_limits<float>::quiet_NaN();
    }
    for (const NumberCode code : {NumberCode::octaves, NumberCode::int4, NumberCode::e4m3, NumberCode::e5m2}) {
      EXPECT_TRUE(codes_of(cuda, code, true, numbers) == codes_of(cpu, code, true, numbers))
          << "code " << static_cast<int>(code) << ", " << count << " numbers";
    }
    EXPECT_TRUE(codes_of(cuda, NumberCode::octaves, false, numbers) ==
                codes_of(cpu, NumberCode::octaves, false, numbers));
  }
}

}  // namespace
}  // namespace gradstep::test
