// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradstep::test {

/// Draws of the standard normal distribution.
std::vector<double> normal_values(std::size_t n, std::uint32_t seed);

template <class T>
std::vector<T> random_values(std::size_t n, std::uint32_t seed) {
  std::vector<T> values;
  values.reserve(n);
  for (const double value : normal_values(n, seed)) values.push_back(static_cast<T>(value));
  return values;
}

extern template std::vector<float> random_values<float>(std::size_t n, std::uint32_t seed);

}  // namespace gradstep::test
