// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Backends under a forced instruction set, and arrays of any dtype and layout whose elements are read and written
// through conversions of their own (by frexp and nearbyint, nothing shared with src/kernels).
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cpu/cpu_backend.h"
#include "unit/cpu/backend_calls.h"
#include "unit/scoped_environment.h"

namespace gradstep::test {

inline std::unique_ptr<Context> make_cpu_context(int threads, const char* instruction_set = "") {
  const ScopedEnvironment environment("GRADSTEP_INSTRUCTION_SET", instruction_set);
  gradstep_context_options options = default_context_options();
  options.num_threads = threads;
  auto context = std::make_unique<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  return context;
}

/// Sizes around the blocks, vectors and chunks that the loops are made of.
inline const std::vector<std::int64_t>& odd_sizes() {
#if defined(GRADSTEP_SANITIZED)
  static const std::vector<std::int64_t> sizes = {0, 1, 15, 16, 17, 1025, 16385};
#else
  static const std::vector<std::int64_t> sizes = {0, 1, 15, 16, 17, 1023, 1025, 16384, 16385, 50000};
#endif
  return sizes;
}

inline constexpr DType kFloatTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

struct FloatFormat {
  int mantissa_bits;  ///< without the implicit one
  int min_exponent;   ///< of normal numbers
  double largest;
};

inline FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {10, -14, 65504.0};
    case DType::bf16:
      return {7, -126, std::ldexp(255.0, 120)};
    case DType::f32:
      return {23, -126, std::numeric_limits<float>::max()};
    default:
      return {52, -1022, std::numeric_limits<double>::max()};
  }
}

/// x rounded to the dtype: to nearest, ties to even. Needs the default rounding mode.
inline double rounded(DType dtype, double x) {
  if (dtype == DType::f64 || !std::isfinite(x) || x == 0) return x;
  const FloatFormat format = format_of(dtype);
  const int exponent = std::max(std::ilogb(x), format.min_exponent);
  const double unit = std::ldexp(1.0, exponent - format.mantissa_bits);
  const double result = std::copysign(std::nearbyint(std::abs(x) / unit) * unit, x);
  return std::abs(result) > format.largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : result;
}

/// The value of 16 bits with `mantissa_bits` of mantissa.
inline double decode16(DType dtype, std::uint16_t bits) {
  const FloatFormat format = format_of(dtype);
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = (bits & 0x7fff) >> format.mantissa_bits;
  const int all_ones = 0x7fff >> format.mantissa_bits;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == all_ones) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  return sign * std::ldexp(significand, std::max(exponent, 1) - 1 + format.min_exponent - format.mantissa_bits);
}

inline std::uint16_t encode16(DType dtype, double x) {
  const FloatFormat format = format_of(dtype);
  const int sign = std::signbit(x) ? 0x8000 : 0;
  const int all_ones = (0x7fff >> format.mantissa_bits) << format.mantissa_bits;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | all_ones | (1 << (format.mantissa_bits - 1)));
  const double value = std::abs(rounded(dtype, x));
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | all_ones);
  // Consecutive values have consecutive bits, so the bits are the value in units of its binade plus the binade's start.
  const int exponent = value == 0 ? format.min_exponent : std::max(std::ilogb(value), format.min_exponent);
  const int in_units = static_cast<int>(std::ldexp(value, format.mantissa_bits - exponent));
  return static_cast<std::uint16_t>(sign | (((exponent - format.min_exponent) << format.mantissa_bits) + in_units));
}

enum class Layout { contiguous, strided, reversed, transposed };
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::strided, Layout::reversed, Layout::transposed};

