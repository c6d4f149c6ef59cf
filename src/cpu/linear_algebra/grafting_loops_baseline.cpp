// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_GRAFTING kGraftingBaseline
#include "cpu/linear_algebra/grafting_loops.inc"
