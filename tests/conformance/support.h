// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the conformance tests share: handles that clean up after themselves, and the comparison that the tolerances of
// README.md are stated for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>

#include "gradstep/gradstep.h"
#include "safetensors.h"

namespace gradstep_conformance {

/// Throws with the library's own words; GoogleTest reports it as the test's failure.
inline void check(gradstep_status status) {
  if (status != GRADSTEP_OK) {
    throw std::runtime_error(std::string(gradstep_status_name(status)) + ": " + gradstep_last_error());
  }
}

template <auto Destroy>
struct Destroyer {
  template <class Handle>
  void operator()(Handle* handle) const {
    Destroy(handle);
  }
};
using ContextHandle = std::unique_ptr<gradstep_context, Destroyer<gradstep_context_destroy>>;
using OptimizerHandle = std::unique_ptr<gradstep_optimizer, Destroyer<gradstep_optimizer_destroy>>;
using AccumulatorHandle = std::unique_ptr<gradstep_accumulator, Destroyer<gradstep_accumulator_destroy>>;

inline ContextHandle make_context(int num_threads) {
  gradstep_context_options options;
  check(gradstep_context_options_init(&options, sizeof options));
  options.num_threads = num_threads;
  gradstep_context* context = nullptr;
  check(gradstep_context_create(&options, &context));
  return ContextHandle(context);
}

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
