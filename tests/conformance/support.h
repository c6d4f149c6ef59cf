// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the conformance tests share beside handles: the comparison that the tolerances of README.md are stated for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "safetensors.h"
#include "tests/handles.h"

namespace gradstep_conformance {

using namespace gradstep_handles;

inline gradstep_parameter parameter_of(const StoredArray& array) {
  gradstep_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.shape = array.shape.data();
  parameter.ndim = static_cast<std::int32_t>(array.shape.size());
  parameter.dtype = array.dtype;
  parameter.device = {GRADSTEP_DEVICE_CPU, 0};
  return parameter;
}

/// Largest difference, relative to the largest absolute value of `expected`.
inline double relative_error(const float* actual, const float* expected, std::size_t n) {
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

/// "p3_1": array `name` of step t and parameter i. Appending avoids g++ 12's false alarm (-Wrestrict) at operator+.
inline std::string array_name(const char* name, int t, std::size_t i) {
  std::string text = name;
  text.append(std::to_string(t)).append("_").append(std::to_string(i));
  return text;
}

inline std::string vector_path(const std::string& name) {
  return GRADSTEP_VECTOR_DIRECTORY "/" + name + ".safetensors";
}

}  // namespace gradstep_conformance
