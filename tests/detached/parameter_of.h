// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gradstep/tensor.h"

namespace gradstep::test {

/// A parameter of a single dimension, in f32. `size` stays as long as it is used.
inline gradstep_parameter parameter_of(const std::int64_t& size, gradstep_device device) {
  gradstep_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.shape = &size;
  parameter.ndim = 1;
  parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
  parameter.device = device;
  return parameter;
}

}  // namespace gradstep::test
