// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's parameters as described once at creation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/dtype.h"
#include "gradstep/tensor.h"

namespace gradstep {

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t size = 0;
  DType dtype = DType::f32;
  gradstep_device device{GRADSTEP_DEVICE_CPU, 0};
  std::int32_t group = 0;
  bool may_be_unused = false;
};

class Schema {
 public:
  Schema() = default;
  Schema(const gradstep_parameter* parameters, std::size_t n) { append(parameters, n); }

  /// Copies and checks; on failure nothing is added.
  void append(const gradstep_parameter* parameters, std::size_t n) { add(checked(parameters, n)); }

  /// append() in two parts; the second cannot fail. Addresses of shapes stay.
  struct Addition {
    std::vector<Parameter> parameters;
    std::unordered_map<std::string, std::size_t> by_name;  // old ones and new ones
  };
  Addition checked(const gradstep_parameter* parameters, std::size_t n);
  void add(Addition addition) noexcept;

  std::size_t size() const { return parameters_.size(); }
  const Parameter& operator[](std::size_t i) const { return parameters_[i]; }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::int32_t group_count() const;
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
  static constexpr std::array<const char*, kDigestSize> kDigestWords = {
      "the number of parameters", "the parameters' names", "the parameters' shapes", "the parameters' dtypes or flags"};
  std::array<std::uint64_t, kDigestSize> digest(bool arithmetic) const;

  /// Text of the first difference in names, shapes, dtypes or groups; empty if there is none.
  std::string difference(const Schema& other) const;

 private:
  std::vector<Parameter> parameters_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace gradstep
