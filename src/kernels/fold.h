// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The one fixed tree in which partials of a fixed number of chunks are added up.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// The sum of at(0), at(1), ..., at(count - 1). The left half of the tree is the largest power of two below the count:
/// what the tree of a part is does not depend on what follows it. So it is made of whole trees, one for each bit of the
/// count, which grow as a binary counter does.
template <class T, class At>
GRADSTEP_FORMULA T fold(std::int64_t count, At at) {
  T whole[64];
  int trees = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    T sum = at(i);
    for (std::int64_t carry = i; (carry & 1) != 0; carry >>= 1) sum = whole[--trees] + sum;
    whole[trees++] = sum;
  }
  if (trees == 0) return T{};
  T sum = whole[--trees];
  while (trees > 0) sum = whole[--trees] + sum;
  return sum;
}

}  // namespace gradstep::kernels
