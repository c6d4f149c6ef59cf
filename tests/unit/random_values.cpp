// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "unit/random_values.h"

#include <random>

namespace gradstep::test {

std::vector<double> normal_values(std::size_t n, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(n);
  for (double& value : values) value = normal(generator);
  return values;
}

template std::vector<float> random_values<float>(std::size_t n, std::uint32_t seed);

}  // namespace gradstep::test
