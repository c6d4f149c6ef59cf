// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

namespace gradstep {

double fold_partials(std::span<const double> partials) {
  if (partials.empty()) return 0;
  if (partials.size() == 1) return partials[0];
  // The left half is the largest power of two below the size: the tree of a part does not depend on what follows it.
  std::size_t half = 1;
  while (half * 2 < partials.size()) half *= 2;
  return fold_partials(partials.first(half)) + fold_partials(partials.subspan(half));
}

}  // namespace gradstep