/// Owns the elements that its array() shows. Gaps of strided layouts hold a pattern that must survive.
class TestArray {
 public:
  TestArray(DType dtype, std::int64_t size, Layout layout = Layout::contiguous) : dtype_(dtype), size_(size) {
    switch (layout) {
      case Layout::contiguous:
        shape_ = {size};
        strides_ = {1};
        break;
      case Layout::strided:
        shape_ = {size};
        strides_ = {3};
        break;
      case Layout::reversed:
        shape_ = {size};
        strides_ = {-2};
        first_ = 2 * std::max<std::int64_t>(size - 1, 0);
        break;
      case Layout::transposed: {
        std::int64_t inner = 1;
        for (std::int64_t d = 2; d <= 50; ++d) {
          if (size % d == 0) inner = d;
        }
        shape_ = {size / inner, inner, 1};
        strides_ = {1, size / inner + 1, 0};
        break;
      }
    }
    is_view_ = layout != Layout::contiguous;
    std::int64_t reach = first_;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (strides_[d] > 0 && size > 0) reach += (shape_[d] - 1) * strides_[d];
    }
    bytes_.assign(static_cast<std::size_t>((reach + 1) * size_of(dtype)), std::byte{0x5a});
  }

  std::int64_t size() const { return size_; }
  DType dtype() const { return dtype_; }

  Array array() const {
    Array array;
    array.data = const_cast<std::byte*>(bytes_.data()) + first_ * size_of(dtype_);
    array.size = size_;
    array.dtype = dtype_;
    if (is_view_) {
      array.ndim = static_cast<std::int32_t>(shape_.size());
      array.shape = shape_.data();
      array.strides = strides_.data();
    }
    return array;
  }

  void set(std::int64_t i, double x) {
    switch (dtype_) {
      case DType::f32:
        return write(i, static_cast<float>(x));
      case DType::f64:
        return write(i, x);
      case DType::i32:
        return write(i, static_cast<std::int32_t>(x));
      case DType::i64:
        return write(i, static_cast<std::int64_t>(x));
      default:
        return write(i, encode16(dtype_, x));
    }
  }

  double get(std::int64_t i) const {
    switch (dtype_) {
      case DType::f32:
        return static_cast<double>(read<float>(i));
      case DType::f64:
        return read<double>(i);
      case DType::i32:
        return static_cast<double>(read<std::int32_t>(i));
      case DType::i64:
        return static_cast<double>(read<std::int64_t>(i));
      default:
        return decode16(dtype_, read<std::uint16_t>(i));
    }
  }

  template <class T>
  T read(std::int64_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + place(i), sizeof value);
    return value;
  }

  template <class T>
  void write(std::int64_t i, T value) {
    std::memcpy(bytes_.data() + place(i), &value, sizeof value);
  }

  /// Scattered values in [-scale, scale), other ones for every seed.
  TestArray& fill(int seed, double scale = 1) {
    auto state = static_cast<std::uint64_t>(seed) * 0xd1b54a32d192ed03U;
    for (std::int64_t i = 0; i < size_; ++i) {
      state += 0x9e3779b97f4a7c15U;
      const std::uint64_t mixed = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9U;
      set(i, scale * std::ldexp(static_cast<double>(static_cast<std::int32_t>(mixed >> 32)), -31));
    }
    return *this;
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::size_t place(std::int64_t i) const {
    std::int64_t offset = first_;
    for (std::size_t d = shape_.size(); d-- > 0;) {
      offset += i % shape_[d] * strides_[d];
      i /= shape_[d];
    }
    return static_cast<std::size_t>(offset * size_of(dtype_));
  }

  DType dtype_;
  std::int64_t size_;
  std::int64_t first_ = 0;
  bool is_view_ = false;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::vector<std::byte> bytes_;
};

/// Half a unit in the last place of the dtype at x, plus `roundings` units of the arithmetic type before it.
inline double tolerance(DType dtype, double x, int roundings) {
  const auto unit = [x](DType type) {
    const FloatFormat format = format_of(type);
    const int exponent = x == 0 ? format.min_exponent : std::max(std::ilogb(x), format.min_exponent);
    return std::ldexp(1.0, exponent - format.mantissa_bits);
  };
  return unit(dtype) / 2 + roundings * unit(arithmetic_dtype(dtype));
}

}  // namespace gradstep::test
