// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A fuzzer's bytes as arguments of calls: mostly what a host would give, now and then what none should.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace gradstep::fuzz {

class HostileValues {
 public:
  HostileValues(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool empty() const { return at_ == size_; }

  std::uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  /// 0 to n - 1.
  std::size_t below(std::size_t n) { return byte() % n; }
  /// True once in `times`; never when the bytes have run out.
  bool once_in(std::size_t times) { return below(times) == times - 1; }

  std::int32_t int32() {
    constexpr std::array<std::int32_t, 12> kValues = {0, 1, 2, 3, 4, 7, -1, 1024, 1025, 4096, INT32_MAX, INT32_MIN};
    const std::uint8_t choice = byte();
    return choice < 16 ? kValues[choice % kValues.size()] : static_cast<std::int8_t>(choice);
  }
  std::int64_t int64() {
    if (!once_in(8)) return int32();
    constexpr std::array<std::int64_t, 5> kValues = {INT64_MAX, INT64_MIN, INT64_MAX / 2, std::int64_t{1} << 40, -2};
    return kValues[below(kValues.size())];
  }
  double number() {
    using Limits = std::numeric_limits<double>;
    constexpr std::array<double, 18> kValues = {0,  1,    0.1,    0.9,   0.5,   0.999, 1e-8, 2,    16,
                                                -1, -0.0, 1e-300, 1e300, 1e-40, 3e38,  0.05, 1e-3, 1e6};
    const std::uint8_t choice = byte();
    if (choice < 200) return kValues[choice % kValues.size()];
    constexpr std::array<double, 6> kWild = {Limits::quiet_NaN(),  Limits::infinity(), -Limits::infinity(),
                                             Limits::denorm_min(), Limits::max(),      1 - Limits::epsilon() / 2};
    if (choice < 250) return kWild[choice % kWild.size()];
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

}  // namespace gradstep::fuzz
