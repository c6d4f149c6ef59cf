// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The ends of many spectra at once.
#pragma once

#include <cstddef>

#include "kernels/roots.h"

namespace gradstep::cuda {

/// Scratch that a batch needs.
template <class T>
std::size_t power_iteration_bytes(const RootBatch& batch);

/// Power iteration over the extended matrices S, from `start` (max(n, padded)), for the largest eigenvalue, and over
/// largest I - S for the smallest if wanted; else that of a batch stays what it is.
template <class T>
void find_eigenvalues(const RootBatch& batch, const T* statistics, bool and_smallest, const double* start,
                      void* scratch, const CudaQueue& queue);

}  // namespace gradstep::cuda
