// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/array.h"

namespace gradstep {

/// A view's dimensions without those that continue the one before them, or have one element. Forced inline, as
/// kernels/macros.h says: loops of every instruction set have some.
struct Dimensions {
  __attribute__((always_inline)) explicit Dimensions(const Array& view) {
    for (int d = 0; d < view.ndim; ++d) {
      if (view.shape[d] == 1) continue;
      if (count > 0 && strides[count - 1] == view.shape[d] * view.strides[d]) {
        shape[count - 1] *= view.shape[d];
        strides[count - 1] = view.strides[d];
      } else {
        shape[count] = view.shape[d];
        strides[count++] = view.strides[d];
      }
    }
  }

  int count = 0;
  std::int64_t shape[kMaxDimensions];
  std::int64_t strides[kMaxDimensions];
};

}  // namespace gradstep
