// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A small model of a host that calls the C API: a vector, a matrix, and a vector of several chunks, all f32.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gradstep/optimizer.h"

namespace gradstep::test {

struct HostModel {
  static constexpr std::size_t kCount = 3;

  HostModel() {
    for (std::size_t i = 0; i < kCount; ++i) {
      std::size_t size = 1;
      for (const std::int64_t dimension : shapes[i]) size *= static_cast<std::size_t>(dimension);
      values[i].assign(size, 0.5F);
      deltas[i].assign(size, 0);
      for (std::size_t j = 0; j < size; ++j) slopes[i].push_back(std::sin(static_cast<float>(j + i)));
      parameters[i] = {};
      parameters[i].struct_size = sizeof(gradstep_parameter);
      parameters[i].shape = shapes[i].data();
      parameters[i].ndim = static_cast<std::int32_t>(shapes[i].size());
      parameters[i].dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
      parameters[i].device = {GRADSTEP_DEVICE_CPU, 0};
      params[i] = tensor(values[i], i);
      grads[i] = tensor(slopes[i], i);
      updates[i] = tensor(deltas[i], i);
    }
  }
  HostModel(const HostModel&) = delete;
  HostModel& operator=(const HostModel&) = delete;

  gradstep_parameter parameters[kCount];
  gradstep_tensor params[kCount];
  gradstep_tensor grads[kCount];
  gradstep_tensor updates[kCount];
  std::vector<float> values[kCount];
  std::vector<float> slopes[kCount];

 private:
  gradstep_tensor tensor(std::vector<float>& numbers, std::size_t i) {
    gradstep_tensor view{};
    view.data = numbers.data();
    view.device = {GRADSTEP_DEVICE_CPU, 0};
    view.ndim = parameters[i].ndim;
    view.dtype = parameters[i].dtype;
    view.shape = shapes[i].data();
    return view;
  }

  std::vector<std::int64_t> shapes[kCount] = {{7}, {36, 40}, {70000}};
  std::vector<float> deltas[kCount];
};

}  // namespace gradstep::test
