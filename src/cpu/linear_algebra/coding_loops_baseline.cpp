// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_CODING kCodingBaseline
#include "cpu/linear_algebra/coding_loops.inc"
