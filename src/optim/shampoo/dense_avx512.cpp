// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_DENSE kDenseAvx512
#define GRADSTEP_EIGEN Eigen_avx512
#include "optim/shampoo/dense.inc"
