// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_CODING kCodingAvx512
#include "cpu/linear_algebra/coding_loops.inc"
