// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#define GRADSTEP_INSTRUCTION_SET avx512
#include "cpu/loops/table.inc"
