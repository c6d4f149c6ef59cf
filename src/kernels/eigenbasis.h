// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A step of orthogonal iteration (Vyas et al. 2024, algorithm 4): what it computes beside products and QR
// decompositions, which are each device's own.
#pragma once

#include <cstdint>

#include "kernels/macros.h"

namespace gradstep::kernels {

/// Whether vector j comes before vector k: by their Rayleigh quotients, largest first; equal ones stay in their order.
GRADSTEP_FORMULA bool comes_before(double quotient_j, std::int64_t j, double quotient_k, std::int64_t k) {
  return quotient_j > quotient_k || (quotient_j == quotient_k && j < k);
}

}  // namespace gradstep::kernels
