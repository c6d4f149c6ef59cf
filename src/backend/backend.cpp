// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"

#include "kernels/fold.h"

namespace gradstep {

double fold_partials(std::span<const double> partials) {
  return kernels::fold<double>(static_cast<std::int64_t>(partials.size()),
                               [&](std::int64_t i) { return partials[static_cast<std::size_t>(i)]; });
}

}  // namespace gradstep
