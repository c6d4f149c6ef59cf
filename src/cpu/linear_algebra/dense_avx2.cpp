// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_DENSE kDenseAvx2
#include "cpu/linear_algebra/dense.inc"
