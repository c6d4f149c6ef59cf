// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/schema.h"
#include "core/shape.h"

namespace gradstep {

/// The schema of parameters whose device need not be there: state takes as many bytes on every device. Throws
/// INVALID_ARGUMENT.
inline Schema schema_of_any_device(const gradstep_parameter* parameters, std::size_t n) {
  Schema schema(parameters, n);
  for (std::size_t i = 0; i < n; ++i) {
    if (schema[i].device.device_type != GRADSTEP_DEVICE_CUDA) check_device("parameters", i, schema[i].device);
  }
  return schema;
}

}  // namespace gradstep
