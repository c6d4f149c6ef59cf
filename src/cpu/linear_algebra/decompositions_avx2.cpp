// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_DECOMPOSITIONS kDecompositionsAvx2
#define GRADSTEP_EIGEN Eigen_avx2
#include "cpu/linear_algebra/decompositions.inc"
