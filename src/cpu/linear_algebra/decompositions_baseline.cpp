// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_DECOMPOSITIONS kDecompositionsBaseline
#define GRADSTEP_EIGEN Eigen_baseline
#include "cpu/linear_algebra/decompositions.inc"
