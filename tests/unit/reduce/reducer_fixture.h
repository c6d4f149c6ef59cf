// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reduce/reducer.h"
#include "unit/host_calls.h"
#include "unit/ranks.h"

namespace gradstep::test {

inline const std::vector<std::vector<std::int64_t>> kGradientShapes = {{30, 7}, {1}, {0, 3}, {1000}, {17}};

inline std::vector<TestTensor<float>> rank_gradients(std::int32_t rank) {
  std::vector<TestTensor<float>> list;
  for (const auto& shape : kGradientShapes) {
    list.emplace_back(shape);
    list.back().values = random_values<float>(list.back().values.size(), static_cast<std::uint32_t>(17 * rank + 5));
  }
  return list;
}

template <class T>
std::vector<gradstep_tensor> tensors_of(std::vector<TestTensor<T>>& list) {
  std::vector<gradstep_tensor> result;
  for (auto& tensor : list) result.push_back(tensor.tensor());
  return result;
}

inline gradstep_reducer_options reducer_options(std::int32_t average = GRADSTEP_AVERAGE_MEAN,
                                                std::int64_t fuse_threshold = 64) {
  auto options = default_reducer_options();
  options.average = average;
  options.fuse_threshold = fuse_threshold;
  return options;
}

/// What rank order promises for one element, in f32: ((w0 g0 + w1 g1) + ...) / divisor.
inline float in_rank_order(std::int32_t world_size, std::size_t parameter, std::size_t element,
                           const std::vector<float>& weights, float divisor) {
  float sum = 0;
  for (std::int32_t r = 0; r < world_size; ++r) {
    const float term = weights[static_cast<std::size_t>(r)] * rank_gradients(r)[parameter].values[element];
    sum = r == 0 ? term : sum + term;
  }
  return sum / divisor;
}

}  // namespace gradstep::test
