// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's parameters as described once at creation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "gradstep/tensor.h"

namespace gradstep {

/// The shape of a parameter. A part has the shape of the whole, too, and where it begins in there. Its address stays
/// when it is moved.
class ParameterShape {
 public:
  ParameterShape() = default;
  explicit ParameterShape(std::span<const std::int64_t> shape);
  /// That of a part.
  ParameterShape(std::span<const std::int64_t> shape, std::span<const std::int64_t> whole,
                 std::span<const std::int64_t> offset);
  ParameterShape(const ParameterShape& other);
  ParameterShape& operator=(const ParameterShape& other) { return *this = ParameterShape(other); }
  ParameterShape(ParameterShape&&) = default;
  ParameterShape& operator=(ParameterShape&&) = default;
  ~ParameterShape() = default;

  std::size_t size() const { return axes_; }
  bool empty() const { return axes_ == 0; }
  const std::int64_t* data() const { return numbers_.get(); }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + axes_; }
  std::int64_t front() const { return numbers_[0]; }
  std::int64_t operator[](std::size_t axis) const { return numbers_[axis]; }

  std::vector<std::int64_t> list() const { return {begin(), end()}; }

  bool is_part() const { return is_part_; }
  /// The shape of the whole, then the offset; nothing unless it is a part.
  std::span<const std::int64_t> part() const { return all().subspan(axes_); }
  std::size_t bytes() const { return all().size_bytes(); }

 private:
  ParameterShape(std::size_t axes, bool is_part);
  std::span<const std::int64_t> all() const { return {data(), std::size_t{axes_} * (is_part_ ? 3 : 1)}; }

  std::unique_ptr<std::int64_t[]> numbers_;
  std::uint8_t axes_ = 0;
  bool is_part_ = false;
};

struct Parameter {
  std::string name;
  ParameterShape shape;
  std::int64_t size = 0;
  gradstep_device device{GRADSTEP_DEVICE_CPU, 0};
  std::int32_t group = 0;
  DType dtype = DType::f32;
  bool may_be_unused = false;

  bool is_part() const { return shape.is_part(); }
  std::span<const std::int64_t> whole_shape() const {
    return is_part() ? shape.part().first(shape.size()) : std::span(shape);
  }
  /// None of a parameter that is whole.
  std::span<const std::int64_t> offset() const {
    return is_part() ? shape.part().last(shape.size()) : std::span<const std::int64_t>();
  }
  std::int64_t whole_size() const;
};

class Schema {
 public:
  Schema() = default;
  Schema(const gradstep_parameter* parameters, std::size_t n) { append(parameters, n); }

  /// Copies and checks; on failure nothing is added. Addresses of shapes stay.
  void append(const gradstep_parameter* parameters, std::size_t n);
  /// Takes off all parameters from `size` on.
  void shrink(std::size_t size) noexcept;

  std::size_t size() const { return parameters_.size(); }
  const Parameter& operator[](std::size_t i) const { return parameters_[i]; }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::int32_t group_count() const { return groups_; }
  bool has_parts() const { return parts_ > 0; }
  /// What all numbers of the parameters take.
  double bytes() const { return bytes_; }
  /// What is kept here of the parameters takes so many.
  std::size_t own_bytes() const;
  bool is_all_f64() const {
    return std::ranges::all_of(parameters_, [](const Parameter& parameter) { return parameter.dtype == DType::f64; });
  }
  /// That of the first parameter; the CPU of none.
  gradstep_device device() const {
    return parameters_.empty() ? gradstep_device{GRADSTEP_DEVICE_CPU, 0} : parameters_.front().device;
  }

  /// Throws unless n is the number of parameters and, with n > 0, the array is not NULL.
  void check_count(const char* argument, const void* array, std::size_t n) const;

  /// Hashes of what ranks must agree on, each with the words for a text when they do not. `arithmetic`: f16 and bf16
  /// are as good as f32.
  static constexpr std::size_t kDigestSize = 4;
  static constexpr std::size_t kDigestShapes = 2;
  static constexpr std::array<const char*, kDigestSize> kDigestWords = {
      "the number of parameters", "the parameters' names", "the parameters' shapes", "the parameters' dtypes or flags"};
  std::array<std::uint64_t, kDigestSize> digest(bool arithmetic) const;

  /// Text of the first difference in names, shapes, dtypes or groups; empty if there is none.
  std::string difference(const Schema& other) const;

 private:
  void add(Parameter parameter);
  void count(const Parameter& parameter) noexcept;
  std::size_t place_of(const std::string& name) const;

  std::vector<Parameter> parameters_;
  // By the hash of the name, at most half full, so that one that is taken is found: 0, or one more than the parameter.
  std::vector<std::uint32_t> by_name_;
  std::int32_t groups_ = 1;
  std::size_t parts_ = 0;
  double bytes_ = 0;
};

}  // namespace gradstep
