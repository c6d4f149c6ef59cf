// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Householder's reflectors (src/kernels/reflection.h) of batches of n x n matrices in f64, side by side, whose rows are
// the vectors.
#pragma once

#include <cstdint>

#include "runtime/queue.h"

namespace gradstep::cuda {

/// That are made and applied together.
inline constexpr int kReflectors = 32;

/// Rows [first, first + kReflectors) of each matrix, or as many as there are, are replaced from column `first` on by
/// the vectors of the reflectors that take them to a triangle; those of the rows before have been applied to them.
/// `triangles` (count, kReflectors, kReflectors) are the T of their products H_0 H_1 ... = I - V^T T V, zero where they
/// have no number.
void make_reflectors(double* matrices, std::int64_t n, std::int64_t count, std::int64_t first, double* triangles,
                     const CudaQueue& queue);
void write_identities(double* matrices, std::int64_t n, std::int64_t count, const CudaQueue& queue);

}  // namespace gradstep::cuda
